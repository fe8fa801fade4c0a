//! What members use to try drafts of agents.

use crate::prelude::*;

impl Store {
    /// Counts written replies and seconds of talk for an account's day in UTC. Returns `false`, and counts nothing, if that
    /// would exceed `most`. Negative numbers give back what was counted.
    pub fn count_trial(
        &self,
        account: AccountId,
        day: i32,
        (replies, seconds): (i32, i32),
        most: (i32, i32),
    ) -> Answer<'_, bool> {
        Box::pin(transact!(self, |conn| {
            insert_new! { conn, trial_days: account_id = account, day, replies = 0, seconds = 0 }?;
            let row = trial_days::table.find(V(account));
            let (of, before): (i32, (i32, i32)) = row
                .select((trial_days::day, (trial_days::replies, trial_days::seconds)))
                .locked("FOR NO KEY UPDATE")
                .get_result(conn)
                .await?;
            let before = if of == day { before } else { (0, 0) };
            let (replies, seconds) = (before.0 + replies, before.1 + seconds);
            if replies > most.0 || seconds > most.1 {
                return Ok(Rollback(false));
            }
            let (replies, seconds) = (replies.max(0), seconds.max(0));
            diesel::update(row)
                .set(row! { trial_days: day, replies, seconds })
                .execute(conn)
                .await?;
            Ok(Commit(true))
        }))
    }
}
