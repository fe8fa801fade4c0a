//! The store's public API. One method is one read or one use case's transaction.
//!
//! Methods return an [`Answer`] or are `#[boxed]`. An async function's body is compiled where it is awaited, and
//! diesel's statements must be compiled here, once, not in every dependent crate (docs/adr/0017-build-time.md). A
//! method that is a single query stands with the queries of its rows.

mod config;
mod transaction;

use offhook_boxed::boxed;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use diesel::deserialize::FromSqlRow;
use diesel::query_builder::{AsQuery, QueryFragment, QueryId};
use diesel::query_dsl::methods::LimitDsl;
use diesel::result::Error::NotFound;
use diesel::result::QueryResult;
use futures_util::future::BoxFuture;
use offhook_domain::{EventId, Timestamp};
use ring::rand::{SecureRandom, SystemRandom};
use uuid::Uuid;

pub use config::StoreConfig;
pub use transaction::{Tx, TxError};

use crate::database::{self, Conn, Db, Rows, Statement};
use crate::dialect::dialect;
use crate::postgres::{Listener, Postgres, Queues};
use crate::sqlite::Sqlite;
use crate::{
    AboutDatabase, Actor, MasterKey, Result, StoreError, Verdict, migrate,
    units::{self, Work},
};

#[must_use]
pub fn lease() -> Duration {
    offhook_failpoints::scaled(Duration::from_secs(45))
}

/// The durability of this store's commits: `FULL` on SQLite, `on` on PostgreSQL.
pub type Durability = String;

/// The future of a store method's result. Nothing starts before it is awaited.
pub type Answer<'a, T> = BoxFuture<'a, Result<T>>;

#[derive(Clone)]
pub(crate) enum Inner {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

/// Rows, on either database.
///
/// In addition to the errors that a method documents, each returns [`StoreError::Unavailable`] if the database is
/// unreachable.
#[derive(Clone)]
pub struct Store {
    pub(crate) inner: Inner,
    pub(crate) master_key: MasterKey,
    clock_offset: Arc<AtomicI64>,
    /// Only on PostgreSQL: a statement of the embedded database has no round trip to share, and its writer shares commits
    /// by itself.
    pub(crate) queues: Option<Queues>,
    /// The actor of the changes made through this handle.
    pub(crate) actor: Actor,
}

impl Inner {
    pub(crate) fn read<T, F>(&self, work: F) -> Answer<'_, T>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, Result<T>> + Send + 'static,
    {
        self.look(units::certain(work))
    }

    fn look<T: Send + 'static>(&self, work: Work) -> Answer<'_, T> {
        Box::pin(async move {
            units::answered(match self {
                Self::Sqlite(db) => db.read(work).await,
                Self::Postgres(db) => db.read(work).await,
            })
        })
    }

    pub(crate) fn keep<T, F>(&self, work: F) -> Answer<'_, T>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, Result<T>> + Send + 'static,
    {
        self.carry_out(units::certain(work))
    }

    pub(crate) fn write<T, F>(&self, work: F) -> Answer<'_, T>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, Result<Verdict<T>>> + Send + 'static,
    {
        self.carry_out(units::judging(work))
    }

    fn carry_out<T: Send + 'static>(&self, work: Work) -> Answer<'_, T> {
        Box::pin(async move {
            units::answered(match self {
                Self::Sqlite(db) => db.write(work).await,
                Self::Postgres(db) => db.write(work).await,
            })
        })
    }
}

macro_rules! read {
    ($store:expr, |$conn:ident| $work:expr) => {
        $store
            .inner
            .read(move |$conn| Box::pin(async move { $work }))
    };
}

/// Runs a unit of work in one transaction, and commits unless it fails.
macro_rules! keep {
    ($store:expr, |$conn:ident| $work:expr) => {
        $store
            .inner
            .keep(move |$conn| Box::pin(async move { $work }))
    };
}

/// Runs a unit of work in one transaction; its `Verdict` decides whether to commit.
macro_rules! transact {
    ($store:expr, |$conn:ident| $work:expr) => {
        $store
            .inner
            .write(move |$conn| Box::pin(async move { $work }))
    };
}
pub(crate) use {keep, read, transact};

/// Statements that are a whole unit of work. The store renders them, so that the rest depends only on their rows' type.
pub(crate) trait OnStore: Sized {
    /// Returns its rows.
    fn read_all<U, ST>(self, store: &Store) -> Answer<'_, Vec<U>>
    where
        Self: Rows<U, ST>,
        U: FromSqlRow<ST, Db> + Send + 'static,
    {
        let statement = store.statement(&self.as_query());
        read!(store, |conn| Ok(database::rows(statement, conn).await?))
    }

    /// Its first row with `LIMIT 1`, if there is one.
    fn read_first<U, ST>(self, store: &Store) -> Answer<'_, Option<U>>
    where
        Self: LimitDsl<Output: Rows<U, ST>>,
        U: FromSqlRow<ST, Db> + Send + 'static,
    {
        database::first_of(self.limit(1).read_all(store), Ok)
    }

    /// Whether it has a row.
    fn read_exists(self, store: &Store) -> Answer<'_, bool>
    where
        Self: LimitDsl<Output: AsQuery<Query: QueryFragment<Db> + QueryId>>,
    {
        let statement = store.statement(&self.limit(1).as_query());
        read!(store, |conn| database::has_rows(statement, conn).await)
    }

    /// Its only row.
    fn read_one<U, ST>(self, store: &Store) -> Answer<'_, U>
    where
        Self: Rows<U, ST>,
        U: FromSqlRow<ST, Db> + Send + 'static,
    {
        database::first_of(self.read_all(store), |row| Ok(row.ok_or(NotFound)?))
    }

    /// Commits it, and returns the number of changed rows.
    fn commit_counted(self, store: &Store) -> Answer<'_, usize>
    where
        Self: QueryFragment<Db> + QueryId,
    {
        let statement = store.statement(&self);
        keep!(store, |conn| Ok(database::executed(statement, conn).await?))
    }

    /// Commits it, however many rows it changes.
    fn commit(self, store: &Store) -> Answer<'_, ()>
    where
        Self: QueryFragment<Db> + QueryId,
    {
        database::counted(self.commit_counted(store), |_| ())
    }

    /// Commits it, and returns whether it changed a row.
    fn commit_change(self, store: &Store) -> Answer<'_, bool>
    where
        Self: QueryFragment<Db> + QueryId,
    {
        database::counted(self.commit_counted(store), |changed| changed > 0)
    }
}

impl<T> OnStore for T {}

#[boxed]
impl Store {
    /// Migrates the database to this version's schema and opens it.
    ///
    /// Returns [`StoreError::Internal`] if a migration fails, or if the master key is not the one that sealed this
    /// database's secrets.
    pub async fn open(config: &StoreConfig, master_key: MasterKey) -> Result<Self> {
        Self::migrate(config).await?;
        let clock_offset = Arc::new(AtomicI64::new(0));
        let inner = match config {
            StoreConfig::Sqlite { file, readers } => Inner::Sqlite(Sqlite::open(file, *readers)?),
            StoreConfig::Postgres {
                url,
                direct_url,
                connections,
                wait,
            } => {
                let direct_url = direct_url.as_ref().unwrap_or(url);
                Inner::Postgres(Postgres::open(url, direct_url, *connections, *wait)?)
            }
        };
        let queues = match &inner {
            Inner::Sqlite(_) => None,
            Inner::Postgres(db) => Some(Queues::of(db)),
        };
        let store = Self {
            inner,
            master_key,
            clock_offset,
            queues,
            actor: Actor::Operator,
        };
        store.check_master_key().await?;
        if let Some(sentence) = store.outgrown().await? {
            return Err(StoreError::Internal(sentence));
        }
        Ok(store)
    }

    /// Migrates the database to this version's schema. Returns the names of the applied migrations.
    pub async fn migrate(config: &StoreConfig) -> Result<Vec<String>> {
        match config {
            StoreConfig::Sqlite { file, .. } => {
                let file = file.clone();
                tokio::task::spawn_blocking(move || migrate::sqlite(&file))
                    .await
                    .map_err(|error| StoreError::Internal(error.to_string()))?
            }
            StoreConfig::Postgres {
                url, direct_url, ..
            } => migrate::postgres(url, direct_url.as_deref()).await,
        }
    }

    /// The same store, acting as `actor` in the audit log.
    #[must_use]
    pub fn acting(&self, actor: Actor) -> Self {
        Self {
            actor,
            ..self.clone()
        }
    }

    pub(crate) fn actor(&self) -> String {
        self.actor.to_string()
    }

    /// Who saves versions of agents; `None` unless the store acts for somebody.
    pub(crate) fn author(&self) -> Option<String> {
        (self.actor != Actor::Operator).then(|| self.actor())
    }

    /// Whether this is the embedded database, which one process owns.
    #[must_use]
    pub const fn is_embedded(&self) -> bool {
        matches!(self.inner, Inner::Sqlite(_))
    }

    /// Shifts the clock that decides on leases and keys on PostgreSQL, and on deliveries on both databases; for tests.
    pub fn turn_lease_clock(&self, micros: i64) {
        self.clock_offset.store(micros, Ordering::SeqCst);
    }

    fn statement<T: QueryFragment<Db> + QueryId>(&self, query: &T) -> QueryResult<Statement> {
        let db = match self.inner {
            Inner::Sqlite(_) => Db::Sqlite,
            Inner::Postgres(_) => Db::Postgres,
        };
        Statement::of(query, db)
    }

    pub(crate) fn offset(&self) -> i64 {
        self.clock_offset.load(Ordering::SeqCst)
    }

    /// Publishes a message to every process that listens on this database, including this one. At most 7,999 bytes.
    /// Does nothing on the embedded database, which has no other process.
    pub async fn tell(&self, message: String) -> Result<()> {
        match &self.inner {
            Inner::Sqlite(_) => Ok(()),
            Inner::Postgres(db) => db.tell(message).await,
        }
    }

    /// Subscribes to those messages with a session of its own. `None` on the embedded database.
    pub async fn listen(&self) -> Result<Option<Listener>> {
        match &self.inner {
            Inner::Sqlite(_) => Ok(None),
            Inner::Postgres(db) => Ok(Some(db.listen().await?)),
        }
    }

    /// The time by the clock that processes on this database share: PostgreSQL's. On the embedded database it is `now`.
    pub fn shared_time(&self, now: Timestamp) -> Answer<'_, Timestamp> {
        let offset = self.offset();
        read!(self, |conn| dialect!(conn, key_clock(now, offset)))
    }

    pub async fn durability(&self) -> Result<Durability> {
        // Queries the connection that writes.
        transact!(self, |conn| Ok(crate::Verdict::Rollback(dialect!(
            conn,
            durability()
        )?)))
        .await
    }

    /// Version, clock and settings of the database, queried on the connection that writes.
    pub fn about(&self) -> Answer<'_, AboutDatabase> {
        transact!(self, |conn| Ok(Verdict::Rollback(dialect!(conn, about())?)))
    }
}

/// The millisecond of a minted id; the Unix epoch for any other UUID.
pub(crate) fn minted_at(id: Uuid) -> Timestamp {
    let made = id.get_timestamp().map(|made| made.to_unix());
    let micros = made.and_then(|(seconds, nanos)| {
        let seconds = i64::try_from(seconds).ok()?.checked_mul(1_000_000)?;
        seconds.checked_add(i64::from(nanos / 1_000))
    });
    Timestamp::from_micros(micros.unwrap_or(0))
}

/// A new id with the time `at`.
pub fn mint<Id: From<Uuid>>(at: Timestamp) -> Id {
    let mut random = [0; 10];
    // The system's generator does not fail once it has been seeded. If it did, ids would still differ in time.
    let _ = SystemRandom::new().fill(&mut random);
    EventId::mint(at, random).uuid().into()
}
