use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use offhook_domain::EventType;
use offhook_failpoints as failpoints;
use offhook_metrics::metrics;
use offhook_signing::{SigningSecret, sign};
use offhook_storage::{AttemptReport, ClaimedAttempt, ClaimedWork};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;
use tracing::{Instrument as _, field};

use crate::dispatcher::Shared;
use crate::lanes::{Checked, Slot, Started};
use crate::sender::{AttemptError, AttemptResult, Shipment};

/// The errors of an attempt that was not sent, because it could not be signed or its event's body has been cleared.
const NO_SECRET: &str = "no_secret";
const NO_BODY: &str = "no_body";

/// The result of an attempt, on its way to the database.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) report: AttemptReport,
    /// Whether a later event of the same call may have waited for it.
    pub(crate) unblocks: bool,
}

#[derive(Clone)]
pub(crate) struct Worker {
    pub(crate) shared: Arc<Shared>,
    pub(crate) results: UnboundedSender<Finished>,
}

impl Worker {
    /// Makes the `started` attempt, then others as long as the slot is useful.
    pub(crate) async fn run(self, started: Started) {
        let mut next = Some(started);
        while let Some(Started {
            attempt,
            slot,
            checked,
        }) = next.take()
        {
            let guard = SlotGuard {
                shared: &self.shared,
                slot: Some(slot),
            };
            let attempt = match self.still_due(attempt, checked).await {
                Ok(attempt) => attempt,
                Err(attempt) => {
                    drop(guard);
                    let mut lanes = self.shared.lanes();
                    lanes.give_back(attempt);
                    if !self.shared.stop.is_cancelled() {
                        next = lanes.next(Some(slot.endpoint), Instant::now());
                    }
                    continue;
                }
            };
            let span = tracing::info_span!(
                "delivery",
                delivery = %attempt.delivery_id,
                attempt = %attempt.attempt_id,
                number = attempt.number,
                status = field::Empty,
                error = field::Empty,
            );
            let finished = self.attempt(attempt).instrument(span.clone()).await;
            span.record("status", finished.report.status_code);
            span.record("error", finished.report.error.as_deref());
            drop(span);
            let success = finished.report.success;
            let took = Duration::from_millis(finished.report.duration_ms.unsigned_abs().into());
            let unrecorded = self.shared.unrecorded.fetch_add(1, Ordering::Relaxed) + 1;
            metrics().deliveries.unrecorded(unrecorded);
            // The recorder outlives every worker.
            let _ = self.results.send(finished);
            guard.release();
            let is_time_to_plan;
            {
                let mut lanes = self.shared.lanes();
                is_time_to_plan = lanes.ended(&slot, success, took);
                if !self.shared.stop.is_cancelled() {
                    next = lanes.next(Some(slot.endpoint), Instant::now());
                }
            }
            if is_time_to_plan {
                self.shared.refill.notify_one();
            }
        }
    }

    /// Checks whether the attempt may still be made, if it was claimed some time ago: its endpoint may have been
    /// disabled or changed since. One check covers all that waits for the endpoint. `Err` if the attempt must not be
    /// made, or if the check failed.
    async fn still_due(
        &self,
        mut attempt: ClaimedAttempt,
        checked: Checked,
    ) -> Result<ClaimedAttempt, ClaimedAttempt> {
        if checked.is_fresh(Instant::now(), self.shared.changes()) {
            return Ok(attempt);
        }
        let (endpoint, checking) = (attempt.endpoint_id, self.shared.checking());
        let mut asked = self.shared.lanes().waiting(endpoint);
        let others = asked.len();
        asked.push(ClaimedWork::from(&attempt));
        let now = self.shared.clock.now();
        let store = &self.shared.store;
        let Ok(rechecked) = store.recheck_claims(endpoint, asked.clone(), now).await else {
            return Err(attempt);
        };
        asked.truncate(others);
        let mut lanes = self.shared.lanes();
        lanes.rechecked(endpoint, &asked, &rechecked, checking);
        if !rechecked.in_force.contains(&attempt.attempt_id) {
            return Err(attempt);
        }
        attempt.url = rechecked.url;
        attempt.secrets = rechecked.secrets;
        Ok(attempt)
    }

    async fn attempt(&self, attempt: ClaimedAttempt) -> Finished {
        let _in_flight = metrics().deliveries.began();
        let began = self.shared.clock.now();
        let body = Bytes::from(attempt.body);
        let secrets: Vec<SigningSecret> = attempt
            .secrets
            .iter()
            .filter_map(|s| s.parse().ok())
            .collect();
        let has_body = !body.is_empty();
        let result = if secrets.is_empty() || !has_body {
            None
        } else {
            let signature = sign(&secrets, began.unix_seconds(), &body);
            let shipment = Shipment {
                url: &attempt.url,
                event_type: attempt.kind,
                event_id: attempt.event_id,
                attempt_id: attempt.attempt_id,
                signature: &signature,
                body,
            };
            Some(self.shared.sender.send(shipment).await)
        };
        failpoints::hit(failpoints::DELIVER_AFTER_SEND);
        let success = result.as_ref().is_some_and(AttemptResult::is_success);
        let (status, duration_ms, error, response_snippet) = match result {
            Some(result) => (
                result.status_code,
                result.duration_ms,
                result.error.map(AttemptError::as_str),
                result.response_snippet,
            ),
            None => {
                let word = if has_body { NO_SECRET } else { NO_BODY };
                (None, 0, Some(word), None)
            }
        };
        let took = Duration::from_millis(duration_ms.into());
        metrics().deliveries.attempted(status, error, took);
        let ended = self.shared.clock.steady();
        let retry_after = match success {
            true => None,
            false => {
                let schedule = &self.shared.schedule;
                schedule.wait(attempt.number, attempt.attempt_id)
            }
        };
        tracing::debug!(
            delivery = %attempt.delivery_id,
            attempt = %attempt.attempt_id,
            endpoint = %attempt.endpoint_id,
            number = attempt.number,
            status,
            error,
            duration_ms,
            "webhook attempt"
        );
        Finished {
            report: AttemptReport {
                claim_id: attempt.claim_id,
                attempt_id: attempt.attempt_id,
                delivery_id: attempt.delivery_id,
                endpoint_id: attempt.endpoint_id,
                number: attempt.number,
                at: began,
                success,
                status_code: status.map(i32::from),
                duration_ms: i32::try_from(duration_ms).unwrap_or(i32::MAX),
                error: error.map(str::to_owned),
                response_snippet,
                ended,
                retry_after,
            },
            unblocks: attempt.number == 1 && attempt.kind == EventType::CallInitiated,
        }
    }
}

/// Frees the slot of an attempt that panics.
struct SlotGuard<'a> {
    shared: &'a Shared,
    slot: Option<Slot>,
}

impl SlotGuard<'_> {
    fn release(mut self) {
        self.slot = None;
    }
}

impl Drop for SlotGuard<'_> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            self.shared.lanes().broken(&slot);
        }
    }
}
