//! Hourly totals, for the overview of an account. A call counts in the UTC hour in which it began, once it has ended.

use crate::prelude::*;
use crate::schema::usage_hours as hours;

/// Counts a call that ended.
pub(crate) async fn add(
    conn: &mut Conn,
    account: AccountId,
    began_at: Timestamp,
    has_failed: bool,
) -> Result<()> {
    let failed = i64::from(has_failed);
    diesel::insert_into(hours::table)
        .values(row! {
            hours: account_id = account, hour = UsageHour::of(began_at), calls = 1_i64, failed
        })
        .on_conflict((hours::account_id, hours::hour))
        .do_update()
        .set(row! { hours: calls += 1_i64, failed += failed })
        .run(conn)
        .await
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
