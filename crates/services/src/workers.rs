//! What the background workers of a process have in common.

use std::time::Duration;

use crate::Result;

use tokio::sync::Notify;
use tokio::time::{Interval, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// An interval that does not hurry after what it has missed.
pub(crate) fn every(period: Duration) -> Interval {
    let mut tick = interval(period);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tick
}

/// The turns of a worker, from now on until its stop.
pub(crate) struct Turns {
    pub(crate) tick: Interval,
    stop: CancellationToken,
}

impl Turns {
    pub(crate) fn new(period: Duration, stop: &CancellationToken) -> Self {
        Self {
            tick: every(period),
            stop: stop.clone(),
        }
    }

    /// Waits for the next turn; `false` if the worker is to stop.
    pub(crate) async fn next(&mut self) -> bool {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => false,
            _ = self.tick.tick() => true,
        }
    }

    /// The same, but a wake brings the turn at once.
    pub(crate) async fn next_or(&mut self, wake: &Notify) -> bool {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => false,
            () = wake.notified() => true,
            _ = self.tick.tick() => true,
        }
    }
}

/// Whether a worker's looks fail now: that is said once an outage, not at every look.
#[derive(Default)]
pub(crate) struct Outage(bool);

impl Outage {
    /// Whether the look failed. `what` cannot be done meanwhile.
    pub(crate) fn note(&mut self, look: Result<()>, what: &str) -> bool {
        let was_away = std::mem::replace(&mut self.0, look.is_err());
        if let Err(error) = look
            && !was_away
        {
            tracing::warn!(%error, "{what}: they wait for the database");
        }
        self.0
    }
}
