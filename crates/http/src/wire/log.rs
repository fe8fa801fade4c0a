//! An entry of the request log.

use offhook_services::store::LogEntry;

use super::shown;

shown! {
    LogBody(entry: LogEntry) {
        id,
        request_id,
        method,
        path,
        status,
        error,
        key_id,
        key_prefix,
        ip,
        duration_ms,
        created_at,
    }
}
