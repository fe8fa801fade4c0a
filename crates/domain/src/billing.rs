//! What the wallet and invoices are told in.

use crate::agent::vocabulary;

vocabulary! {
    /// What an entry of the wallet's ledger is.
    TransactionType {
        /// Credits that were bought.
        Purchase => "purchase",
        /// Credits that were bought by themselves, as the balance ran low.
        AutoRefill => "auto_refill",
        /// What a call cost.
        Debit => "debit",
        /// Credits given back.
        Refund => "refund",
        /// Credits given by the operator, the plan's monthly ones too.
        ManualCredit => "manual_credit",
        /// Credits taken by the operator.
        ManualDebit => "manual_debit",
    }
}

vocabulary! {
    /// Where an invoice is on its way.
    InvoiceStatus {
        /// Its month runs.
        Draft => "draft",
        /// Issued, and to be paid.
        Open => "open",
        /// Paid.
        Paid => "paid",
        /// Not to be paid.
        Void => "void",
    }
}
