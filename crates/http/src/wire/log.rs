//! An entry of the request log.

use offhook_domain::{KeyId, LogEntryId, RequestId, Timestamp};
use offhook_services::store::LogEntry;
use serde::Serialize;

/// An entry.
#[derive(Serialize)]
pub(crate) struct LogBody<'a> {
    id: LogEntryId,
    request_id: RequestId,
    method: &'a str,
    path: &'a str,
    status: i32,
    error: Option<&'a str>,
    key_id: KeyId,
    key_prefix: &'a str,
    ip: &'a str,
    duration_ms: i32,
    created_at: Timestamp,
}

impl<'a> From<&'a LogEntry> for LogBody<'a> {
    fn from(entry: &'a LogEntry) -> Self {
        Self {
            id: entry.id,
            request_id: entry.request_id,
            method: &entry.method,
            path: &entry.path,
            status: entry.status,
            error: entry.error.as_deref(),
            key_id: entry.key_id,
            key_prefix: &entry.key_prefix,
            ip: &entry.ip,
            duration_ms: entry.duration_ms,
            created_at: entry.created_at,
        }
    }
}
