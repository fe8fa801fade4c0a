//! Hourly totals, for the overview of an account. A call counts in the UTC hour in which it began, once it has ended.

use crate::prelude::*;
use crate::schema::usage_hours as hours;

/// Adds `more` to the hours.
pub(crate) async fn add(conn: &mut Conn, more: Vec<(AccountId, UsageHour)>) -> Result<()> {
    bulk! {
        conn, "usage_hours" "ON CONFLICT (account_id, hour) DO UPDATE SET \
            calls = usage_hours.calls + excluded.calls, failed = usage_hours.failed + excluded.failed, \
            answered = usage_hours.answered + excluded.answered",
        hours of more in &more; account_id = V(more.0), hour = more.1.hour, calls = more.1.calls,
        failed = more.1.failed, answered = more.1.answered
    }
}

impl Store {
    /// The hours from `first` to `last` in which calls began that have ended, oldest first.
    pub fn usage_hours(
        &self,
        account: AccountId,
        first: i32,
        last: i32,
    ) -> Answer<'_, Vec<UsageHour>> {
        hours::table
            .filter(hours::account_id.eq(V(account)))
            .filter(hours::hour.between(first, last))
            .order(hours::hour)
            .select(UsageHour::as_select())
            .read_all(self)
    }
}
