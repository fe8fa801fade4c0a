//! PostgreSQL's version, clock and settings.

use crate::prelude::*;
use crate::sql::Instant;

const QUERY: &str = "SELECT split_part(current_setting('server_version'), ' ', 1) AS version, \
    current_setting('server_version_num')::int / 10000 AS major, \
    current_setting('max_connections')::int AS connections, \
    current_setting('fsync') AS fsync, \
    current_setting('full_page_writes') AS full_page_writes, \
    current_setting('synchronous_commit') AS synchronous_commit, \
    clock_timestamp() AS clock";

pub(crate) async fn about(conn: &mut Conn) -> Result<AboutDatabase> {
    let ((version, major, connections), settings, clock): (
        (String, i32, i32),
        (String, String, String),
        Timestamp,
    ) = sql::<((Text, Integer, Integer), (Text, Text, Text), Instant)>(QUERY)
        .get_result(conn)
        .await?;
    let names = ["fsync", "full_page_writes", "synchronous_commit"];
    let unsafe_settings = names
        .into_iter()
        .zip(<[String; 3]>::from(settings))
        .filter(|(_, value)| value != "on")
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    Ok(AboutDatabase {
        version: format!("PostgreSQL {version}"),
        major,
        clock: Some(clock),
        connections: Some(connections),
        unsafe_settings,
    })
}
