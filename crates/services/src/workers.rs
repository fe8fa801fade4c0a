//! Shared parts of the background workers.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::FutureExt as _;
use offhook_failpoints as failpoints;

use crate::Result;

use tokio::sync::Notify;
use tokio::task::{self, JoinSet};
use tokio::time::{Interval, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

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

/// Named workers. If one panics, its work is no longer done here, so the process should end and let another one do it.
#[derive(Default)]
pub(crate) struct Workers {
    working: JoinSet<()>,
    names: HashMap<task::Id, &'static str>,
}

impl Workers {
    pub(crate) fn spawn(
        &mut self,
        name: &'static str,
        work: impl Future<Output = ()> + Send + 'static,
    ) {
        let work = async move {
            failpoints::begin_worker(name);
            work.await;
        };
        let working = self.working.spawn(work.boxed());
        self.names.insert(working.id(), name);
    }

    /// The first worker that panics; `None` once all have ended normally, as workers without work here do.
    pub(crate) async fn first_lost(&mut self) -> Option<&'static str> {
        while let Some(ended) = self.working.join_next_with_id().await {
            if let Err(error) = ended {
                return Some(self.names.get(&error.id()).copied().unwrap_or("a worker"));
            }
        }
        None
    }

    /// Waits for all of them; they have been told to stop.
    pub(crate) async fn all_ended(mut self) {
        while self.working.join_next().await.is_some() {}
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
