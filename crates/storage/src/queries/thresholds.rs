//! Thresholds of accounts' costs and balances, and when they were passed.

use super::events;
use crate::prelude::*;
use crate::schema::billing_alarms as alarms;

/// Every threshold, with what its month has cost and the balance. SQLite numbers parameters as they first appear.
const THRESHOLDS: &str = "\
    SELECT t.account_id, t.kind, t.credits, w.balance, \
      (SELECT CAST(coalesce(sum(u.credits), 0) AS bigint) FROM usage_days u \
       WHERE u.account_id = t.account_id AND u.day BETWEEN $1 AND $2) AS spent \
    FROM ( \
      SELECT account_id, 'spent' AS kind, alert_credits AS credits FROM account_settings \
      UNION SELECT account_id, 'spent', alert_credits_2 FROM account_settings \
      UNION SELECT account_id, 'spent', alert_credits_3 FROM account_settings \
      UNION SELECT account_id, 'balance', alert_balance FROM account_settings \
    ) t JOIN wallets w ON w.account_id = t.account_id \
    WHERE t.credits IS NOT NULL AND NOT EXISTS ( \
      SELECT 1 FROM billing_alarms a WHERE a.account_id = t.account_id AND a.month = $3 \
        AND a.kind = t.kind AND a.credits = t.credits)";

impl Store {
    /// Thresholds that are passed in `month` and were not noted yet, `limit` at most. It reads the settings of every
    /// account that has any, and the month's days of those with a threshold.
    pub fn passed_thresholds(&self, month: i32, limit: i64) -> Answer<'_, Vec<PassedThreshold>> {
        let day = |month| Timestamp::of_utc_month(month).utc_day();
        let (first, last) = (day(month), day(month + 1) - 1);
        read!(self, |conn| {
            let query = format!(
                "SELECT * FROM ({THRESHOLDS}) x \
                 WHERE (kind = 'spent' AND spent >= credits) OR (kind = 'balance' AND balance < credits) \
                 ORDER BY account_id, kind, credits LIMIT $4"
            );
            Ok(diesel::sql_query(query)
                .bind::<Integer, _>(first)
                .bind::<Integer, _>(last)
                .bind::<Integer, _>(month)
                .bind::<BigInt, _>(limit)
                .load(conn)
                .await?)
        })
    }

    /// Notes that a threshold is passed, with its event. `false` if that was done before in this month.
    pub fn pass_threshold(
        &self,
        passed: PassedThreshold,
        month: i32,
        event: NewEvent,
        at: Timestamp,
    ) -> Answer<'_, bool> {
        let PassedThreshold {
            account_id,
            kind,
            credits,
            ..
        } = passed;
        transact!(self, |conn| {
            let is_first = insert_new! {
                conn, alarms: account_id, month, kind, credits, passed_at = at
            }?;
            ensure!(is_first, Rollback(false));
            events::emit(conn, account_id, None, event, at).await?;
            Ok(Commit(true))
        })
    }
}
