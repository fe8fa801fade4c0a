//! Plan, credits, transactions, invoices and usage.

use super::*;
use crate::wire::billing::{CreditsBody, InvoiceBody, PlanBody, TransactionBody, UsageBody};

pub(super) fn operations() -> Vec<Operation> {
    use Answer::{List, One, Pdf};
    let read = Access::Scope(Scope::BillingRead);
    let mut ledger = vec![query(
        "type",
        "Only of this type.",
        words(TransactionType::ALL),
    )];
    ledger.extend(period());
    operations! {
        GET "/v1/billing/plan", getPlan, read => One("Plan"), "Read the account's plan and its terms";
        GET "/v1/billing/credits", getCredits, read => One("Credits"), "Read the wallet's balance";
        GET "/v1/billing/transactions", listTransactions, read
            => List("Transaction"), "List the wallet's ledger, newest first"
            .filters(ledger);
        GET "/v1/billing/invoices", listInvoices, read
            => List("Invoice"), "List the monthly invoices, newest first";
        GET "/v1/billing/invoices/{id}/pdf", getInvoicePdf, read => Pdf, "Download an invoice as a PDF";
        GET "/v1/billing/usage", listUsage, read
            => List("UsageDay"), "List usage by UTC day of the conversations' start, oldest first"
            .filters(period().into());
    }
}

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let currency = [("currency", json!({"type": "string", "enum": ["USD"]}))];
    let date = [("date", json!({"type": "string", "format": "date"}))];
    schemas! {
        Plan => PlanBody::shape();
        Credits => CreditsBody::shape();
        Transaction => TransactionBody::shape();
        Invoice => with(InvoiceBody::shape(), &currency);
        UsageDay => with(UsageBody::shape(), &date);
    }
}
