//! The statements on the request log that differ, for PostgreSQL.

use super::column;
use crate::prelude::*;

/// Inserts log entries that do not exist yet.
pub(crate) async fn insert_log_entries(conn: &mut Conn, entries: &[LogEntry]) -> Result<()> {
    diesel::sql_query(
        "INSERT INTO request_logs (id, account_id, request_id, key_id, key_prefix, method, path, status, \
           status_class, error, ip, duration_ms, created_at, resource, resource_id) \
         SELECT r.id, r.account_id, r.request_id, r.key_id, r.key_prefix, r.method, r.path, r.status, \
           r.status / 100, r.error, r.ip, r.duration_ms, r.created_at, r.resource, r.resource_id \
         FROM UNNEST($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) \
           AS r(id, account_id, request_id, key_id, key_prefix, method, path, status, error, ip, duration_ms, \
           created_at, resource, resource_id) \
         ON CONFLICT DO NOTHING",
    )
    .bind::<Array<sql::Uuid>, _>(column(entries, |e| e.id))
    .bind::<Array<sql::Uuid>, _>(column(entries, |e| e.account_id))
    .bind::<Array<sql::Uuid>, _>(column(entries, |e| e.request_id))
    .bind::<Array<sql::Uuid>, _>(column(entries, |e| e.key_id))
    .bind::<Array<Text>, _>(column(entries, |e| e.key_prefix.clone()))
    .bind::<Array<Text>, _>(column(entries, |e| e.method.clone()))
    .bind::<Array<Text>, _>(column(entries, |e| e.path.clone()))
    .bind::<Array<Integer>, _>(column(entries, |e| e.status))
    .bind::<Array<Nullable<Text>>, _>(column(entries, |e| e.error.clone()))
    .bind::<Array<Text>, _>(column(entries, |e| e.ip.clone()))
    .bind::<Array<Integer>, _>(column(entries, |e| e.duration_ms))
    .bind::<Array<sql::Instant>, _>(column(entries, |e| e.created_at))
    .bind::<Array<Nullable<Text>>, _>(column(entries, |e| e.resource.map(ResourceKind::as_str)))
    .bind::<Array<Nullable<sql::Uuid>>, _>(column(entries, |e| e.resource_id))
    .run(conn)
.await
}
