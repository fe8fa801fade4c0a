//! The request log.

use crate::prelude::*;

/// A request of an account and its response.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = request_logs)]
pub struct LogEntry {
    pub id: LogEntryId,
    /// The account that the request came from.
    pub account_id: AccountId,
    /// The request's `X-Request-Id`.
    pub request_id: RequestId,
    /// The key that it came with.
    pub key_id: KeyId,
    /// That key's prefix.
    pub key_prefix: String,
    /// `GET`, `POST`, `PATCH` or `DELETE`.
    pub method: String,
    /// The path, without the query string.
    pub path: String,
    /// The status of the response.
    pub status: i32,
    /// The code of an error response.
    pub error: Option<String>,
    /// The IP address that the rate limits count it by.
    pub ip: String,
    /// Milliseconds from the request's head to the response's.
    pub duration_ms: i32,
    /// When the request came.
    pub created_at: Timestamp,
    /// The kind of the resource that it created or concerned.
    pub resource: Option<ResourceKind>,
    pub resource_id: Option<ResourceId>,
}

impl LogEntry {
    /// The resource that it created or concerned.
    #[must_use]
    pub fn about(&self) -> Option<Resource> {
        let (kind, id) = self.resource.zip(self.resource_id)?;
        Some(Resource { kind, id })
    }
}

/// What a refused request was told, beside its entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFault {
    pub account_id: AccountId,
    /// The entry's time and id.
    pub created_at: Timestamp,
    pub id: LogEntryId,
    /// The message of the response, without anything that the client wrote.
    pub message: String,
    /// The shape of the request's body: types and lengths.
    pub body: Option<String>,
}

/// Requests of one hour whose responses had one class of status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, QueryableByName)]
pub struct LogCount {
    /// Counted from 1970-01-01.
    #[diesel(sql_type = BigInt)]
    pub hour: i64,
    /// The first digit of the status.
    #[diesel(sql_type = diesel::sql_types::Integer)]
    pub status_class: i32,
    #[diesel(sql_type = BigInt)]
    pub requests: i64,
}

/// Which responses a log shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusFilter {
    /// One status.
    Code(i32),
    /// All statuses that begin with this digit.
    Class(i32),
}

/// Which requests a log shows.
#[derive(Debug, Clone, Default)]
pub struct LogFilter {
    /// Inclusive.
    pub since: Option<Timestamp>,
    /// Inclusive.
    pub until: Option<Timestamp>,
    pub status: Option<StatusFilter>,
    pub method: Option<String>,
    /// Exactly this path.
    pub path: Option<String>,
    /// Only with this key.
    pub key: Option<KeyId>,
    /// Only this request.
    pub request: Option<RequestId>,
}
