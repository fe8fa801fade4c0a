//! What members use to try drafts of agents.

use crate::prelude::*;

impl Store {
    /// Counts written replies, seconds of talk and test conversations for an account's day in UTC. Returns `false`, and counts nothing, if that
    /// would exceed `most`. Negative numbers give back what was counted.
    pub fn count_trial(
        &self,
        account: AccountId,
        day: i32,
        used: [i32; 3],
        most: [i32; 3],
    ) -> Answer<'_, bool> {
        Box::pin(transact!(self, |conn| {
            insert_new! { conn, trial_days: account_id = account, day, replies = 0, seconds = 0, tests = 0 }?;
            let row = trial_days::table.find(V(account));
            let counts = (trial_days::replies, trial_days::seconds, trial_days::tests);
            let (of, before): (i32, (i32, i32, i32)) = row
                .select((trial_days::day, counts))
                .locked("FOR NO KEY UPDATE")
                .get_result(conn)
                .await?;
            let before = if of == day { before.into() } else { [0; 3] };
            let after: [i32; 3] = std::array::from_fn(|at| before[at] + used[at]);
            if after.iter().zip(most).any(|(after, most)| *after > most) {
                return Ok(Rollback(false));
            }
            let [replies, seconds, tests] = after.map(|count| count.max(0));
            diesel::update(row)
                .set(row! { trial_days: day, replies, seconds, tests })
                .execute(conn)
                .await?;
            Ok(Commit(true))
        }))
    }
}
