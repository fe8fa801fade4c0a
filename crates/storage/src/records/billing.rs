//! The ledger, invoices and usage.

use diesel::prelude::*;
use offhook_domain::{
    AccountId, ConversationId, Credits, InvoiceId, InvoiceStatus, LedgerId, Plan, Timestamp,
    TransactionType,
};

use crate::schema;

/// An entry of the wallet's ledger.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::ledger)]
pub struct LedgerEntry {
    pub id: LedgerId,
    /// Its sequence number among the account's entries.
    pub seq: i64,
    pub kind: TransactionType,
    pub amount_credits: Credits,
    /// The balance after this entry.
    pub balance_after_credits: Credits,
    pub description: String,
    /// The conversation that it pays for.
    pub conversation_id: Option<ConversationId>,
    /// The invoice that bills it.
    pub invoice_id: Option<InvoiceId>,
    pub created_at: Timestamp,
}

/// Which ledger entries to list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LedgerFilter {
    pub kind: Option<TransactionType>,
    /// Inclusive.
    pub since: Option<Timestamp>,
    /// Inclusive.
    pub until: Option<Timestamp>,
}

/// The automatic purchase when the available balance falls below a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AutoRefill {
    /// Credits. The refill starts below this.
    pub threshold: Credits,
    /// Credits bought at once.
    pub credits: Credits,
    /// Their price in US cents.
    pub cents: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::invoices)]
pub struct Invoice {
    pub id: InvoiceId,
    pub account_id: AccountId,
    /// Its month: year * 12 + month - 1.
    pub month: i32,
    /// Its number, for people.
    pub number: String,
    pub status: InvoiceStatus,
    pub amount_cents: i64,
    pub created_at: Timestamp,
    pub issued_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::invoice_lines)]
pub struct InvoiceLine {
    pub description: String,
    /// Credits that it bills.
    pub credits: Option<Credits>,
    pub amount_cents: i64,
    pub created_at: Timestamp,
}

/// What a new month adds to an account.
#[derive(Debug, Clone)]
pub struct NewMonth {
    /// The month: year * 12 + month - 1.
    pub month: i32,
    pub plan: Plan,
    /// Credits to grant.
    pub credits: Credits,
    /// The plan's fee in US cents.
    pub cents: i64,
    /// When it is recorded.
    pub at: Timestamp,
}

/// Totals of the conversations that began on a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Queryable, Selectable, Insertable)]
#[diesel(table_name = schema::usage_days)]
pub struct UsageDay {
    /// The UTC day, counted from 1970-01-01.
    pub day: i32,
    /// Voice conversations that have ended.
    pub calls: i64,
    /// Conversations that have ended.
    pub conversations: i64,
    /// Seconds from answer to end.
    pub duration_seconds: i64,
    /// Credits charged for them.
    pub credits: Credits,
}

/// An operator's change of an account, for the audit log.
#[derive(Debug, Clone)]
pub struct Audited {
    /// The action, such as `wallet.credit`.
    pub action: &'static str,
    pub target: String,
    pub at: Timestamp,
}

/// Sums over an account's books, all from one snapshot, for `offhook doctor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, QueryableByName)]
pub struct Books {
    /// The wallet's balance.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub balance: i64,
    /// The wallet's reserved credits.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub reserved: i64,
    /// The wallet's last sequence number.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub last_seq: i64,
    /// The sum of the ledger.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub ledger_sum: i64,
    /// The balance after the newest entry.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub newest_balance: i64,
    /// The highest sequence number of an entry.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub newest_seq: i64,
    /// The number of entries.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub entries: i64,
    /// The first entry whose number does not follow the previous one, or whose balance is not the sum up to it.
    #[diesel(sql_type = diesel::sql_types::Nullable<diesel::sql_types::BigInt>)]
    pub first_wrong: Option<i64>,
    /// The sum of the reservations.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub reservations: i64,
    /// Reservations of calls that have ended or do not exist.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub idle_reservations: i64,
    /// Calls that cost credits, have not ended, and have no reservation.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub unheld_calls: i64,
    /// Monthly key budgets whose held credits differ from those of their calls.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub wrong_budgets: i64,
    /// Ended conversations whose cost differs from their debit.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub wrong_costs: i64,
    /// The sum of the debits.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub debits: i64,
    /// Credits of the daily totals.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub usage_credits: i64,
    /// Conversations of the daily totals.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub usage_conversations: i64,
    /// Seconds of the daily totals.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub usage_seconds: i64,
    /// Ended conversations that are still stored.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub ended_conversations: i64,
    /// Their seconds.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub ended_seconds: i64,
    /// Invoice lines whose ledger entry is missing, of another account or of another amount.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub wrong_lines: i64,
    /// Invoices whose amount is not the sum of their lines.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub wrong_invoices: i64,
}
