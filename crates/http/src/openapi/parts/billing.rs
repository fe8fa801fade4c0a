//! Plan, credits, transactions, invoices and usage.

use offhook_domain::{InvoiceStatus, Plan, Scope, TransactionType};
use offhook_services::USAGE_DAYS;
use serde_json::{Value, json};

use super::super::operations::{Access, Answer, Operation, operations, period, query};
use super::super::schemas::{
    boolean, instant, integer, nullable, number, object, string, uuid, words,
};

pub(super) fn operations() -> Vec<Operation> {
    use Answer::{List, One, Pdf};
    let read = Access::Scope(Scope::BillingRead);
    let days = USAGE_DAYS.unsigned_abs();
    let mut ledger = vec![query(
        "type",
        "Only of this type.",
        words(TransactionType::ALL),
    )];
    ledger.extend(period());
    operations! {
        GET "/v1/billing/plan", getPlan, read => One("Plan"), "The account's plan and its terms";
        GET "/v1/billing/credits", getCredits, read => One("Credits"), "What the wallet holds";
        GET "/v1/billing/transactions", listTransactions, read
            => List("Transaction"), "The wallet's ledger, the newest entry first"
            .filters(ledger);
        GET "/v1/billing/invoices", listInvoices, read
            => List("Invoice"), "Invoices, one a month, the newest month first";
        GET "/v1/billing/invoices/{id}/pdf", getInvoicePdf, read => Pdf, "An invoice as a PDF";
        GET "/v1/billing/usage", listUsage, read
            => List("UsageDay"), "What conversations add up to, by the UTC day that they began, the oldest day first"
            .filters(period().into()).limits(days, days);
    }
}

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let refill = [
        ("enabled", boolean()),
        ("threshold_credits", nullable(integer())),
        ("amount_credits", nullable(integer())),
    ];
    let plan = [
        ("plan", words(&Plan::ALL)),
        ("usd_per_month", nullable(integer())),
        ("credits_per_month", nullable(integer())),
        ("requests_per_minute", integer()),
        ("retention_days", nullable(integer())),
        ("seats_max", nullable(integer())),
        ("engine_module", boolean()),
        ("renews_at", nullable(instant())),
    ];
    let credits = [
        ("balance_credits", integer()),
        ("reserved_credits", integer()),
        ("auto_refill", object(&refill)),
    ];
    let transaction = [
        ("id", uuid()),
        ("type", words(TransactionType::ALL)),
        ("amount_credits", integer()),
        ("balance_after_credits", integer()),
        ("description", string()),
        ("conversation_id", nullable(uuid())),
        ("receipt_url", nullable(string())),
        ("created_at", instant()),
    ];
    let invoice = [
        ("id", uuid()),
        ("number", string()),
        ("status", words(InvoiceStatus::ALL)),
        ("amount_usd", number()),
        ("currency", json!({"type": "string", "enum": ["USD"]})),
        ("period_start", instant()),
        ("period_end", instant()),
        ("issued_at", nullable(instant())),
        ("pdf_url", string()),
    ];
    let day = [
        ("date", json!({"type": "string", "format": "date"})),
        ("calls", integer()),
        ("conversations", integer()),
        ("duration_seconds", integer()),
        ("credits", integer()),
    ];
    vec![
        ("Plan", object(&plan)),
        ("Credits", object(&credits)),
        ("Transaction", object(&transaction)),
        ("Invoice", object(&invoice)),
        ("UsageDay", object(&day)),
    ]
}
