//! The wallet's ledger, invoices and what is used.

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
    /// Its id.
    pub id: LedgerId,
    /// Its number among the account's entries.
    pub seq: i64,
    /// What it is.
    pub kind: TransactionType,
    /// Signed credits.
    pub amount_credits: Credits,
    /// The balance behind it.
    pub balance_after_credits: Credits,
    /// Why.
    pub description: String,
    /// The conversation that it pays for.
    pub conversation_id: Option<ConversationId>,
    /// The invoice that bills it.
    pub invoice_id: Option<InvoiceId>,
    /// When.
    pub created_at: Timestamp,
}

/// Which entries of a ledger to list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LedgerFilter {
    /// Only of this type.
    pub kind: Option<TransactionType>,
    /// Not before.
    pub since: Option<Timestamp>,
    /// Not after.
    pub until: Option<Timestamp>,
}

/// What is bought by itself when the available balance falls below a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AutoRefill {
    /// Credits, below which it is done.
    pub threshold: Credits,
    /// Credits that are bought at once.
    pub credits: Credits,
    /// What they cost, in US cents.
    pub cents: i64,
}

/// An invoice.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::invoices)]
pub struct Invoice {
    /// Its id.
    pub id: InvoiceId,
    /// Whose it is.
    pub account_id: AccountId,
    /// The month that it is for: year * 12 + month - 1.
    pub month: i32,
    /// Its number, for people.
    pub number: String,
    /// Where it is on its way.
    pub status: InvoiceStatus,
    /// US cents.
    pub amount_cents: i64,
    /// When it was begun.
    pub created_at: Timestamp,
    /// When it was issued.
    pub issued_at: Option<Timestamp>,
}

/// A line of an invoice.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::invoice_lines)]
pub struct InvoiceLine {
    /// What it is for.
    pub description: String,
    /// Credits that it bills.
    pub credits: Option<Credits>,
    /// US cents.
    pub amount_cents: i64,
    /// When it was added.
    pub created_at: Timestamp,
}

/// What a new month brings to an account.
#[derive(Debug, Clone)]
pub struct NewMonth {
    /// The month: year * 12 + month - 1.
    pub month: i32,
    /// The plan that it is for.
    pub plan: Plan,
    /// Credits to give.
    pub credits: Credits,
    /// The plan's fee in US cents.
    pub cents: i64,
    /// When it is entered.
    pub at: Timestamp,
}

/// What the conversations that began on a day add up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Queryable, Selectable, Insertable)]
#[diesel(table_name = schema::usage_days)]
pub struct UsageDay {
    /// The UTC day, counted from 1970-01-01.
    pub day: i32,
    /// Conversations by voice that have ended.
    pub calls: i64,
    /// Conversations that have ended.
    pub conversations: i64,
    /// Seconds from answer to end.
    pub duration_seconds: i64,
    /// Credits that they cost.
    pub credits: Credits,
}

/// An operator's change of an account, for the audit log.
#[derive(Debug, Clone)]
pub struct Audited {
    /// What was done, such as `wallet.credit`.
    pub action: &'static str,
    /// To what.
    pub target: String,
    /// When.
    pub at: Timestamp,
}

/// Sums over an account's books, all of one instant, for `offhook doctor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, QueryableByName)]
pub struct Books {
    /// The wallet's balance.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub balance: i64,
    /// What the wallet says is held.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub reserved: i64,
    /// The wallet's last number.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub last_seq: i64,
    /// The sum of the ledger.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub ledger_sum: i64,
    /// The balance behind the newest entry.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub newest_balance: i64,
    /// The highest number of an entry.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub newest_seq: i64,
    /// How many entries there are.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub entries: i64,
    /// The first entry whose number does not follow the one before, or whose balance is not the sum up to it.
    #[diesel(sql_type = diesel::sql_types::Nullable<diesel::sql_types::BigInt>)]
    pub first_wrong: Option<i64>,
    /// The sum of the reservations.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub reservations: i64,
    /// Reservations of calls that have ended, or that there are not.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub idle_reservations: i64,
    /// Calls that cost something, have not ended, and have no reservation.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub unheld_calls: i64,
    /// Months of keys that hold something else than their calls do.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub wrong_budgets: i64,
    /// Ended conversations that say to have cost something else than their debit took.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub wrong_costs: i64,
    /// What debits took.
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
    /// Ended conversations that are still kept.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub ended_conversations: i64,
    /// Their seconds.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub ended_seconds: i64,
    /// Lines of invoices whose entry of the ledger is another one, or none.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub wrong_lines: i64,
    /// Invoices whose amount is not the sum of their lines.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    pub wrong_invoices: i64,
}
