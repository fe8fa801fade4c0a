//! Endpoints, deliveries and attempts.

use crate::prelude::*;

pub use offhook_domain::{AttemptOutcome, DeliveryState, EndpointStatus};

/// [`Endpoint::disabled_reason`] of an endpoint that the customer disabled: no deliveries are stored for it.
pub const DISABLED_BY_CUSTOMER: &str = "customer";

/// [`Endpoint::disabled_reason`] of an endpoint that failed for too long: its deliveries are stored as cancelled, so
/// that they can be recovered.
pub const DISABLED_AS_FAILING: &str = "failing";

/// An endpoint that has received nothing since its first failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailingEndpoint {
    pub id: EndpointId,
    /// Its first failure since its last success.
    pub first_failure_at: Timestamp,
    /// The deliveries that were given up since.
    pub exhausted_count: i32,
}

/// An event of an account.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = events)]
pub struct AccountEvent {
    pub id: EventId,
    pub kind: EventType,
    /// The exact bytes that every delivery sends.
    pub body: Vec<u8>,
    pub created_at: Timestamp,
}

#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = webhook_endpoints)]
pub struct Endpoint {
    pub id: EndpointId,
    pub account_id: AccountId,
    pub url: String,
    /// The customer's own description.
    pub description: Option<String>,
    /// Whether it receives events.
    pub status: EndpointStatus,
    /// Why it receives none.
    pub disabled_reason: Option<String>,
    /// The types that it receives; `None`: those of [`EventTypes::by_default`].
    pub events: Option<EventTypes>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// An endpoint with the prefix of its current secret.
#[derive(Debug, Clone)]
pub struct EndpointView {
    pub endpoint: Endpoint,
    pub secret_prefix: String,
}

/// A secret that signs an endpoint's deliveries, as far as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
pub struct SigningNow {
    pub prefix: String,
    pub created_at: Timestamp,
    /// When a rotated one stops signing; `None` for the current one.
    pub expires_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Default)]
pub struct EndpointChange {
    pub url: Option<String>,
    /// A new description; `Some(None)` clears it.
    pub description: Option<Option<String>>,
    pub status: Option<EndpointStatus>,
    /// The types that it receives; `Some(None)` restores the default.
    pub events: Option<Option<EventTypes>>,
}

/// A delivery of an event to an endpoint.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = deliveries)]
pub struct Delivery {
    pub id: DeliveryId,
    pub account_id: AccountId,
    pub endpoint_id: EndpointId,
    pub event_id: EventId,
    #[diesel(column_name = event_type)]
    pub kind: EventType,
    pub state: DeliveryState,
    /// Finished scheduled attempts.
    pub attempts_count: i32,
    /// When the next attempt is due.
    pub next_attempt_at: Option<Timestamp>,
    /// When the event occurred.
    pub created_at: Timestamp,
}

/// Which deliveries a list shows.
#[derive(Debug, Clone, Default)]
pub struct DeliveryFilter {
    pub state: Option<DeliveryState>,
    pub kind: Option<EventType>,
    pub endpoint: Option<EndpointId>,
    /// Inclusive.
    pub since: Option<Timestamp>,
    /// Inclusive.
    pub until: Option<Timestamp>,
}

/// One attempt of a delivery.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = attempts)]
pub struct Attempt {
    /// Its id, the `X-Service-Delivery` header.
    pub id: AttemptId,
    pub delivery_id: DeliveryId,
    /// Its number on the schedule; 0 for a resend.
    pub number: i32,
    pub at: Timestamp,
    pub outcome: AttemptOutcome,
    /// The receiver's status code.
    pub status_code: Option<i32>,
    /// How long the response took.
    pub duration_ms: Option<i32>,
    /// Why there was no response.
    pub error: Option<String>,
    /// The beginning of the response body.
    pub response_snippet: Option<String>,
}

/// A delivery with all that its page shows.
#[derive(Debug, Clone)]
pub struct DeliveryStory {
    pub delivery: Delivery,
    /// The exact bytes that are sent; `None` once retention has removed them.
    pub payload: Option<Vec<u8>>,
    /// Every attempt, oldest first.
    pub attempts: Vec<Attempt>,
}

/// How much of an endpoint's due work to claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimSlots {
    pub endpoint: EndpointId,
    /// The most first attempts.
    pub firsts: usize,
    /// The most retries.
    pub retries: usize,
    /// The most resends.
    pub resends: usize,
}

/// When an endpoint's next attempts are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueEndpoint {
    pub endpoint: EndpointId,
    /// Whether a first attempt is waiting, which is due at once.
    pub first: bool,
    /// How long until the next retry is due.
    pub retry: Option<Duration>,
}

/// An attempt that this process must make.
#[derive(Debug, Clone)]
pub struct ClaimedAttempt {
    /// The fence.
    pub claim_id: ClaimId,
    pub attempt_id: AttemptId,
    pub delivery_id: DeliveryId,
    pub endpoint_id: EndpointId,
    pub account_id: AccountId,
    /// 1 to 4; 0 for a resend.
    pub number: i32,
    pub event_id: EventId,
    pub kind: EventType,
    /// The event's exact bytes.
    pub body: Vec<u8>,
    pub url: String,
    /// All signing secrets, newest last.
    pub secrets: Vec<String>,
}

/// Identifies a claimed attempt that has not started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimedWork {
    /// The fence.
    pub claim_id: ClaimId,
    pub attempt_id: AttemptId,
    pub delivery_id: DeliveryId,
    /// Whether it is a resend, requested by hand.
    pub by_hand: bool,
}

impl From<&ClaimedAttempt> for ClaimedWork {
    fn from(attempt: &ClaimedAttempt) -> Self {
        Self {
            claim_id: attempt.claim_id,
            attempt_id: attempt.attempt_id,
            delivery_id: attempt.delivery_id,
            by_hand: attempt.number == 0,
        }
    }
}

/// The claimed work of one endpoint that may still be sent, and how.
#[derive(Debug, Clone, Default)]
pub struct Rechecked {
    pub url: String,
    /// All signing secrets, newest last.
    pub secrets: Vec<String>,
    /// The attempts that may start; none if the endpoint no longer receives events.
    pub in_force: Vec<AttemptId>,
}

/// The result of an attempt, and what its delivery does next.
#[derive(Debug, Clone)]
pub struct AttemptReport {
    /// The fence.
    pub claim_id: ClaimId,
    pub attempt_id: AttemptId,
    pub delivery_id: DeliveryId,
    pub endpoint_id: EndpointId,
    /// Its number; 0 for a resend.
    pub number: i32,
    /// When it began, a little after its claim.
    pub at: Timestamp,
    pub success: bool,
    /// The receiver's status code.
    pub status_code: Option<i32>,
    /// How long the response took.
    pub duration_ms: i32,
    /// Why there was no response.
    pub error: Option<String>,
    /// The beginning of the response body.
    pub response_snippet: Option<String>,
    /// When it ended, by [`Clock::steady`](offhook_domain::Clock::steady).
    pub ended: Timestamp,
    /// How long after its end the next attempt is due. `None` after a success and after the last failure.
    pub retry_after: Option<Duration>,
}

impl AttemptReport {
    pub(crate) const fn outcome(&self) -> AttemptOutcome {
        if self.success {
            AttemptOutcome::Succeeded
        } else {
            AttemptOutcome::Failed
        }
    }

    /// How much of the wait for the next attempt is left at `steady`, in microseconds; negative if it is overdue.
    pub(crate) fn wait_left(&self, steady: Timestamp) -> Option<i64> {
        let wait = i64::try_from(self.retry_after?.as_micros()).unwrap_or(i64::MAX);
        let passed = steady.micros().saturating_sub(self.ended.micros());
        Some(wait.saturating_sub(passed))
    }
}
