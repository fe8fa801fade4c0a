//! What the background workers of a process have in common.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::FutureExt as _;
use offhook_failpoints as failpoints;

use crate::Result;

use tokio::sync::Notify;
use tokio::task::{self, JoinSet};
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

/// Workers, each by its name. One that panics is lost: what it was there for is not done any more, and its process should end
/// so that another one does it.
#[derive(Default)]
pub(crate) struct Staff {
    working: JoinSet<()>,
    names: HashMap<task::Id, &'static str>,
}

impl Staff {
    pub(crate) fn employ(
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

    /// The first one that is lost; `None` once all have ended well, as those do that have nothing to do here.
    pub(crate) async fn lost_one(&mut self) -> Option<&'static str> {
        while let Some(ended) = self.working.join_next_with_id().await {
            if let Err(error) = ended {
                return Some(self.names.get(&error.id()).copied().unwrap_or("a worker"));
            }
        }
        None
    }

    /// Waits for all of them, which have been told to end.
    pub(crate) async fn all_ended(mut self) {
        while self.working.join_next().await.is_some() {}
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
