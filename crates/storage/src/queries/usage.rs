//! Daily totals. A conversation counts on the UTC day on which it began, once it has ended.

use crate::prelude::*;
use crate::schema::usage_days as days;

/// Adds `more` to the days.
pub(crate) async fn add(conn: &mut Conn, more: Vec<(AccountId, UsageDay)>) -> Result<()> {
    bulk! {
        conn, "usage_days" "ON CONFLICT (account_id, day) DO UPDATE SET \
            calls = usage_days.calls + excluded.calls, \
            conversations = usage_days.conversations + excluded.conversations, \
            duration_seconds = usage_days.duration_seconds + excluded.duration_seconds, \
            credits = usage_days.credits + excluded.credits",
        days of more in &more; account_id = V(more.0), day = more.1.day, calls = more.1.calls,
        conversations = more.1.conversations, duration_seconds = more.1.duration_seconds,
        credits = more.1.credits
    }
}

impl Store {
    /// The totals of the days from `first` to `last` that have any, oldest first.
    pub fn usage(&self, account: AccountId, first: i32, last: i32) -> Answer<'_, Vec<UsageDay>> {
        days::table
            .filter(days::account_id.eq(V(account)))
            .filter(days::day.between(first, last))
            .order(days::day)
            .select(UsageDay::as_select())
            .read_all(self)
    }
}
