//! Places calls that wait at the same time in one transaction, with one commit.
//!
//! A call that the shared transaction cannot accept as it is, because a rule refuses it, its Idempotency-Key exists or
//! its wallet buys credits, gets a transaction of its own, which decides. So do calls of an account whose wallet another
//! transaction has locked, together: nobody else waits for that lock.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::BoxFuture;
use offhook_domain::AccountId;
use tokio::sync::{mpsc, oneshot};

use super::Postgres;
use super::gather::{ended, together};
use crate::queries::calls;
use crate::queries::placing::{Shared, place_together};
use crate::{NewCall, Placed, Result, StoreError, units};

/// How long calls wait for the transaction before theirs. Only a stuck one takes as long.
const PATIENCE: Duration = Duration::from_millis(50);

#[derive(Clone)]
pub(crate) struct Placer(mpsc::UnboundedSender<Waiting>);

struct Waiting {
    call: NewCall,
    /// What tests add to the database's clock.
    offset: i64,
    placed: oneshot::Sender<Result<Placed>>,
}

impl Placer {
    pub(crate) fn of(db: &Postgres) -> Self {
        Self(together(db, PATIENCE, |db, waiting| {
            place(db, waiting, false)
        }))
    }

    pub(crate) async fn place(&self, call: NewCall, offset: i64) -> Result<Placed> {
        let (placed, done) = oneshot::channel();
        let waiting = Waiting {
            call,
            offset,
            placed,
        };
        self.0.send(waiting).map_err(|_| ended())?;
        done.await.unwrap_or_else(|_| Err(ended()))
    }
}

/// Places these calls in one transaction. It waits for locked wallets only if `is_patient`.
fn place(db: Postgres, waiting: Vec<Waiting>, is_patient: bool) -> BoxFuture<'static, ()> {
    Box::pin(place_some(db, waiting, is_patient))
}

async fn place_some(db: Postgres, waiting: Vec<Waiting>, is_patient: bool) {
    let offset = match waiting.as_slice() {
        [] => return,
        [one, ..] => one.offset,
    };
    let calls: Vec<NewCall> = waiting.iter().map(|one| one.call.clone()).collect();
    let work = units::judging(move |conn| {
        Box::pin(async move { place_together(conn, calls, offset, is_patient).await })
    });
    let shared: Result<Vec<Shared>> = units::answered(db.write(work).await);
    let shared = match shared {
        Ok(shared) => shared,
        Err(error @ (StoreError::Unavailable(_) | StoreError::UnknownCommit(_))) => {
            return waiting
                .into_iter()
                .for_each(|one| tell(one, Err(error.clone())));
        }
        // Something else is locked, or one of the calls is at fault.
        Err(_) => return waiting.into_iter().for_each(|one| place_alone(&db, one)),
    };
    let mut later: HashMap<AccountId, Vec<Waiting>> = HashMap::new();
    for (one, shared) in waiting.into_iter().zip(shared) {
        match shared {
            Shared::Accepted(endpoints) => tell(one, Ok(Placed::Accepted(endpoints))),
            Shared::Alone => place_alone(&db, one),
            Shared::Locked => later.entry(one.call.account_id).or_default().push(one),
        }
    }
    for waiting in later.into_values() {
        db.runtime.spawn(place(db.clone(), waiting, true));
    }
}

/// Places a call without delaying the others.
fn place_alone(db: &Postgres, waiting: Waiting) {
    let db = db.clone();
    db.runtime.clone().spawn(async move {
        let (call, offset) = (waiting.call.clone(), waiting.offset);
        let place = units::judging(move |conn| {
            Box::pin(async move { calls::place(conn, call, offset).await })
        });
        let placed = units::answered(db.write(place).await);
        tell(waiting, placed);
    });
}

/// A caller that has gone away needs no result.
fn tell(waiting: Waiting, placed: Result<Placed>) {
    let _ = waiting.placed.send(placed);
}
