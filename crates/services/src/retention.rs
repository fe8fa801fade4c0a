//! Deletes expired data: one process at a time, in small transactions.
//!
//! Conversations older than the plan's window are hidden at once, and then deleted. If a window shrinks, by another
//! plan or by configuration, what it hides is kept for 30 more days.

use std::collections::HashSet;

use offhook_metrics::metrics;

use crate::prelude::*;
use crate::recordings::Recordings;
use crate::workers::Turns;
use crate::{Result, request_logs};

/// How often a process checks whether it is its turn.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// How often a run is due, by the clock of the database.
const DUE_EVERY: Duration = Duration::from_secs(600);

/// The job name under which processes take turns.
const JOB: &str = "retention";

/// Log entries deleted per transaction at most, so that other writes wait only a moment.
const LOG_BATCH: i64 = 500;

/// Conversations deleted per transaction at most; each has some dozen rows.
const CONVERSATION_BATCH: i64 = 50;

/// A pause for other writes between two transactions.
const BREATH: Duration = Duration::from_millis(20);

/// How long conversations hidden by a shorter window are kept.
pub(crate) const HELD: Duration = Duration::from_secs(30 * 86_400);

/// Deletes expired data.
#[derive(Clone)]
pub struct Retention(pub(crate) Arc<Context>, pub(crate) Arc<Recordings>);

/// Why a run ended before everything was deleted.
enum Halt {
    /// The process stops, or another one has the turn.
    Left,
    Failed(StoreError),
}

/// The result of a batch of conversations.
struct Batch {
    seen: usize,
    /// The last of them: the next batch starts after it.
    last: Option<(Timestamp, ConversationId)>,
    /// Those whose recordings could not be deleted.
    left: usize,
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

#[boxed]
impl Retention {
    /// Takes turns with other processes until `stop`.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let mut turns = Turns::new(LOOK_EVERY, &stop);
        while turns.next().await {
            let swept = self.sweep(&stop).await;
            // Without a turn there was no run.
            if !matches!(swept, Ok(false)) {
                metrics().jobs.ran(JOB, swept.is_ok());
            }
            if let Err(error) = swept {
                tracing::warn!(%error, "rows whose time is over could not be deleted");
            }
        }
    }

    /// Deletes all expired data, if that is due and no other process is doing it. Returns `false` if not, or if `stop`
    /// came first. If the store fails, the next run deletes the rest.
    pub async fn sweep(&self, stop: &CancellationToken) -> Result<bool> {
        if !self.0.take_job(JOB).await? {
            return Ok(false);
        }
        let (done, pause) = match self.delete(stop).await {
            Ok(()) => (Ok(true), DUE_EVERY),
            // Due at once for the next process.
            Err(Halt::Left) => (Ok(false), Duration::ZERO),
            Err(Halt::Failed(error)) => (Err(error), Duration::ZERO),
        };
        self.0.finish_job(JOB, pause).await?;
        done
    }

    /// How long the oldest conversation has been kept past its expiry; 0 if none has.
    pub async fn behind(&self) -> Result<Duration> {
        let (store, now) = (&self.0.store, self.0.clock.now());
        let mut behind = Duration::ZERO;
        for (account, noted) in store.retention_windows().await? {
            let days = self.0.plans.terms(account.plan).retention_days;
            let Some(days) = kept_days(&renewed(account.id, noted, days, now)) else {
                continue;
            };
            let before = now.minus(of_days(days));
            let oldest = store.ended_conversations_before(account.id, (before, None), 1);
            let late = oldest.await?.first().map(|ended| before.since(ended.0));
            behind = behind.max(late.unwrap_or_default());
        }
        Ok(behind)
    }

    async fn delete(&self, stop: &CancellationToken) -> Result<(), Halt> {
        let store = &self.0.store;
        let mut left = 0;
        for (account, noted) in store.retention_windows().await? {
            let now = self.0.clock.now();
            let bodies_before = now.minus(request_logs::BODIES_KEPT);
            store.purge_log_bodies(account.id, bodies_before).await?;
            let logs_before = now.minus(request_logs::KEPT);
            loop {
                let gone = store
                    .purge_log_entries(account.id, logs_before, LOG_BATCH)
                    .await?;
                if !full(gone, LOG_BATCH) {
                    break;
                }
                self.go_on(stop).await?;
            }
            let Some(before) = self.deletes_before(&account, noted).await? else {
                continue;
            };
            while store
                .delete_campaigns(account.id, before, LOG_BATCH)
                .await?
                > 0
            {
                self.go_on(stop).await?;
            }
            let mut after = None;
            loop {
                let batch = self.delete_conversations(&account, before, after).await?;
                left += batch.left;
                if !full(batch.seen, CONVERSATION_BATCH) {
                    break;
                }
                after = batch.last;
                self.go_on(stop).await?;
            }
        }
        metrics().jobs.left_behind(JOB, left);
        if left > 0 {
            tracing::warn!(
                left,
                "recordings whose time is over could not be deleted, and their conversations are kept"
            );
        }
        Ok(())
    }

    /// Deletes a batch of conversations, their recordings first. If a recording could not be deleted, or came in the
    /// meantime, the conversation keeps its row, already hidden, for the next run.
    async fn delete_conversations(
        &self,
        account: &Account,
        before: Timestamp,
        after: Option<(Timestamp, ConversationId)>,
    ) -> Result<Batch, Halt> {
        let store = &self.0.store;
        let mut batch = store
            .ended_conversations_before(account.id, (before, after), CONVERSATION_BATCH)
            .await?;
        let (seen, last) = (batch.len(), batch.last().map(|ended| (ended.0, ended.1)));
        let ids: Vec<ConversationId> = batch.iter().map(|ended| ended.1).collect();
        let failed = self.1.remove(account.id, &ids).await;
        for (id, error) in &failed {
            tracing::debug!(%error, conversation = %id, "a recording could not be deleted");
        }
        let failed: HashSet<ConversationId> = failed.into_iter().map(|(id, _)| id).collect();
        batch.retain(|ended| !failed.contains(&ended.1));
        if !batch.is_empty() {
            let batch = batch.into_iter().map(|(_, id, has_audio)| (id, has_audio));
            store
                .delete_conversations(account.id, batch.collect())
                .await?;
        }
        Ok(Batch {
            seen,
            last,
            left: failed.len(),
        })
    }

    /// Conversations from before this are deleted; `None` if none are.
    async fn deletes_before(
        &self,
        account: &Account,
        noted: Option<RetentionWindow>,
    ) -> Result<Option<Timestamp>> {
        let now = self.0.clock.now();
        let days = self.0.plans.terms(account.plan).retention_days;
        let window = renewed(account.id, noted, days, now);
        if noted != Some(window) {
            self.0.store.note_retention_window(window).await?;
        }
        Ok(kept_days(&window).map(|days| now.minus(of_days(days))))
    }

    /// Renews the turn after each transaction. A process that has lost it leaves the rest to the new holder.
    async fn go_on(&self, stop: &CancellationToken) -> Result<(), Halt> {
        tokio::time::sleep(BREATH).await;
        let mine = !stop.is_cancelled() && self.0.take_job(JOB).await?;
        if mine { Ok(()) } else { Err(Halt::Left) }
    }
}

fn full(deleted: usize, batch: i64) -> bool {
    i64::try_from(deleted).is_ok_and(|deleted| deleted >= batch)
}

/// The window of an account that now sees `days` back. A window that has shrunk keeps what it hides for a while.
pub(crate) fn renewed(
    account: AccountId,
    noted: Option<RetentionWindow>,
    days: Option<u32>,
    now: Timestamp,
) -> RetentionWindow {
    let days = days.map(|days| i32::try_from(days).unwrap_or(i32::MAX));
    let mut window = noted.unwrap_or(RetentionWindow {
        account_id: account,
        days,
        held_days: None,
        held_until: None,
    });
    if window.held_until.is_some_and(|until| until <= now) {
        (window.held_days, window.held_until) = (None, None);
    }
    if wider(window.days, days) != days {
        window.held_days = kept_days(&window);
        window.held_until = Some(now.plus(HELD));
    }
    window.days = days;
    window
}

/// Days within which nothing is deleted; `None` if nothing is ever deleted.
fn kept_days(window: &RetentionWindow) -> Option<i32> {
    match window.held_until {
        Some(_) => wider(window.held_days, window.days),
        None => window.days,
    }
}

/// The longer of two windows; `None` means forever.
fn wider(a: Option<i32>, b: Option<i32>) -> Option<i32> {
    Some(a?.max(b?))
}

pub(crate) fn of_days(days: i32) -> Duration {
    Duration::from_secs(u64::try_from(days).unwrap_or(0) * 86_400)
}

#[cfg(test)]
mod tests {
    use super::*;

    const T0: Timestamp = Timestamp::from_micros(1_777_573_931_123_456);

    fn at(days: u64) -> Timestamp {
        T0.plus(Duration::from_secs(days * 86_400))
    }

    fn renew(noted: Option<RetentionWindow>, days: Option<u32>, day: u64) -> RetentionWindow {
        renewed(AccountId::nil(), noted, days, at(day))
    }

    #[test]
    fn a_window_that_stays_or_widens_holds_nothing() {
        let first = renew(None, Some(30), 0);
        assert_eq!(kept_days(&first), Some(30));
        assert_eq!(renew(Some(first), Some(30), 5), first);
        let wide = renew(Some(first), Some(365), 6);
        assert_eq!((wide.days, wide.held_until), (Some(365), None));
        assert_eq!(kept_days(&renew(Some(wide), None, 7)), None);
    }

    #[test]
    fn what_a_shorter_window_hides_is_held_for_30_days() {
        let wide = renew(None, Some(90), 0);
        let short = renew(Some(wide), Some(30), 10);
        assert_eq!(kept_days(&short), Some(90));
        assert_eq!(short.held_until, Some(at(40)));
        assert_eq!(kept_days(&renew(Some(short), Some(30), 39)), Some(90));
        assert_eq!(kept_days(&renew(Some(short), Some(30), 40)), Some(30));
    }

    #[test]
    fn of_two_shortenings_the_widest_window_is_held_until_30_days_after_the_last() {
        let ever = renew(None, None, 0);
        let first = renew(Some(ever), Some(90), 0);
        let second = renew(Some(first), Some(7), 20);
        assert_eq!((second.held_days, second.held_until), (None, Some(at(50))));
        assert_eq!(kept_days(&second), None);
        // Widened again in the meantime, so nothing is lost.
        let back = renew(Some(second), Some(365), 21);
        assert_eq!(kept_days(&back), None);
        assert_eq!(kept_days(&renew(Some(back), Some(365), 50)), Some(365));
    }
}
