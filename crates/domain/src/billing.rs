//! Wallets and invoices.

use crate::agent::vocabulary;
use crate::messages;

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

vocabulary! {
    /// What a threshold of an account is about.
    ThresholdKind {
        /// What the UTC month has cost: passed from so many credits on.
        Spent => "spent",
        /// The wallet's balance: passed below so many credits.
        Balance => "balance",
    }
}

messages! { stored
/// What an entry of the ledger is for, if the service made it.
pub enum EntryText {
    AccountCreated => "Credits at account creation", "Créditos al crear la cuenta";
    MonthlyCredits { plan: String, month: String } => "Monthly credits of the {plan} plan, {month}",
        "Créditos mensuales del plan {plan}, {month}";
    FirstCredits(plan: String) => "Monthly credits of the {plan} plan", "Créditos mensuales del plan {plan}";
    AutoRefill => "Auto-refill", "Recarga automática";
    Call(seconds: i64) => "Call of {seconds} s", "Llamada de {seconds} s";
    Chat(answers: i32) => "Chat of {answers} answers", "Chat de {answers} respuestas";
}}
