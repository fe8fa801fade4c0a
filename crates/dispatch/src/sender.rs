//! One attempt of one delivery: the request, its deadline, and what is kept of the response.
//!
//! An attempt sends at most one request. It follows no redirects and repeats nothing on an error. If the receiver
//! closes a kept connection after the request was written, the attempt fails (`reset`): the receiver may have acted on
//! it, and a second request would carry the same delivery id. Only a kept connection found dead before the first byte
//! was written is replaced by a new one.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use offhook_domain::json::UrlFault;
use offhook_domain::{AttemptId, EventId, EventType};
use offhook_egress::{Failure, GuardedClient, Policy, SetupError, TargetUrl};
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT};
use reqwest::{Method, RequestBuilder, Response};
use tokio::time::{Instant, timeout_at};

/// How long an attempt may take from its start to the response head, DNS included ("does not answer within 10
/// seconds").
pub const ATTEMPT_DEADLINE: Duration = Duration::from_secs(10);

/// The most bytes read of a response body. A longer body costs the connection.
pub const MAX_BODY_READ: usize = 16 * 1024;

pub const MAX_SNIPPET: usize = 1024;

const CONTENT_TYPE_VALUE: HeaderValue = HeaderValue::from_static("application/json");
const USER_AGENT_VALUE: HeaderValue = HeaderValue::from_static("Service-Webhook/1.0");
const SIGNATURE: HeaderName = HeaderName::from_static("x-service-signature");
const EVENT: HeaderName = HeaderName::from_static("x-service-event");
const EVENT_ID: HeaderName = HeaderName::from_static("x-service-event-id");
const DELIVERY: HeaderName = HeaderName::from_static("x-service-delivery");

#[derive(Clone)]
pub struct Shipment<'a> {
    pub url: &'a str,
    /// `X-Service-Event`.
    pub event_type: EventType,
    /// `X-Service-Event-Id`: the same in every attempt.
    pub event_id: EventId,
    /// `X-Service-Delivery`: different in every attempt.
    pub attempt_id: AttemptId,
    /// `X-Service-Signature`, made for this attempt's time and `body`.
    pub signature: &'a str,
    /// The event's bytes, which never change.
    pub body: Bytes,
}

/// How an attempt ended, as its row and `GET /v1/webhooks/deliveries/{id}` show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptResult {
    /// The status, if the response head came in time.
    pub status_code: Option<u16>,
    /// Milliseconds from the attempt's start to the response head, or to the failure.
    pub duration_ms: u32,
    /// Why there is no status. `None` if there is one, whatever it is.
    pub error: Option<AttemptError>,
    /// The beginning of the response body, at most [`MAX_SNIPPET`] bytes. U+FFFD replaces invalid UTF-8 and U+0000.
    pub response_snippet: Option<String>,
}

impl AttemptResult {
    /// Whether a 2xx status came in time. Every other status is a failure, redirects included.
    pub fn is_success(&self) -> bool {
        self.status_code
            .is_some_and(|status| (200..300).contains(&status))
    }
}

/// Why an attempt got no response head. The strings are stable and shown to customers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttemptError {
    /// `invalid_url`: the stored URL breaks a rule for targets. Nothing was sent.
    InvalidUrl,
    /// `blocked_address`, `dns`, `connect`, `tls`, `timeout`, `reset` or `protocol`: see [`Failure`].
    Failed(Failure),
}

impl AttemptError {
    /// The stable string.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidUrl => "invalid_url",
            Self::Failed(failure) => failure.as_str(),
        }
    }
}

impl fmt::Display for AttemptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<UrlFault> for AttemptError {
    /// A literal or local target gets the same error as a name that resolves to one: the guard exists for both.
    fn from(error: UrlFault) -> Self {
        match error {
            UrlFault::AddressLiteral | UrlFault::LocalName => Self::Failed(Failure::BlockedAddress),
            _ => Self::InvalidUrl,
        }
    }
}

/// Sends attempts. Clones share one connection pool.
#[derive(Clone)]
pub struct Sender {
    client: GuardedClient,
    deadline: Duration,
}

impl Sender {
    /// A sender to the targets that `policy` allows, with [`ATTEMPT_DEADLINE`].
    pub fn new(policy: Policy) -> Result<Self, SetupError> {
        Ok(Self::with_client(
            GuardedClient::new(policy)?,
            ATTEMPT_DEADLINE,
        ))
    }

    /// A sender with another client, and `deadline` instead of [`ATTEMPT_DEADLINE`].
    pub fn with_client(client: GuardedClient, deadline: Duration) -> Self {
        Self { client, deadline }
    }

    /// Sends `shipment` once. One deadline covers DNS, connection, TLS, request and response head. What is left of it
    /// is for the body, which does not change the outcome.
    pub async fn send(&self, shipment: Shipment<'_>) -> AttemptResult {
        let began = Instant::now();
        let deadline = began + self.deadline;
        let head = match self.request(shipment) {
            Ok(request) => match timeout_at(deadline, request.send()).await {
                Ok(answer) => answer.map_err(|error| attempt_error(&error)),
                Err(_) => Err(AttemptError::Failed(Failure::Timeout)),
            },
            Err(error) => Err(error),
        };
        let duration_ms = u32::try_from(began.elapsed().as_millis()).unwrap_or(u32::MAX);
        match head {
            Ok(response) => AttemptResult {
                status_code: Some(response.status().as_u16()),
                duration_ms,
                error: None,
                response_snippet: read_snippet(response, deadline).await,
            },
            Err(error) => AttemptResult {
                status_code: None,
                duration_ms,
                error: Some(error),
                response_snippet: None,
            },
        }
    }

    fn request(&self, shipment: Shipment<'_>) -> Result<RequestBuilder, AttemptError> {
        let target = TargetUrl::parse(shipment.url, self.client.policy())?;
        Ok(self
            .client
            .request(Method::POST, &target)?
            .header(CONTENT_TYPE, CONTENT_TYPE_VALUE)
            .header(USER_AGENT, USER_AGENT_VALUE)
            .header(SIGNATURE, shipment.signature)
            .header(EVENT, shipment.event_type.as_str())
            .header(EVENT_ID, shipment.event_id.to_string())
            .header(DELIVERY, shipment.attempt_id.to_string())
            .body(shipment.body))
    }
}

fn attempt_error(error: &reqwest::Error) -> AttemptError {
    if error.is_builder() {
        AttemptError::InvalidUrl
    } else {
        AttemptError::Failed(Failure::of(error))
    }
}

/// Reads up to [`MAX_BODY_READ`] bytes. A body that ends within them leaves the connection to the next attempt; any
/// other is dropped with its connection.
async fn read_snippet(mut response: Response, deadline: Instant) -> Option<String> {
    let mut kept = Vec::new();
    let mut read = 0;
    while read <= MAX_BODY_READ {
        let Ok(Ok(Some(chunk))) = timeout_at(deadline, response.chunk()).await else {
            break;
        };
        let room = RAW_SNIPPET.saturating_sub(kept.len());
        kept.extend_from_slice(&chunk[..chunk.len().min(room)]);
        read += chunk.len();
    }
    snippet(&kept)
}

/// Enough raw bytes for a character that straddles the end of the snippet: it is omitted, not mangled.
const RAW_SNIPPET: usize = MAX_SNIPPET + 3;

fn snippet(raw: &[u8]) -> Option<String> {
    // PostgreSQL's text cannot hold U+0000.
    let mut text = String::from_utf8_lossy(raw).replace('\0', "\u{FFFD}");
    let mut end = text.len().min(MAX_SNIPPET);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_is_at_most_1024_bytes_of_whole_characters() {
        assert_eq!(snippet(b""), None);
        assert_eq!(snippet(b"ok"), Some("ok".to_owned()));
        assert_eq!(snippet(&[b'a'; RAW_SNIPPET]), Some("a".repeat(MAX_SNIPPET)));
        let straddling = format!("{}é", "a".repeat(MAX_SNIPPET - 1));
        assert_eq!(
            snippet(straddling.as_bytes()),
            Some("a".repeat(MAX_SNIPPET - 1))
        );
        let fitting = format!("{}é", "a".repeat(MAX_SNIPPET - 2));
        assert_eq!(snippet(fitting.as_bytes()), Some(fitting));
    }

    #[test]
    fn a_snippet_has_no_nul_and_no_invalid_bytes() {
        assert_eq!(
            snippet(b"a\0b\xFFc"),
            Some("a\u{FFFD}b\u{FFFD}c".to_owned())
        );
        assert_eq!(
            snippet(&[0; RAW_SNIPPET]),
            Some("\u{FFFD}".repeat(MAX_SNIPPET / 3))
        );
    }
}
