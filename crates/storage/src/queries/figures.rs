//! Counts of waiting work, for the process's metrics.

use super::{batches::NEVER, dispatch};
use crate::prelude::*;
use crate::sql::Instant;
use crate::store::Inner;
use diesel::query_builder::{Query, QueryFragment, QueryId, SqlQuery};
use diesel::sql_types::Untyped;
use offhook_metrics::metrics;

// The conditions of the partial indexes of open work, written exactly as in those.
const LIVE: &str = "state IN ('dialing', 'live', 'closing') AND voice";
const PENDING: &str = "state = 'pending' AND state IN ('pending', 'retrying')";
const RETRYING: &str = "state = 'retrying' AND state IN ('pending', 'retrying')";

/// Counts up to [`Backlog::COUNTED_AT_MOST`] rows.
fn some(table: &str, conditions: &str) -> SqlQuery {
    let most = Backlog::COUNTED_AT_MOST;
    diesel::sql_query(format!(
        "SELECT count(*) AS count FROM (SELECT 1 AS one FROM {table} WHERE {conditions} LIMIT {most}) AS waiting"
    ))
}

async fn count(
    conn: &mut Conn,
    query: impl Query<SqlType = Untyped> + QueryFragment<Db> + QueryId,
) -> Result<i64> {
    #[derive(diesel::QueryableByName)]
    struct Count {
        #[diesel(sql_type = BigInt)]
        count: i64,
    }
    let row: Count = query.get_result(conn).await?;
    Ok(row.count)
}

impl Store {
    /// How much work of the whole deployment waits. On the embedded database `steady` decides what is due. This costs a
    /// few scans of indexes of open work: run it every few seconds, not per request.
    pub fn backlog(&self, steady: Timestamp) -> Answer<'_, Backlog> {
        let offset = self.offset();
        read!(self, |conn| {
            let clocks = dialect!(conn, clocks(steady, offset))?;
            let oldest_due = dispatch::oldest_due(conn, clocks).await?;
            // A batch that needs no further round has its next one at NEVER.
            let batches = some("batch_calls", "look_at < $1").bind::<Instant, _>(NEVER);
            Ok(Backlog {
                oldest_due: oldest_due.unwrap_or(Duration::ZERO),
                batches_waiting: count(conn, batches).await?,
                calls_queued: count(conn, some("conversations", "state = 'queued'")).await?,
                calls_live: count(conn, some("conversations", LIVE)).await?,
                deliveries_pending: count(conn, some("deliveries", PENDING)).await?,
                deliveries_retrying: count(conn, some("deliveries", RETRYING)).await?,
                documents_waiting: count(
                    conn,
                    some("knowledge_documents", "status = 'processing'"),
                )
                .await?,
                documents_to_embed: count(conn, some("knowledge_embedding_jobs", "tries < 3"))
                    .await?,
            })
        })
    }

    /// Records in the process's metrics how busy the database connections or threads are.
    pub fn note_load(&self) {
        let database = &metrics().database;
        match &self.inner {
            Inner::Sqlite(db) => {
                let (writes, reads) = db.waiting();
                database.writer_queue(writes);
                database.waiting(reads);
            }
            Inner::Postgres(db) => {
                let (in_use, idle, waiting) = db.connections();
                database.connections(in_use, idle);
                database.waiting(waiting);
            }
        }
    }
}
