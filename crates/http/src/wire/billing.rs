//! Plan, credits, transactions, invoices and usage.

use offhook_domain::{
    ConversationId, Credits, InvoiceId, InvoiceStatus, LedgerId, Plan, Timestamp, TransactionType,
};
use offhook_services::Caller;
use offhook_services::store::{Invoice, LedgerEntry, UsageDay, Wallet};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// What the account has subscribed to.
#[derive(Serialize)]
pub(crate) struct PlanBody {
    plan: Plan,
    usd_per_month: Option<u32>,
    credits_per_month: Option<u32>,
    requests_per_minute: u32,
    retention_days: Option<u32>,
    seats_max: Option<u32>,
    engine_module: bool,
    renews_at: Option<Timestamp>,
}

impl PlanBody {
    /// The caller's plan.
    pub(crate) fn new(caller: &Caller, renews_at: Option<Timestamp>) -> Self {
        let terms = &caller.terms;
        Self {
            plan: caller.account.plan,
            usd_per_month: terms.usd_per_month,
            credits_per_month: terms.credits_per_month,
            requests_per_minute: terms.requests_per_minute,
            retention_days: terms.retention_days,
            seats_max: terms.seats_max,
            engine_module: terms.engine_module,
            renews_at,
        }
    }
}

/// What the wallet holds.
#[derive(Serialize)]
pub(crate) struct CreditsBody {
    balance_credits: Credits,
    reserved_credits: Credits,
    auto_refill: AutoRefillBody,
}

#[derive(Serialize)]
struct AutoRefillBody {
    enabled: bool,
    threshold_credits: Option<Credits>,
    amount_credits: Option<Credits>,
}

impl From<&Wallet> for CreditsBody {
    fn from(wallet: &Wallet) -> Self {
        let refill = wallet.auto_refill;
        Self {
            balance_credits: wallet.balance,
            reserved_credits: wallet.reserved,
            auto_refill: AutoRefillBody {
                enabled: refill.is_some(),
                threshold_credits: refill.map(|refill| refill.threshold),
                amount_credits: refill.map(|refill| refill.credits),
            },
        }
    }
}

/// An entry of the ledger.
#[derive(Serialize)]
pub(crate) struct TransactionBody<'a> {
    id: LedgerId,
    r#type: TransactionType,
    amount_credits: Credits,
    balance_after_credits: Credits,
    description: &'a str,
    conversation_id: Option<ConversationId>,
    receipt_url: Option<String>,
    created_at: Timestamp,
}

impl<'a> From<&'a LedgerEntry> for TransactionBody<'a> {
    fn from(entry: &'a LedgerEntry) -> Self {
        Self {
            id: entry.id,
            r#type: entry.kind,
            amount_credits: entry.amount_credits,
            balance_after_credits: entry.balance_after_credits,
            description: &entry.description,
            conversation_id: entry.conversation_id,
            receipt_url: entry.invoice_id.map(pdf_url),
            created_at: entry.created_at,
        }
    }
}

fn pdf_url(invoice: InvoiceId) -> String {
    format!("/v1/billing/invoices/{invoice}/pdf")
}

#[derive(Serialize)]
pub(crate) struct InvoiceBody<'a> {
    id: InvoiceId,
    number: &'a str,
    status: InvoiceStatus,
    amount_usd: Usd,
    currency: &'static str,
    period_start: Timestamp,
    period_end: Timestamp,
    issued_at: Option<Timestamp>,
    pdf_url: String,
}

impl<'a> From<&'a Invoice> for InvoiceBody<'a> {
    fn from(invoice: &'a Invoice) -> Self {
        let end = Timestamp::of_utc_month(invoice.month + 1);
        Self {
            id: invoice.id,
            number: &invoice.number,
            status: invoice.status,
            amount_usd: Usd(invoice.amount_cents),
            currency: "USD",
            period_start: Timestamp::of_utc_month(invoice.month),
            period_end: end.minus(std::time::Duration::from_millis(1)),
            issued_at: invoice.issued_at,
            pdf_url: pdf_url(invoice.id),
        }
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

/// What a day adds up to.
#[derive(Serialize)]
pub(crate) struct UsageBody {
    date: String,
    calls: i64,
    conversations: i64,
    duration_seconds: i64,
    credits: Credits,
}

impl From<&UsageDay> for UsageBody {
    fn from(day: &UsageDay) -> Self {
        Self {
            date: Timestamp::of_utc_day(day.day).utc_date(),
            calls: day.calls,
            conversations: day.conversations,
            duration_seconds: day.duration_seconds,
            credits: day.credits,
        }
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
