//! Daily totals. A conversation counts on the UTC day on which it began, once it has ended.

use crate::prelude::*;
use crate::schema::usage_days as days;

/// Adds `more` to its day.
pub(crate) async fn add(conn: &mut Conn, account: AccountId, more: UsageDay) -> Result<()> {
    diesel::insert_into(days::table)
        .values((days::account_id.eq(V(account)), &more))
        .on_conflict((days::account_id, days::day))
        .do_update()
        .set(row! {
            days: calls += more.calls, conversations += more.conversations,
            duration_seconds += more.duration_seconds, credits += more.credits
        })
        .run(conn)
        .await
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
