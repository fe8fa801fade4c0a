//! The transaction on SQLite: one thread writes, and waiting jobs share a commit, as in the service.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};

use anyhow::Context as _;
use diesel::connection::SimpleConnection as _;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Binary, Text};
use diesel::sqlite::Sqlite;
use diesel::{Connection as _, QueryResult, RunQueryDsl, SqliteConnection};
use tokio::sync::oneshot;

use super::Row;

const PRAGMAS: &str = "PRAGMA busy_timeout = 5000; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; \
     PRAGMA cache_size = -8192; PRAGMA wal_autocheckpoint = 8192";

type Job = (Row, oneshot::Sender<()>);

/// The channel to the writer thread.
pub(crate) struct Writer(Sender<Job>);

impl Writer {
    pub(super) fn open(file: &Path) -> anyhow::Result<Self> {
        let mut connection = SqliteConnection::establish(&file.to_string_lossy())?;
        connection.batch_execute(PRAGMAS)?;
        let (jobs, waiting) = channel();
        std::thread::spawn(move || write(&mut connection, &waiting));
        Ok(Self(jobs))
    }

    pub(super) async fn write(&self, row: Row) -> anyhow::Result<()> {
        let (done, written) = oneshot::channel();
        self.0.send((row, done))?;
        written.await.context("the bare transaction failed")
    }
}

/// Ends with the first error: no request gets a response after that.
fn write(connection: &mut SqliteConnection, jobs: &Receiver<Job>) -> QueryResult<()> {
    while let Ok(first) = jobs.recv() {
        connection.batch_execute("BEGIN IMMEDIATE")?;
        let mut batch = vec![first];
        let mut next = 0;
        while let Some((row, _)) = batch.get(next) {
            Conversation(row).execute(connection)?;
            Event(row).execute(connection)?;
            next += 1;
            if next < 64 {
                batch.extend(jobs.try_recv());
            }
        }
        connection.batch_execute("COMMIT")?;
        for (_, done) in batch {
            let _ = done.send(());
        }
    }
    Ok(())
}

struct Conversation<'a>(&'a Row);

impl QueryId for Conversation<'_> {
    type QueryId = Conversation<'static>;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl RunQueryDsl<SqliteConnection> for Conversation<'_> {}

impl QueryFragment<Sqlite> for Conversation<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql(
            "INSERT INTO conversations (agent_version, runtime, channel, voice, state, status, from_number, \
               price_millicredits, has_audio, messages_count, last_seq, hangup_requested, id, account_id, agent_id, \
               key_id, agent_ref, to_number, metadata, customer_phone, started_at) \
             VALUES (1, 'engine', 'phone', 1, 'queued', 'unknown', '+15005550100', 0, 0, 0, 0, 0",
        );
        let Row { ids, texts, at, .. } = self.0;
        for id in ids {
            out.push_sql(", ");
            out.push_bind_param::<Binary, [u8]>(id.as_bytes().as_slice())?;
        }
        for text in texts.iter().chain(texts.get(1)) {
            out.push_sql(", ");
            out.push_bind_param::<Text, String>(text)?;
        }
        out.push_sql(", ");
        out.push_bind_param::<BigInt, i64>(at)?;
        out.push_sql(")");
        Ok(())
    }
}

struct Event<'a>(&'a Row);

impl QueryId for Event<'_> {
    type QueryId = Event<'static>;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl RunQueryDsl<SqliteConnection> for Event<'_> {}

impl QueryFragment<Sqlite> for Event<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        let [id, account, ..] = &self.0.ids;
        out.push_sql(
            "INSERT INTO events (type, id, account_id, conversation_id, body, created_at) ",
        );
        out.push_sql("VALUES ('call.initiated'");
        for id in [&self.0.event, account, id] {
            out.push_sql(", ");
            out.push_bind_param::<Binary, [u8]>(id.as_bytes().as_slice())?;
        }
        out.push_sql(", ");
        out.push_bind_param::<Binary, Vec<u8>>(&self.0.body)?;
        out.push_sql(", ");
        out.push_bind_param::<BigInt, i64>(&self.0.at)?;
        out.push_sql(")");
        Ok(())
    }
}
