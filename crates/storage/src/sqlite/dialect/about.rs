//! What the embedded database says of itself.

use crate::database::RunQueryDsl;
use diesel::prelude::*;
use diesel::sql_types::Text;

use crate::database::Conn;
use crate::{AboutDatabase, Result};

#[derive(QueryableByName)]
struct Version {
    #[diesel(sql_type = Text)]
    version: String,
}

#[derive(QueryableByName)]
struct Journal {
    #[diesel(sql_type = Text)]
    journal_mode: String,
}

pub(crate) async fn about(conn: &mut Conn) -> Result<AboutDatabase> {
    let Version { version } = diesel::sql_query("SELECT sqlite_version() AS version")
        .get_result(conn)
        .await?;
    let Journal { journal_mode } = diesel::sql_query("PRAGMA journal_mode")
        .get_result(conn)
        .await?;
    let synchronous = super::durability(conn).await?;
    let settings = [
        ("journal_mode", journal_mode, "wal"),
        ("synchronous", synchronous, "FULL"),
    ];
    let unsafe_settings = settings
        .into_iter()
        .filter(|(_, value, good)| value != good)
        .map(|(name, value, _)| (name.to_owned(), value))
        .collect();
    let major = version
        .split('.')
        .next()
        .and_then(|major| major.parse().ok());
    Ok(AboutDatabase {
        version: format!("SQLite {version}"),
        major: major.unwrap_or(0),
        clock: None,
        connections: None,
        unsafe_settings,
    })
}
