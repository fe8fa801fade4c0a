//! Writes that wait at the same time share one transaction, with one commit.
//!
//! A write that the shared transaction cannot make as it is, because a rule refuses it or it takes a decision, gets a
//! transaction of its own. So do writes of an account whose rows another transaction has locked, together: no other
//! account waits for that lock.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use offhook_domain::AccountId;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::Postgres;
use super::gather::{ended, together};
use crate::database::Conn;
use crate::{Result, StoreError, Verdict, units};

/// How long writes wait for the transaction before theirs. Only a stuck one takes as long.
const PATIENCE: Duration = Duration::from_millis(50);

/// What the shared transaction did with a write.
pub(crate) enum Shared<A> {
    /// It was made.
    Done(A),
    /// Nothing: it needs a transaction of its own.
    Alone,
    /// Nothing: another transaction has locked the account's rows.
    Locked,
}

/// What the shared transaction did with each of its writes.
pub(crate) type Together<'c, A> = BoxFuture<'c, Result<Verdict<Vec<Shared<A>>>>>;

/// A write that can share a transaction.
pub(crate) trait Share: Clone + Send + Sync + 'static {
    type Answer: Send + 'static;

    fn account(&self) -> AccountId;

    /// Makes several writes, with statements that do not depend on how many they are. Waits for rows of their accounts
    /// that are locked only if `is_patient`. `offset` is what tests add to the database's clock.
    fn together(
        conn: &mut Conn,
        writes: Vec<Self>,
        offset: i64,
        is_patient: bool,
    ) -> Together<'_, Self::Answer>;

    /// Makes the write by itself.
    fn alone(self, conn: &mut Conn, offset: i64) -> BoxFuture<'_, Result<Verdict<Self::Answer>>>;
}

/// Makes writes of one kind.
pub(crate) struct Sharing<W: Share>(mpsc::UnboundedSender<Waiting<W>>);

struct Waiting<W: Share> {
    write: W,
    offset: i64,
    done: oneshot::Sender<Result<W::Answer>>,
}

impl<W: Share> Clone for Sharing<W> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// Writes of several kinds that lock the same rows take turns, so that within a process none finds them locked.
pub(crate) type Turns = Arc<tokio::sync::Mutex<()>>;

/// Writes of accounts whose rows were locked, while one transaction of each account waits for them.
type Parked<W> = Arc<Mutex<HashMap<AccountId, Vec<Waiting<W>>>>>;

impl<W: Share> Sharing<W> {
    pub(crate) fn of(db: &Postgres, turns: &Turns) -> Self {
        let (turns, parked) = (turns.clone(), Parked::default());
        Self(together(db, PATIENCE, move |db, waiting| {
            let (turns, parked) = (turns.clone(), parked.clone());
            async move {
                // A transaction that is stuck does not hold up the others.
                let turn = timeout(PATIENCE, turns.lock()).await;
                let locked = make(&db, waiting, false).await;
                drop(turn);
                for (account, waiting) in locked {
                    park(&db, &parked, account, waiting);
                }
            }
        }))
    }

    pub(crate) async fn make(&self, write: W, offset: i64) -> Result<W::Answer> {
        let (done, made) = oneshot::channel();
        let waiting = Waiting {
            write,
            offset,
            done,
        };
        self.0.send(waiting).map_err(|_| ended())?;
        made.await.unwrap_or_else(|_| Err(ended()))
    }
}

/// Makes these writes of an account together once its rows are free, after those that wait for them already.
fn park<W: Share>(db: &Postgres, parked: &Parked<W>, account: AccountId, waiting: Vec<Waiting<W>>) {
    use std::collections::hash_map::Entry;
    match parked.lock().entry(account) {
        Entry::Occupied(mut others) => return others.get_mut().extend(waiting),
        Entry::Vacant(free) => free.insert(Vec::new()),
    };
    let (db, parked) = (db.clone(), parked.clone());
    db.runtime.clone().spawn(async move {
        let mut waiting = waiting;
        while !waiting.is_empty() {
            for one in make(&db, waiting, true).await.into_values().flatten() {
                make_alone(&db, one);
            }
            let mut parked = parked.lock();
            waiting = parked
                .get_mut(&account)
                .map(std::mem::take)
                .unwrap_or_default();
            if waiting.is_empty() {
                parked.remove(&account);
            }
        }
    });
}

/// Makes these writes in one transaction. It waits for locked rows of their accounts only if `is_patient`. Returns those
/// that it left for that reason.
async fn make<W: Share>(
    db: &Postgres,
    waiting: Vec<Waiting<W>>,
    is_patient: bool,
) -> HashMap<AccountId, Vec<Waiting<W>>> {
    let mut locked: HashMap<AccountId, Vec<Waiting<W>>> = HashMap::new();
    let Some(offset) = waiting.first().map(|one| one.offset) else {
        return locked;
    };
    let writes: Vec<W> = waiting.iter().map(|one| one.write.clone()).collect();
    let work = units::judging(move |conn| W::together(conn, writes, offset, is_patient));
    let shared: Result<Vec<Shared<W::Answer>>> = units::answered(db.write(work).await);
    match shared {
        Ok(shared) => {
            for (one, shared) in waiting.into_iter().zip(shared) {
                match shared {
                    Shared::Done(done) => answer(one.done, Ok(done)),
                    Shared::Alone => make_alone(db, one),
                    Shared::Locked => locked.entry(one.write.account()).or_default().push(one),
                }
            }
        }
        Err(error @ (StoreError::Unavailable(_) | StoreError::UnknownCommit(_))) => {
            for one in waiting {
                answer(one.done, Err(error.clone()));
            }
        }
        // Something else is locked, or one of the writes is at fault.
        Err(_) => waiting.into_iter().for_each(|one| make_alone(db, one)),
    }
    locked
}

/// Makes a write without delaying the others.
fn make_alone<W: Share>(db: &Postgres, waiting: Waiting<W>) {
    let db = db.clone();
    db.runtime.clone().spawn(async move {
        let Waiting {
            write,
            offset,
            done,
        } = waiting;
        let work = units::judging(move |conn| write.alone(conn, offset));
        answer(done, units::answered(db.write(work).await));
    });
}

/// A caller that has gone away needs no answer.
fn answer<A>(done: oneshot::Sender<Result<A>>, made: Result<A>) {
    let _ = done.send(made);
}
