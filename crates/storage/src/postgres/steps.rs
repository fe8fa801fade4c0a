//! Batches the writes of calls.
//!
//! With thousands of calls, their answers and turns are most of what a process writes. Written one by one, each would
//! be its own transaction, and requests would queue behind them. So steps that arrive at about the same time share one
//! statement.

use std::collections::HashSet;
use std::time::Duration;

use offhook_domain::{ClaimId, ConversationId};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use super::{Postgres, dialect};
use crate::{CallStep, Fenced, Result, Step, StoreError};
use crate::{queries, units};

/// The least time between two statements when many steps arrive. When few do, each is written at once.
const EVERY: Duration = Duration::from_millis(20);

/// This many steps within [`WINDOW`] are many.
const MANY: usize = 20;

const WINDOW: Duration = Duration::from_millis(100);

/// The most steps per statement.
const AT_ONCE: usize = 256;

/// The error when the writer has ended, which happens only with the runtime.
const GONE: &str = "the writer of calls has ended";

/// Writes steps. It ends with its last clone.
#[derive(Clone)]
pub(crate) struct CallWriter(mpsc::UnboundedSender<Waiting>);

/// A step and its waiting caller. A call takes one step at a time, so there are never more entries than calls.
struct Waiting {
    step: CallStep,
    done: oneshot::Sender<Result<Fenced>>,
}

impl CallWriter {
    pub(crate) fn of(db: Postgres) -> Self {
        let (queue, waiting) = mpsc::unbounded_channel();
        db.runtime.clone().spawn(write(db, waiting));
        Self(queue)
    }

    /// Writes a step of a call.
    pub(crate) async fn take(
        &self,
        id: ConversationId,
        claim: ClaimId,
        step: Step,
    ) -> Result<Fenced> {
        let gone = || StoreError::Unavailable(GONE.to_owned());
        let (done, written) = oneshot::channel();
        let step = CallStep { id, claim, step };
        let waiting = Waiting { step, done };
        self.0.send(waiting).map_err(|_| gone())?;
        written.await.unwrap_or_else(|_| Err(gone()))
    }
}

async fn write(db: Postgres, mut waiting: mpsc::UnboundedReceiver<Waiting>) {
    let mut together = Vec::new();
    let (mut window, mut before, mut within) = (Instant::now(), 0, 0);
    while waiting.recv_many(&mut together, AT_ONCE).await > 0 {
        let now = Instant::now();
        if now - window >= WINDOW {
            before = if now - window < 2 * WINDOW { within } else { 0 };
            (window, within) = (now, 0);
        }
        within += together.len();
        write_together(&db, std::mem::take(&mut together)).await;
        if before.max(within) >= MANY {
            sleep_until(now + EVERY).await;
        }
    }
}

async fn write_together(db: &Postgres, waiting: Vec<Waiting>) {
    if waiting.len() == 1 {
        return waiting.into_iter().for_each(|one| write_alone(db, one));
    }
    // One statement changes a row only once.
    let mut calls = HashSet::new();
    let (together, again): (Vec<_>, Vec<_>) = waiting
        .into_iter()
        .partition(|one| calls.insert(one.step.id));
    again.into_iter().for_each(|one| write_alone(db, one));
    let steps: Vec<_> = together.iter().map(|one| one.step.clone()).collect();
    let take = units::certain(move |conn| {
        Box::pin(async move { dialect::take_steps(conn, &steps).await })
    });
    let done: Result<HashSet<ConversationId>> = units::answered(db.write_at_once(take).await);
    match done {
        Ok(done) => {
            for one in together {
                match done.contains(&one.step.id) {
                    true => tell(one.done, Ok(Fenced::Done)),
                    // The claim is lost, or another transaction has locked the call right now.
                    false => write_alone(db, one),
                }
            }
        }
        Err(error) if error.may_pass() => {
            for one in together {
                tell(one.done, Err(error.clone()));
            }
        }
        // One of them is at fault.
        Err(_) => together.into_iter().for_each(|one| write_alone(db, one)),
    }
}

/// Writes one step without delaying the others.
fn write_alone(db: &Postgres, waiting: Waiting) {
    let db = db.clone();
    db.runtime.clone().spawn(async move {
        let Waiting { step, done } = waiting;
        let CallStep { id, claim, step } = step;
        let written = match step {
            Step::Answered(at, dialog) => {
                let at = (at, dialog);
                let write = units::certain(move |conn| {
                    Box::pin(
                        async move { queries::call_steps::answered(conn, id, claim, at).await },
                    )
                });
                units::answered(db.write(write).await)
            }
            Step::Turn(turn) => {
                let append = units::certain(move |conn| {
                    Box::pin(
                        async move { queries::call_steps::append(conn, id, claim, turn).await },
                    )
                });
                units::answered(db.write_at_once(append).await)
            }
        };
        tell(done, written);
    });
}

/// A caller that has gone away needs no result.
fn tell(done: oneshot::Sender<Result<Fenced>>, written: Result<Fenced>) {
    let _ = done.send(written);
}
