//! The end of a process: what it waits for after its calls are reported.

use tokio::time::{Instant, sleep};

use crate::prelude::*;
use crate::{Result, Services};

/// How often due deliveries are polled.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// If no open delivery may be claimed, all are under way, or wait for one that is, or for a retry. If their number
/// stays the same for this long, no more are expected.
const QUIET_FOR: Duration = Duration::from_millis(400);

#[boxed]
impl Services {
    /// Returns when no webhook delivery is due now; at once if none is open. The caller sets the time limit. If the
    /// database does not respond, there is nothing to wait for.
    pub async fn events_sent(&self) {
        let mut quiet: Option<(i64, Instant)> = None;
        loop {
            let Ok((due, open)) = self.open_deliveries().await else {
                return;
            };
            if open == 0 {
                return;
            }
            quiet = match quiet {
                _ if due => None,
                Some((before, since)) if before == open => {
                    if since.elapsed() >= QUIET_FOR {
                        return;
                    }
                    quiet
                }
                _ => Some((open, Instant::now())),
            };
            sleep(LOOK_EVERY).await;
        }
    }

    /// Whether a delivery may be claimed now, and how many are open.
    async fn open_deliveries(&self) -> Result<(bool, i64)> {
        let store = &self.runner.store;
        let open = store.delivery_backlog().await?;
        if open == 0 {
            return Ok((false, 0));
        }
        let endpoints = store.due_endpoints(self.runner.clock.steady()).await?;
        let due = endpoints
            .iter()
            .any(|endpoint| endpoint.first || endpoint.retry.is_some_and(|wait| wait.is_zero()));
        Ok((due, open))
    }
}
