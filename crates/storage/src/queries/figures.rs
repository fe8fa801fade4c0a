//! How much work waits.

use crate::database::RunQueryDsl;
use diesel::sql_types::BigInt;

use super::batches::NEVER;
use crate::Result;
use crate::database::Conn;
use crate::sql::{Instant, V};

/// Counts up to [`crate::Backlog::COUNTED_AT_MOST`] entries of the index of open work that these conditions are written
/// for.
macro_rules! counted {
    ($table:literal, $conditions:literal) => {
        concat!(
            "SELECT count(*) AS count FROM (SELECT 1 AS one FROM ",
            $table,
            " WHERE ",
            $conditions,
            " LIMIT 100000) AS waiting"
        )
    };
}

/// In the order of the fields of [`crate::Backlog`], without the time and the batches.
const COUNTS: [&str; 6] = [
    counted!("conversations", "state = 'queued'"),
    counted!(
        "conversations",
        "state IN ('dialing', 'live', 'closing') AND voice"
    ),
    counted!(
        "deliveries",
        "state = 'pending' AND state IN ('pending', 'retrying')"
    ),
    counted!(
        "deliveries",
        "state = 'retrying' AND state IN ('pending', 'retrying')"
    ),
    counted!("knowledge_documents", "status = 'processing'"),
    counted!("knowledge_embedding_jobs", "tries < 3"),
];

#[derive(diesel::QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    count: i64,
}

/// Batches that are to be looked at again: of the others the next look is never.
const BATCHES: &str = counted!("batch_calls", "look_at < $1");

/// How many batches have somebody still to call.
pub(crate) async fn batches(conn: &mut Conn) -> Result<i64> {
    let query = diesel::sql_query(BATCHES).bind::<Instant, _>(V(NEVER));
    let row: Count = query.get_result(conn).await?;
    Ok(row.count)
}

/// The other counts of [`crate::Backlog`].
pub(crate) async fn waits(conn: &mut Conn) -> Result<[i64; 6]> {
    let mut waits = [0; 6];
    for (wait, query) in waits.iter_mut().zip(COUNTS) {
        let row: Count = diesel::sql_query(query).get_result(conn).await?;
        *wait = row.count;
    }
    Ok(waits)
}
