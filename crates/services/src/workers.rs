//! Shared parts of the background workers.

use offhook_metrics::metrics;

use crate::Result;
use crate::prelude::*;

use tokio::sync::Notify;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// An interval that does not catch up on missed ticks.
pub(crate) fn every(period: Duration) -> Interval {
    let mut tick = interval(period);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tick
}

/// A worker's turns, from now until it stops.
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

    /// Waits for the next turn; `false` if the worker must stop.
    pub(crate) async fn next(&mut self) -> bool {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => false,
            _ = self.tick.tick() => true,
        }
    }

    /// The same, but a wake-up starts the turn at once.
    pub(crate) async fn next_or(&mut self, wake: &Notify) -> bool {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => false,
            () = wake.notified() => true,
            _ = self.tick.tick() => true,
        }
    }
}

/// Whether a worker's polls fail now: logged once per outage, not on every poll.
#[derive(Default)]
pub(crate) struct Outage(bool);

impl Outage {
    /// Records a poll; returns whether it failed. `what` describes what is impossible meanwhile.
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

/// Counts a run of a job in the metrics, and passes its result on.
pub(crate) fn counted<T, E>(job: &'static str, done: Result<T, E>) -> Result<T, E> {
    metrics().jobs.ran(job, done.is_ok());
    done
}

impl Context {
    /// Takes the turn at a job that one process at a time does, or keeps it; `false` while another process has it.
    pub(crate) async fn take_job(&self, job: &'static str) -> Result<bool> {
        let steady = self.clock.steady();
        self.store.take_job(job, self.node, steady).await
    }

    /// Gives the turn back; the next one begins after `pause`.
    pub(crate) async fn finish_job(&self, job: &'static str, pause: Duration) -> Result<()> {
        let steady = self.clock.steady();
        self.store.finish_job(job, self.node, steady, pause).await
    }
}
