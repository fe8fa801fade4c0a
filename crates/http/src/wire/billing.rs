//! Plan, credits, transactions, invoices and usage.

use std::time::Duration;

use offhook_services::Caller;
use offhook_services::store::{Invoice, LedgerEntry, UsageDay, Wallet};
use serde::Serializer;
use serde::ser::Error as _;
use serde_json::value::RawValue;

use super::shown;
use crate::prelude::*;

shown! {
    /// The account's subscription, and when it is renewed.
    PlanBody(one: (Caller, Option<Timestamp>)) {
        plan = one.0.account.plan,
        usd_per_month = one.0.terms.usd_per_month,
        credits_per_month = one.0.terms.credits_per_month,
        requests_per_minute = one.0.terms.requests_per_minute,
        retention_days = one.0.terms.retention_days,
        seats_max = one.0.terms.seats_max,
        engine_module = one.0.terms.engine_module,
        renews_at = one.1,
    }
}

shown! {
    CreditsBody(wallet: Wallet) {
        balance_credits = wallet.balance,
        reserved_credits = wallet.reserved,
        auto_refill = AutoRefillBody(wallet),
    }
}

shown! {
    AutoRefillBody(wallet: Wallet) {
        enabled = wallet.auto_refill.is_some(),
        threshold_credits = wallet.auto_refill.map(|refill| refill.threshold),
        amount_credits = wallet.auto_refill.map(|refill| refill.credits),
    }
}

shown! {
    TransactionBody(entry: LedgerEntry) {
        id,
        type = entry.kind,
        amount_credits,
        balance_after_credits,
        description,
        conversation_id,
        receipt_url = entry.invoice_id.map(pdf_url),
        created_at,
    }
}

fn pdf_url(invoice: InvoiceId) -> String {
    format!("/v1/billing/invoices/{invoice}/pdf")
}

shown! {
    InvoiceBody(invoice: Invoice) {
        id,
        number,
        status,
        amount_usd = Usd(invoice.amount_cents),
        currency = "USD",
        period_start = Timestamp::of_utc_month(invoice.month),
        period_end = Timestamp::of_utc_month(invoice.month + 1).minus(Duration::from_millis(1)),
        issued_at,
        pdf_url = pdf_url(invoice.id),
    }
}

/// Cents, as a JSON number of dollars with two decimals.
struct Usd(i64);

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let sign = if self.0 < 0 { "-" } else { "" };
        let cents = self.0.unsigned_abs();
        let text = format!("{sign}{}.{:02}", cents / 100, cents % 100);
        let number = RawValue::from_string(text).map_err(S::Error::custom)?;
        number.serialize(serializer)
    }
}

impl Shape for Usd {
    fn shape() -> Value {
        f64::shape()
    }
}

shown! {
    /// The totals of a day.
    UsageBody(day: UsageDay) {
        date = Timestamp::of_utc_day(day.day).utc_date(),
        calls,
        conversations,
        duration_seconds,
        credits,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn dollars_have_two_decimals() {
        let text = |cents| serde_json::to_string(&super::Usd(cents)).unwrap();
        assert_eq!(text(4_900), "49.00");
        assert_eq!(text(5), "0.05");
        assert_eq!(text(-105), "-1.05");
    }
}
