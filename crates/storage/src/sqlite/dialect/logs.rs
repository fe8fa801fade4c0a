//! The statements on the request log that differ, for SQLite.

use crate::prelude::*;

/// Inserts log entries that do not exist yet.
pub(crate) async fn insert_log_entries(conn: &mut Conn, entries: &[LogEntry]) -> Result<()> {
    for entry in entries {
        diesel::insert_into(logs::table)
            .values(row! {
                logs of entry: id, account_id, request_id, key_id, key_prefix, method, path, status,
                status_class = entry.status / 100, error, ip, duration_ms, created_at, resource,
                resource_id
            })
            .on_conflict_do_nothing()
            .execute(conn)
            .await?;
    }
    Ok(())
}
