//! Retries recordings that were left behind: by a process that died, by an unreachable object store, or at a provider
//! that did not have them yet.

use futures_util::FutureExt as _;

use offhook_metrics::metrics;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::Recordings;
use super::kept::{KeepError, blocking};
use super::spool::Of;
use crate::prelude::*;

/// How often the directory is scanned.
fn look_every() -> Duration {
    offhook_failpoints::scaled(Duration::from_secs(15))
}

/// The longest pause while uploads fail.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// The longest pause before a recording is fetched again.
const LONGEST_FETCH_WAIT: Duration = Duration::from_secs(3_600);

/// When each recording is retried next, and the pause before that.
type Waits = HashMap<Of, (Instant, Duration)>;

/// Uploads recordings that were not uploaded when their calls ended.
#[derive(Clone)]
pub struct RecordingKeeper(pub(crate) Arc<Recordings>);

#[boxed]
impl RecordingKeeper {
    /// Scans at once and then periodically until `stop`; less often while the object store is unreachable.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let mut wait = Duration::ZERO;
        let mut after = None;
        let mut waits = Waits::new();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(wait) => {}
            }
            match self.look(&mut after).await {
                Ok(()) => wait = look_every(),
                Err(error) => {
                    tracing::warn!(%error, "recordings wait on this machine");
                    wait = (wait * 2).clamp(look_every(), LONGEST_WAIT);
                    continue;
                }
            }
            match self.fetch(&mut waits).await {
                Ok(begun) => drop(begun),
                Err(error) => tracing::warn!(%error, "recordings wait at their provider"),
            }
        }
    }

    /// Tries each recording that was left here or is to be fetched once, up to the first failed upload. What is left is
    /// retried on the next run.
    pub async fn sweep(&self) -> Result<(), KeepError> {
        self.look(&mut None).await?;
        for begun in self.fetch(&mut Waits::new()).await? {
            // A recording that did not come is retried on the next run.
            let _ = begun.await;
        }
        Ok(())
    }

    /// Starts fetching the recordings that are due, with growing pauses for each.
    async fn fetch(&self, waits: &mut Waits) -> Result<Vec<JoinHandle<bool>>, KeepError> {
        let recordings = &self.0;
        let spool = some_or!(recordings.spool.get(), Vec::new());
        let wanted = blocking(spool, super::Spool::list_wanted).await?;
        waits.retain(|of, _| wanted.contains(of));
        let now = Instant::now();
        let mut begun = Vec::new();
        for of in wanted {
            let (due, wait) = waits.get(&of).copied().unwrap_or((now, look_every()));
            if due > now {
                continue;
            }
            let Some(held) = recordings.busy.take(of.id) else {
                continue;
            };
            waits.insert(of, (now + wait, (wait * 2).min(LONGEST_FETCH_WAIT)));
            let (recordings, spool) = (self.0.clone(), spool.clone());
            begun.push(tokio::spawn(
                async move {
                    let _held = held;
                    recordings.try_fetching(&spool, of).await
                }
                .boxed(),
            ));
        }
        Ok(begun)
    }

    /// Starts after the recording `after`, which failed the last time: one that the store never accepts does not block
    /// the others.
    async fn look(&self, after: &mut Option<Of>) -> Result<(), KeepError> {
        let recordings = &self.0;
        let spool = some_or!(recordings.spool.get(), ());
        let mut left = blocking(spool, super::Spool::list).await?;
        left.retain(|of| !recordings.busy.has(of.id));
        if let Some(after) = after {
            let behind = left.partition_point(|of| of <= after);
            left.rotate_left(behind);
        }
        let mut waiting = left.len();
        let mut unreadable = None;
        metrics().recordings.waiting(waiting);
        for of in left {
            let Some(_held) = recordings.busy.take(of.id) else {
                continue;
            };
            match recordings.keep(spool, of).await {
                Ok(()) => {
                    waiting -= 1;
                    metrics().recordings.waiting(waiting);
                }
                // This error concerns only this recording.
                Err(KeepError::File(error)) => {
                    tracing::error!(%error, call = %of.id, "a recording cannot be kept");
                    unreadable = Some(error);
                }
                Err(error) => {
                    *after = Some(of);
                    return Err(error);
                }
            }
        }
        *after = None;
        unreadable.map_or(Ok(()), |error| Err(error.into()))
    }
}
