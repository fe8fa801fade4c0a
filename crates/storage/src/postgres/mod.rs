//! PostgreSQL: a pool of pure-Rust connections. Work is spawned on the runtime that opened them: a dropped task cancels
//! nothing, and a transaction, once begun, reaches its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use diesel_async::pooled_connection::deadpool::{Object, Pool, PoolError};
use diesel_async::pooled_connection::{
    AsyncDieselConnectionManager, ManagerConfig, RecyclingMethod,
};
use diesel_async::{AnsiTransactionManager, AsyncPgConnection, TransactionManager};
use futures_util::FutureExt;
use offhook_metrics::metrics;
use tokio::runtime::Handle;

use crate::connect::Door;
use crate::database::{Conn, RunQueryDsl as _};
use crate::error::READ_ONLY;
use crate::units::{self, AnyAnswer, Work};
use crate::{Result, StoreError, Verdict};
use health_probe::HealthProbe;

pub use listener::Listener;
pub(crate) use pooler::lasting_session;
pub(crate) use queues::Queues;
pub(crate) use steps::CallWriter;

pub(crate) mod dialect;
mod gather;
mod health_probe;
mod listener;
mod pooler;
mod queues;
pub(crate) mod sharing;
mod steps;

/// The error for a server that does not answer.
const SILENT: &str = "the server does not answer";

#[derive(Clone)]
pub(crate) struct Postgres {
    pool: Pool<AsyncPgConnection>,
    listening: Arc<Door>,
    probe: HealthProbe,
    runtime: Handle,
}

impl Postgres {
    /// Listens to other processes at `direct_url`.
    pub(crate) fn open(
        url: &str,
        direct_url: &str,
        connections: usize,
        wait: Duration,
    ) -> Result<Self> {
        let door = Door::of(url)?;
        let mut manager = ManagerConfig::default();
        manager.recycling_method = RecyclingMethod::Fast;
        let probed = door.clone();
        manager.custom_setup = Box::new(move |_| {
            let door = door.clone();
            async move {
                door.connect()
                    .await
                    .map_err(|none| diesel::ConnectionError::BadConnection(none.why))
            }
            .boxed()
        });
        let manager = AsyncDieselConnectionManager::new_with_config(url, manager);
        let pool = Pool::builder(manager)
            .max_size(connections)
            .wait_timeout(Some(wait))
            .create_timeout(Some(wait))
            .recycle_timeout(Some(wait))
            .runtime(deadpool::Runtime::Tokio1)
            .build()
            .map_err(|error| StoreError::Internal(error.to_string()))?;
        let runtime = Handle::current();
        Ok(Self {
            pool,
            probe: HealthProbe::of(probed, wait, &runtime),
            listening: Arc::new(Door::of(direct_url)?),
            runtime,
        })
    }

    pub(crate) async fn read(&self, work: Work) -> Result<AnyAnswer> {
        let began = Instant::now();
        let pool = self.pool.clone();
        let reading = self.spawn(async move {
            let mut conn = checkout(&pool).await?;
            Ok(work(&mut conn).await?.into_answer())
        });
        let done = reading.await.unwrap_or_else(|| Err(silent()));
        units::counted("read", began, done)
    }

    /// Runs work in a transaction.
    pub(crate) async fn write(&self, work: Work) -> Result<AnyAnswer> {
        self.write_by(work, false).await
    }

    /// Runs work of one statement, which is a transaction of its own.
    pub(crate) async fn write_at_once(&self, work: Work) -> Result<AnyAnswer> {
        self.write_by(work, true).await
    }

    async fn write_by(&self, work: Work, is_one_statement: bool) -> Result<AnyAnswer> {
        let began = Instant::now();
        let pool = self.pool.clone();
        let begun = Arc::new(AtomicBool::new(false));
        let begins = begun.clone();
        let writing = self.spawn(async move {
            let mut conn = checkout(&pool).await?;
            begins.store(true, Ordering::SeqCst);
            let done = match is_one_statement {
                true => work(&mut conn).await.map(Verdict::into_answer),
                false => transaction(&mut conn, work).await,
            };
            leave_if_read_only(conn, &done);
            done
        });
        let done = writing.await;
        let begun = AtomicBool::load(&begun, Ordering::SeqCst);
        let done = match done {
            // If the connection is lost meanwhile, the statement may have been executed.
            Some(Err(StoreError::Unavailable(reason))) if is_one_statement && begun => {
                Err(StoreError::UnknownCommit(reason))
            }
            Some(done) => done,
            // Work that has begun continues without its caller, and may commit.
            None if begun => Err(StoreError::UnknownCommit(SILENT.to_owned())),
            None => Err(silent()),
        };
        units::counted("write", began, done)
    }

    /// Connections in use, idle ones, and units of work that wait for one.
    pub(crate) fn connections(&self) -> (usize, usize, usize) {
        let status = self.pool.status();
        let idle = status.available;
        (status.size.saturating_sub(idle), idle, status.waiting)
    }

    /// Notifies every process that listens. This is a statement outside every transaction: a transaction that notifies
    /// holds a server-wide lock through its commit.
    pub(crate) async fn tell(&self, message: String) -> Result<()> {
        let notify = units::certain(move |conn| {
            Box::pin(async move {
                diesel::sql_query("SELECT pg_notify($1, $2)")
                    .bind::<diesel::sql_types::Text, _>(listener::CHANNEL)
                    .bind::<diesel::sql_types::Text, _>(message)
                    .run(conn)
                    .await
            })
        });
        units::answered(self.read(notify).await)
    }

    pub(crate) async fn listen(&self) -> Result<Listener> {
        Listener::open(&self.listening).await
    }

    /// `None` if the server stopped answering before the work was done; the work continues all the same.
    async fn spawn(
        &self,
        work: impl Future<Output = Result<AnyAnswer>> + Send + 'static,
    ) -> Option<Result<AnyAnswer>> {
        if self.probe.is_silent() {
            return None;
        }
        let done = self.runtime.spawn(work);
        let done = tokio::select! {
            biased;
            done = done => done.unwrap_or_else(|_| {
                Err(StoreError::Internal("a unit of work panicked".into()))
            }),
            () = self.probe.stops() => return None,
        };
        if done.is_ok() {
            self.probe.record_activity();
        }
        Some(done)
    }
}

fn silent() -> StoreError {
    StoreError::Unavailable(SILENT.to_owned())
}

async fn transaction(conn: &mut Conn, work: Work) -> Result<AnyAnswer> {
    AnsiTransactionManager::begin_transaction(session(conn)?).await?;
    match work(conn).await {
        Ok(Verdict::Commit(value)) => {
            AnsiTransactionManager::commit_transaction(session(conn)?)
                .await
                .map_err(|error| StoreError::UnknownCommit(error.to_string()))?;
            Ok(value)
        }
        Ok(Verdict::Rollback(value)) => {
            AnsiTransactionManager::rollback_transaction(session(conn)?).await?;
            Ok(value)
        }
        Err(error) => {
            // Return the cause. A connection that cannot roll back does not return to the pool.
            let _ = AnsiTransactionManager::rollback_transaction(session(conn)?).await;
            Err(error)
        }
    }
}

fn session(conn: &mut Conn) -> Result<&mut AsyncPgConnection> {
    match conn {
        Conn::Postgres(session) => Ok(session),
        Conn::Sqlite(_) => Err(StoreError::Internal("not a session of PostgreSQL".into())),
    }
}

/// A server that has become a standby keeps its sessions. This one leaves the pool, and the next one finds the new
/// primary.
fn leave_if_read_only(conn: Conn, done: &Result<AnyAnswer>) {
    if let (Conn::Postgres(session), Err(StoreError::Unavailable(why))) = (conn, done)
        && why == READ_ONLY
    {
        drop(Object::take(*session));
    }
}

async fn checkout(pool: &Pool<AsyncPgConnection>) -> Result<Conn> {
    let asked = Instant::now();
    let got = pool.get().await;
    metrics().database.waited(asked.elapsed());
    got.map(|session| Conn::Postgres(Box::new(session)))
        .map_err(|error| match error {
            PoolError::Timeout(_) => StoreError::Unavailable("no connection in time".into()),
            other => StoreError::Unavailable(other.to_string()),
        })
}
