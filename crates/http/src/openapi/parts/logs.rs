//! The request log.

use super::*;
use crate::endpoints::logs::{MAX_PATH_CHARS, METHODS};
use crate::wire::log::LogBody;

pub(super) fn operations() -> Vec<Operation> {
    let status = json!({"type": "string", "pattern": "^[1-5]([0-9]{2}|xx)$"});
    let mut filters = Vec::from(period());
    filters.extend([
        query(
            "status",
            "Only with this response status (`404`) or class (`4xx`).",
            status,
        ),
        query("method", "Only with this method.", words(&METHODS)),
        query("path", "Only with exactly this path.", text(MAX_PATH_CHARS)),
        query("key_id", "Only with this key.", uuid()),
        query("request_id", "Only this request.", uuid()),
    ]);
    operations! {
        GET "/v1/logs", listLogs, Access::Scope(Scope::LogsRead)
            => Answer::List("LogEntry"), "List the account's requests of the last 30 days, newest first"
            .filters(filters);
        GET "/v1/logs/stream", followLogs, Access::Scope(Scope::LogsRead)
            => Answer::Events, "Follow the account's requests as they are logged"
            .filters(vec![last_event_id()])
            .errors_too(&[Code::Conflict]);
    }
}

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let method = [("method", words(&METHODS))];
    vec![("LogEntry", with(LogBody::shape(), &method))]
}
