//! What PostgreSQL says of itself.

use crate::database::RunQueryDsl;
use diesel::prelude::*;
use diesel::sql_types::{Integer, Text};
use offhook_domain::Timestamp;

use crate::database::Conn;
use crate::{AboutDatabase, Result};

const QUERY: &str = "SELECT split_part(current_setting('server_version'), ' ', 1) AS version, \
    current_setting('server_version_num')::int / 10000 AS major, \
    current_setting('max_connections')::int AS connections, \
    current_setting('fsync') AS fsync, \
    current_setting('full_page_writes') AS full_page_writes, \
    current_setting('synchronous_commit') AS synchronous_commit, \
    clock_timestamp() AS clock";

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Text)]
    version: String,
    #[diesel(sql_type = Integer)]
    major: i32,
    #[diesel(sql_type = Integer)]
    connections: i32,
    #[diesel(sql_type = Text)]
    fsync: String,
    #[diesel(sql_type = Text)]
    full_page_writes: String,
    #[diesel(sql_type = Text)]
    synchronous_commit: String,
    #[diesel(sql_type = crate::sql::Instant)]
    clock: Timestamp,
}

pub(crate) async fn about(conn: &mut Conn) -> Result<AboutDatabase> {
    let row: Row = diesel::sql_query(QUERY).get_result(conn).await?;
    let settings = [
        ("fsync", row.fsync),
        ("full_page_writes", row.full_page_writes),
        ("synchronous_commit", row.synchronous_commit),
    ];
    let unsafe_settings = settings
        .into_iter()
        .filter(|(_, value)| value != "on")
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    Ok(AboutDatabase {
        version: format!("PostgreSQL {}", row.version),
        major: row.major,
        clock: Some(row.clock),
        connections: Some(row.connections),
        unsafe_settings,
    })
}
