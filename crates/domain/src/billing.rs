//! Wallets and invoices.

use crate::agent::vocabulary;

vocabulary! {
    /// The type of an entry in the wallet's ledger.
    TransactionType {
        /// Purchased credits.
        Purchase => "purchase",
        /// Credits purchased automatically because the balance was low.
        AutoRefill => "auto_refill",
        /// The cost of a call.
        Debit => "debit",
        /// Refunded credits.
        Refund => "refund",
        /// Credits granted by the operator, including the plan's monthly ones.
        ManualCredit => "manual_credit",
        /// Credits removed by the operator.
        ManualDebit => "manual_debit",
    }
}

vocabulary! {
    /// The status of an invoice.
    InvoiceStatus {
        /// Its month has not ended.
        Draft => "draft",
        /// Issued and due.
        Open => "open",
        /// Paid.
        Paid => "paid",
        /// Not due.
        Void => "void",
    }
}
