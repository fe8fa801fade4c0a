//! Records the results of attempts in batches.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use offhook_failpoints as failpoints;
use offhook_metrics::metrics;
use offhook_storage::{AttemptReport, StoreError};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep, timeout_at};

use crate::dispatcher::Shared;
use crate::worker::Finished;

/// How long a result waits for others.
const GATHERING: Duration = Duration::from_millis(5);

/// This many results do not wait.
const ENOUGH: usize = 64;

/// The most results per transaction, when they have piled up.
const BATCH_AT_MOST: usize = 512;

/// The waits between retries while the database is unavailable.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How long a stopping process retries. Another process repeats the attempts whose results are not written by then.
const LAST_TRIES: Duration = Duration::from_secs(10);

pub(crate) struct Recorder {
    shared: Arc<Shared>,
    finished: UnboundedReceiver<Finished>,
    /// When to give up, once stopped.
    give_up_at: Option<Instant>,
}

impl Recorder {
    pub(crate) fn new(shared: Arc<Shared>, finished: UnboundedReceiver<Finished>) -> Self {
        Self {
            shared,
            finished,
            give_up_at: None,
        }
    }

    /// Records until the last worker has ended.
    pub(crate) async fn run(mut self) {
        while let Some(first) = self.finished.recv().await {
            let mut batch = vec![first];
            let until = Instant::now() + GATHERING;
            while batch.len() < ENOUGH {
                match timeout_at(until, self.finished.recv()).await {
                    Ok(Some(next)) => batch.push(next),
                    Ok(None) | Err(_) => break,
                }
            }
            while batch.len() < BATCH_AT_MOST {
                match self.finished.try_recv() {
                    Ok(next) => batch.push(next),
                    Err(_) => break,
                }
            }
            let (size, unblocks) = (batch.len(), batch.iter().any(|f| f.unblocks));
            self.write(batch.into_iter().map(|f| f.report).collect())
                .await;
            failpoints::hit(failpoints::DELIVER_AFTER_FINISH);
            let unrecorded = self.shared.unrecorded.fetch_sub(size, Ordering::Relaxed) - size;
            metrics().deliveries.unrecorded(unrecorded);
            self.shared.refill.notify_one();
            if unblocks {
                self.shared.unblocked.notify_one();
            }
        }
    }

    async fn write(&mut self, reports: Vec<AttemptReport>) {
        let Err(error) = self.until_it_answers(&reports).await else {
            return;
        };
        if reports.len() == 1 {
            lost(&reports, &error);
            return;
        }
        // One of them cannot be written. Write each alone, so that the others are not lost with it.
        for report in reports {
            let report = [report];
            if let Err(error) = self.until_it_answers(&report).await {
                lost(&report, &error);
            }
        }
    }

    /// Writes `reports`, and retries while the database is unavailable. Fails if the database rejects them. Writing
    /// them twice does no harm.
    async fn until_it_answers(&mut self, reports: &[AttemptReport]) -> Result<(), StoreError> {
        let mut pause = FIRST_PAUSE;
        loop {
            let clock = &self.shared.clock;
            let (now, steady) = (clock.now(), clock.steady());
            let finishing = self.shared.store.finish_attempts(reports.to_vec(), steady);
            let error = match finishing.await {
                Ok(failing) => {
                    self.shared.judge(failing, now).await;
                    return Ok(());
                }
                Err(error) => error,
            };
            if !error.may_pass() || self.is_too_late() {
                return Err(error);
            }
            if pause == FIRST_PAUSE {
                tracing::warn!(%error, "results of webhook attempts wait for the database");
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn is_too_late(&mut self) -> bool {
        let now = Instant::now();
        self.shared.stop.is_cancelled() && now >= *self.give_up_at.get_or_insert(now + LAST_TRIES)
    }
}

fn lost(reports: &[AttemptReport], error: &StoreError) {
    for report in reports {
        tracing::error!(attempt = %report.attempt_id, %error, "the result of a webhook attempt is lost");
    }
}
