//! The statements on the request log that differ, for SQLite.

use crate::prelude::*;

/// Inserts log entries that do not exist yet.
pub(crate) async fn insert_log_entries(conn: &mut Conn, entries: &[LogEntry]) -> Result<()> {
    for entry in entries {
        diesel::insert_into(logs::table)
            .values((
                logs::id.eq(V(entry.id)),
                logs::account_id.eq(V(entry.account_id)),
                logs::request_id.eq(V(entry.request_id)),
                logs::key_id.eq(V(entry.key_id)),
                logs::key_prefix.eq(&entry.key_prefix),
                logs::method.eq(&entry.method),
                logs::path.eq(&entry.path),
                logs::status.eq(entry.status),
                logs::status_class.eq(entry.status / 100),
                logs::error.eq(&entry.error),
                logs::ip.eq(&entry.ip),
                logs::duration_ms.eq(entry.duration_ms),
                logs::created_at.eq(V(entry.created_at)),
                logs::resource.eq(entry.resource.map(V)),
                logs::resource_id.eq(entry.resource_id.map(V)),
            ))
            .on_conflict_do_nothing()
            .execute(conn)
            .await?;
    }
    Ok(())
}
