//! Answers look-ups that wait at the same time with one query.
//!
//! Under load, requests mostly ask the same few things: whose a key is, which agent is called. Each look-up is answered by
//! a query that began after it. So it sees what a query of its own would see, and while few arrive, each gets one.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::time::Duration;

use futures_util::future::BoxFuture;
use offhook_domain::AccountId;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::{Postgres, dialect};
use crate::database::Conn;
use crate::queries::agents::{Callable, OfVersion, ToCall, WithConfig, to_call, with_config};
use crate::{Result, StoreError, queries, units};

/// The look-ups that nearly every request makes.
#[derive(Clone)]
pub(crate) struct Gathered {
    pub(crate) keys: Gather<[u8; 32], dialect::Keyed>,
    pub(crate) live_calls: Gather<AccountId, i64>,
    pub(crate) agents_to_call: Gather<ToCall, Option<Callable>>,
    pub(crate) agents: Gather<OfVersion, Option<WithConfig>>,
}

impl Gathered {
    pub(crate) fn of(db: &Postgres) -> Self {
        Self {
            keys: Gather::of(db, Find::All(dialect::find_by_digests)),
            live_calls: Gather::of(db, Find::All(queries::claims::live_calls_of)),
            agents_to_call: Gather::of(
                db,
                Find::Each(|conn, asked| Box::pin(to_call(conn, asked))),
            ),
            agents: Gather::of(
                db,
                Find::Each(|conn, asked| Box::pin(with_config(conn, asked))),
            ),
        }
    }
}

/// How long look-ups wait for the query before theirs; a slow one must not delay them all.
const PATIENCE: Duration = Duration::from_millis(5);

/// The most items at once.
const AT_ONCE: usize = 256;

/// Hands what waits at the same time to `work`, together: all that arrived while the previous `work` ran, or for as long
/// as `patience`. It ends with its last sender.
pub(super) fn together<T, W, F>(
    db: &Postgres,
    patience: Duration,
    work: W,
) -> mpsc::UnboundedSender<T>
where
    T: Send + 'static,
    W: Fn(Postgres, Vec<T>) -> F + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let (queue, mut waiting) = mpsc::unbounded_channel();
    let db = db.clone();
    db.runtime.clone().spawn(async move {
        let mut arrived = Vec::new();
        while waiting.recv_many(&mut arrived, AT_ONCE).await > 0 {
            let mut work = Box::pin(work(db.clone(), std::mem::take(&mut arrived)));
            if timeout(patience, &mut work).await.is_err() {
                db.runtime.spawn(work);
            }
        }
    });
    queue
}

/// The error of a queue that has ended, which happens only with the runtime.
pub(super) fn ended() -> StoreError {
    StoreError::Unavailable("the database's runtime has ended".to_owned())
}

type Found<'c, K, V> = BoxFuture<'c, Result<HashMap<K, V>>>;

/// How values are found.
enum Find<K, V> {
    /// Those of several keys at once. A key without one has the default value.
    All(for<'c> fn(&'c mut Conn, Vec<K>) -> Found<'c, K, V>),
    /// Each by a statement of its own.
    Each(for<'c> fn(&'c mut Conn, K) -> BoxFuture<'c, Result<V>>),
}

impl<K, V> Clone for Find<K, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, V> Copy for Find<K, V> {}

type Waiting<K, V> = (K, oneshot::Sender<Result<V>>);

/// Looks up values by key.
pub(crate) struct Gather<K, V>(mpsc::UnboundedSender<Waiting<K, V>>);

impl<K, V> Clone for Gather<K, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K, V> Gather<K, V>
where
    K: Clone + Eq + Hash + Send + Sync + 'static,
    V: Clone + Default + Send + Sync + 'static,
{
    fn of(db: &Postgres, find: Find<K, V>) -> Self {
        Self(together(db, PATIENCE, move |db, waiting| {
            answer(db, find, waiting)
        }))
    }

    pub(crate) async fn find(&self, key: K) -> Result<V> {
        let (answer, answered) = oneshot::channel();
        self.0.send((key, answer)).map_err(|_| ended())?;
        answered.await.unwrap_or_else(|_| Err(ended()))
    }
}

async fn answer<K, V>(db: Postgres, find: Find<K, V>, waiting: Vec<Waiting<K, V>>)
where
    K: Clone + Eq + Hash + Send + Sync + 'static,
    V: Clone + Default + Send + Sync + 'static,
{
    let keys: HashSet<K> = waiting.iter().map(|(key, _)| key.clone()).collect();
    let keys: Vec<K> = keys.into_iter().collect();
    let work = units::certain(move |conn| match find {
        Find::All(find) => find(conn, keys),
        Find::Each(find) => Box::pin(async move {
            let mut found = HashMap::with_capacity(keys.len());
            for key in keys {
                let value = find(conn, key.clone()).await?;
                found.insert(key, value);
            }
            Ok(found)
        }),
    });
    let found: Result<HashMap<K, V>> = units::answered(db.read(work).await);
    for (key, caller) in waiting {
        let found = found.as_ref().map_err(Clone::clone);
        // A caller that has gone away needs no result.
        let _ = caller.send(found.map(|found| found.get(&key).cloned().unwrap_or_default()));
    }
}
