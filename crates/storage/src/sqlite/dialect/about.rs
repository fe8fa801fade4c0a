//! The embedded database's version and settings.

use crate::prelude::*;

pub(crate) async fn about(conn: &mut Conn) -> Result<AboutDatabase> {
    let version: String = sql::<Text>("SELECT sqlite_version()")
        .get_result(conn)
        .await?;
    let journal_mode: String = sql::<Text>("PRAGMA journal_mode").get_result(conn).await?;
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
