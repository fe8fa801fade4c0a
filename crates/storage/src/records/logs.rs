//! The request log.

use diesel::prelude::*;
use offhook_domain::{
    AccountId, KeyId, LogEntryId, RequestId, Resource, ResourceId, ResourceKind, Timestamp,
};

use crate::schema;

/// A request of an account and how it was answered.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::request_logs)]
pub struct LogEntry {
    /// Its id.
    pub id: LogEntryId,
    /// Whose request it was.
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
    /// The status of the answer.
    pub status: i32,
    /// The code of an error's envelope.
    pub error: Option<String>,
    /// The address that the limits count it by.
    pub ip: String,
    /// Milliseconds from the head of the request to that of the answer.
    pub duration_ms: i32,
    /// When the request came.
    pub created_at: Timestamp,
    /// What kind of thing it made or was about.
    pub resource: Option<ResourceKind>,
    /// Which one.
    pub resource_id: Option<ResourceId>,
}

impl LogEntry {
    /// What it made or was about.
    #[must_use]
    pub fn about(&self) -> Option<Resource> {
        let (kind, id) = self.resource.zip(self.resource_id)?;
        Some(Resource { kind, id })
    }
}

/// Which answers a log shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusFilter {
    /// One status.
    Code(i32),
    /// All that begin with this digit.
    Class(i32),
}

/// Which requests a log shows.
#[derive(Debug, Clone, Default)]
pub struct LogFilter {
    /// Only those that came at or after this.
    pub since: Option<Timestamp>,
    /// Only those that came at or before this.
    pub until: Option<Timestamp>,
    /// Only so answered.
    pub status: Option<StatusFilter>,
    /// Only of this method.
    pub method: Option<String>,
    /// Only of exactly this path.
    pub path: Option<String>,
    /// Only with this key.
    pub key: Option<KeyId>,
    /// Only this request.
    pub request: Option<RequestId>,
}
