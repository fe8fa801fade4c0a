//! The embedded database: one writer thread and a few readers, each with its own connection.
//!
//! Work runs to its end on these threads, whatever happens to the calling task, so a client that resets its connection
//! cancels nothing. Writes that wait together share one transaction and so one fsync. Each runs in a savepoint, and all
//! get their results after the COMMIT. Dropping the last handle waits for the threads to end, so that a clean stop
//! leaves one file and no write-ahead log.

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use diesel::connection::SimpleConnection as _;
use diesel::{Connection as _, SqliteConnection};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use crate::database::Conn;
use crate::units::{self, AnyAnswer, Work};
use crate::{Result, StoreError, Verdict};

pub(crate) mod dialect;

/// The most writes that share one commit.
const BATCH: usize = 64;

/// After this many writes, the log is copied into the file as soon as no write is waiting, so that no commit has to do
/// it. Otherwise SQLite does it in the commit that finds [`LOG_PAGES`] there.
const WORTH_A_CHECKPOINT: usize = 64;

/// At this size, 32 MiB, the log is copied even if writes wait.
const LOG_PAGES: u32 = 8_192;

/// The pause without writes that counts as idle.
const IDLE: Duration = Duration::from_millis(20);

#[derive(Clone)]
pub(crate) struct Sqlite(Arc<Threads>);

/// The threads and their queues. Dropping it ends them and waits for that.
struct Threads {
    writer: Option<Sender<Job>>,
    readers: Option<Sender<Job>>,
    writing: Option<JoinHandle<()>>,
    reading: Vec<JoinHandle<()>>,
}

impl Drop for Threads {
    fn drop(&mut self) {
        // The writer ends last: it removes the log.
        self.readers = None;
        self.reading.drain(..).for_each(join);
        self.writer = None;
        self.writing.take().into_iter().for_each(join);
    }
}

fn join(thread: JoinHandle<()>) {
    // A thread that drops the last handle itself ends on its own.
    if thread.thread().id() != thread::current().id() {
        let _ = thread.join();
    }
}

/// A unit of work and the channel for its result. The work is done even if its caller is gone.
struct Job {
    work: Work,
    asker: Asker,
}

type Asker = oneshot::Sender<Result<AnyAnswer>>;

/// Does the work, and catches a panic.
fn attempt(work: Work, conn: &mut Conn) -> thread::Result<Result<Verdict<AnyAnswer>>> {
    std::panic::catch_unwind(AssertUnwindSafe(|| at_once(work(conn))))
}

impl Sqlite {
    /// Opens the database file, creates it if necessary, and starts its threads.
    pub(crate) fn open(file: &Path, readers: usize) -> Result<Self> {
        let (writer, write_jobs) = crossbeam_channel::unbounded();
        let (read_sender, read_jobs) = crossbeam_channel::unbounded();
        let file = file.to_owned();
        let conn = connect(&file, Role::Writer)?;
        let writing = spawn("store-writer", {
            let file = file.clone();
            move || write_loop(&file, conn, &write_jobs)
        })?;
        let mut reading = Vec::with_capacity(readers.max(1));
        for number in 0..readers.max(1) {
            let conn = connect(&file, Role::Reader)?;
            let (file, jobs) = (file.clone(), read_jobs.clone());
            reading.push(spawn(&format!("store-reader-{number}"), move || {
                read_loop(&file, conn, &jobs)
            })?);
        }
        Ok(Self(Arc::new(Threads {
            writer: Some(writer),
            readers: Some(read_sender),
            writing: Some(writing),
            reading,
        })))
    }

    pub(crate) async fn read(&self, work: Work) -> Result<AnyAnswer> {
        carry_out("read", self.0.readers.as_ref(), work).await
    }

    pub(crate) async fn write(&self, work: Work) -> Result<AnyAnswer> {
        carry_out("write", self.0.writer.as_ref(), work).await
    }

    /// How many writes wait for the writer, and how many reads for a reader.
    pub(crate) fn waiting(&self) -> (usize, usize) {
        let writes = self.0.writer.as_ref().map_or(0, Sender::len);
        let reads = self.0.readers.as_ref().map_or(0, Sender::len);
        (writes, reads)
    }
}

async fn carry_out(
    kind: &'static str,
    threads: Option<&Sender<Job>>,
    work: Work,
) -> Result<AnyAnswer> {
    let began = Instant::now();
    let (asker, answer) = oneshot::channel();
    let threads = threads.ok_or_else(closed)?;
    threads.send(Job { work, asker }).map_err(|_| closed())?;
    units::counted(
        kind,
        began,
        answer.await.unwrap_or_else(|_| Err(panicked())),
    )
}

/// A unit of work on SQLite never waits for anything but its thread.
fn at_once<T>(work: BoxFuture<'_, Result<T>>) -> Result<T> {
    work.now_or_never().unwrap_or_else(|| {
        Err(StoreError::Internal(
            "a unit of work waited on SQLite".into(),
        ))
    })
}

fn closed() -> StoreError {
    StoreError::Unavailable("the embedded database has been closed".into())
}

fn panicked() -> StoreError {
    StoreError::Internal("a unit of work panicked".into())
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(run)
        .map_err(|error| StoreError::Internal(format!("no thread for the database: {error}")))
}

#[derive(Clone, Copy)]
enum Role {
    Writer,
    Reader,
}

fn connect(file: &Path, role: Role) -> Result<Conn> {
    let path = file.to_str().ok_or_else(|| {
        StoreError::Unavailable("the data directory's path is not valid UTF-8".into())
    })?;
    let mut conn = SqliteConnection::establish(path)
        .map_err(|error| StoreError::Unavailable(format!("{path}: {error}")))?;
    // FULL: an acknowledged commit survives power loss. MEMORY: otherwise each batch writes its savepoint journal to a
    // separate file, which is a tenth of the time of an accepted call.
    let pragmas = match role {
        Role::Writer => {
            "PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
             PRAGMA foreign_keys = ON; PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY;"
        }
        Role::Reader => {
            "PRAGMA busy_timeout = 5000; PRAGMA query_only = ON; PRAGMA cache_size = -4096;"
        }
    };
    conn.batch_execute(pragmas)?;
    if matches!(role, Role::Writer) {
        conn.batch_execute(&format!("PRAGMA wal_autocheckpoint = {LOG_PAGES}"))?;
    }
    Ok(Conn::Sqlite(Box::new(conn)))
}

fn read_loop(file: &Path, mut conn: Conn, jobs: &Receiver<Job>) {
    for Job { work, asker } in jobs {
        match attempt(work, &mut conn) {
            Ok(done) => {
                let _ = asker.send(done.map(Verdict::into_answer));
            }
            Err(_) => reopen(file, Role::Reader, &mut conn),
        }
    }
}

fn write_loop(file: &Path, mut conn: Conn, jobs: &Receiver<Job>) {
    let mut unchecked = 0;
    while let Some(next) = next_job(jobs, unchecked >= WORTH_A_CHECKPOINT) {
        let Some(first) = next else {
            unchecked = 0;
            checkpoint(&mut conn, "PRAGMA wal_checkpoint(PASSIVE)");
            continue;
        };
        let mut batch = Vec::with_capacity(1);
        let work = AssertUnwindSafe(|| run_batch(&mut conn, first, jobs, &mut batch));
        let outcome = std::panic::catch_unwind(work).unwrap_or_else(|_| Err(panicked()));
        if outcome.is_err() {
            // An open transaction must not leak into the next batch.
            reopen(file, Role::Writer, &mut conn);
        }
        unchecked += batch.len();
        let mut outcome = outcome.map_err(Some);
        for (asker, result) in batch {
            let _ = asker.send(match &mut outcome {
                Ok(()) => result,
                Err(error) => Err(error
                    .take()
                    .unwrap_or_else(|| StoreError::Unavailable("the shared commit failed".into()))),
            });
        }
    }
    checkpoint(&mut conn, "PRAGMA wal_checkpoint(TRUNCATE)");
}

/// The next write; `Some(None)` if none waits and the time can be used; `None` once no more will come.
fn next_job(jobs: &Receiver<Job>, has_use_for_time: bool) -> Option<Option<Job>> {
    if !has_use_for_time {
        return jobs.recv().ok().map(Some);
    }
    match jobs.recv_timeout(IDLE) {
        Ok(job) => Some(Some(job)),
        Err(RecvTimeoutError::Timeout) => Some(None),
        Err(RecvTimeoutError::Disconnected) => None,
    }
}

/// Copies the log into the file. What cannot be copied now is copied later.
fn checkpoint(conn: &mut Conn, how: &'static str) {
    if let Err(error) = execute(conn, how) {
        tracing::warn!(%error, "the embedded database's log could not be copied");
    }
}

/// Runs `first` and the writes queued behind it in one transaction. Their callers are in `batch`, whatever happens.
fn run_batch(
    conn: &mut Conn,
    first: Job,
    jobs: &Receiver<Job>,
    batch: &mut Vec<(Asker, Result<AnyAnswer>)>,
) -> Result<()> {
    let (mut next, mut wrote) = (Some(first), false);
    while let Some(Job { work, asker }) = next {
        batch.push((asker, Err(panicked())));
        if batch.len() == 1 {
            execute(conn, "BEGIN IMMEDIATE")?;
        }
        execute(conn, "SAVEPOINT job")?;
        // A panic affects only this unit: the others of the batch continue.
        let done = attempt(work, conn).unwrap_or_else(|_| Err(panicked()));
        if matches!(done, Ok(Verdict::Commit(_))) {
            wrote = true;
        } else {
            execute(conn, "ROLLBACK TO job")?;
        }
        execute(conn, "RELEASE job")?;
        if let Some((_, result)) = batch.last_mut() {
            *result = done.map(Verdict::into_answer);
        }
        next = match batch.len() < BATCH {
            true => jobs.try_recv().ok(),
            false => None,
        };
    }
    if wrote {
        execute(conn, "COMMIT").map_err(|error| match error {
            StoreError::Unavailable(message) if message.contains("I/O") => {
                StoreError::UnknownCommit(message)
            }
            other => other,
        })
    } else {
        execute(conn, "ROLLBACK")
    }
}

fn execute(conn: &mut Conn, sql: &'static str) -> Result<()> {
    at_once(Box::pin(async move { Ok(conn.batch_execute(sql).await?) }))
}

fn reopen(file: &Path, role: Role, conn: &mut Conn) {
    match connect(file, role) {
        Ok(fresh) => *conn = fresh,
        Err(error) => tracing::error!(%error, "the embedded database cannot be reopened"),
    }
}
