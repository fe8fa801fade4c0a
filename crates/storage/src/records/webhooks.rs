//! Endpoints, deliveries and attempts.

use std::time::Duration;

use diesel::prelude::*;
use offhook_domain::{
    AccountId, AttemptId, ClaimId, DeliveryId, EndpointId, EventId, EventType, Timestamp,
};
pub use offhook_domain::{AttemptOutcome, DeliveryState, EndpointStatus};

use crate::schema;

/// [`Endpoint::disabled_reason`] of one that the customer disabled: nothing is stored for it.
pub const DISABLED_BY_CUSTOMER: &str = "customer";

/// [`Endpoint::disabled_reason`] of one that failed for too long: its deliveries are stored as cancelled, so that they can
/// be recovered.
pub const DISABLED_AS_FAILING: &str = "failing";

/// An endpoint that has received nothing since its first failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailingEndpoint {
    /// The endpoint.
    pub id: EndpointId,
    /// Its first failure since its last success.
    pub first_failure_at: Timestamp,
    /// The deliveries that were given up since.
    pub exhausted_count: i32,
}

/// An event of an account.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = schema::events)]
pub struct AccountEvent {
    pub id: EventId,
    pub kind: EventType,
    /// The exact bytes that every delivery sends.
    pub body: Vec<u8>,
    pub created_at: Timestamp,
}

/// A webhook endpoint.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = schema::webhook_endpoints)]
pub struct Endpoint {
    /// Its id.
    pub id: EndpointId,
    /// Whose it is.
    pub account_id: AccountId,
    /// Where events go.
    pub url: String,
    /// The customer's own words.
    pub description: Option<String>,
    /// Whether it receives events.
    pub status: EndpointStatus,
    /// Why it does not.
    pub disabled_reason: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// An endpoint with the beginning of the secret in force.
#[derive(Debug, Clone)]
pub struct EndpointView {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The beginning of its secret.
    pub secret_prefix: String,
}

/// A change of an endpoint.
#[derive(Debug, Clone, Default)]
pub struct EndpointChange {
    /// A new URL.
    pub url: Option<String>,
    /// A new description; `Some(None)` clears it.
    pub description: Option<Option<String>>,
    /// A new status.
    pub status: Option<EndpointStatus>,
}

/// A delivery of an event to an endpoint.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = schema::deliveries)]
pub struct Delivery {
    /// Its id.
    pub id: DeliveryId,
    /// Whose it is.
    pub account_id: AccountId,
    /// Where it goes.
    pub endpoint_id: EndpointId,
    /// What it carries.
    pub event_id: EventId,
    /// The event's type.
    #[diesel(column_name = event_type)]
    pub kind: EventType,
    /// Where it is on its schedule.
    pub state: DeliveryState,
    /// Finished scheduled attempts.
    pub attempts_count: i32,
    /// When the next attempt is due.
    pub next_attempt_at: Option<Timestamp>,
    /// When the event occurred.
    pub created_at: Timestamp,
}

/// What deliveries a list shows.
#[derive(Debug, Clone, Default)]
pub struct DeliveryFilter {
    /// Only in this state.
    pub state: Option<DeliveryState>,
    /// Only of this event type.
    pub kind: Option<EventType>,
    /// Only to this endpoint.
    pub endpoint: Option<EndpointId>,
    /// Only at or after this instant.
    pub since: Option<Timestamp>,
    /// Only at or before this instant.
    pub until: Option<Timestamp>,
}

/// One attempt of a delivery.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = schema::attempts)]
pub struct Attempt {
    /// Its id, the `X-Service-Delivery` header.
    pub id: AttemptId,
    /// Its delivery.
    pub delivery_id: DeliveryId,
    /// Its number on the schedule, 0 when asked for by hand.
    pub number: i32,
    /// When it began.
    pub at: Timestamp,
    /// What became of it.
    pub outcome: AttemptOutcome,
    /// What the receiver answered.
    pub status_code: Option<i32>,
    /// How long the answer took.
    pub duration_ms: Option<i32>,
    /// Why there was no answer.
    pub error: Option<String>,
    /// The beginning of the answer's body.
    pub response_snippet: Option<String>,
}

/// A delivery with everything that its page shows.
#[derive(Debug, Clone)]
pub struct DeliveryStory {
    /// The delivery.
    pub delivery: Delivery,
    /// The exact bytes that are sent; `None` once they have been taken away.
    pub payload: Option<Vec<u8>>,
    /// Every attempt, the oldest first.
    pub attempts: Vec<Attempt>,
}

/// How much of which endpoint's due work to claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimSlots {
    /// The endpoint.
    pub endpoint: EndpointId,
    /// At most so many first attempts.
    pub firsts: usize,
    /// At most so many attempts after a failed one.
    pub retries: usize,
    /// At most so many asked-for repetitions.
    pub resends: usize,
}

/// When an endpoint's next attempts are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueEndpoint {
    /// The endpoint.
    pub endpoint: EndpointId,
    /// Whether there is a first attempt to make: it is due at once.
    pub first: bool,
    /// How long the next attempt after a failed one has to wait.
    pub retry: Option<Duration>,
}

/// An attempt that this process has to make.
#[derive(Debug, Clone)]
pub struct ClaimedAttempt {
    /// The fence.
    pub claim_id: ClaimId,
    /// The attempt's id.
    pub attempt_id: AttemptId,
    /// The delivery.
    pub delivery_id: DeliveryId,
    /// Where it goes.
    pub endpoint_id: EndpointId,
    /// Whose it is.
    pub account_id: AccountId,
    /// 1 to 4, or 0 when asked for by hand.
    pub number: i32,
    /// The event.
    pub event_id: EventId,
    /// Its type.
    pub kind: EventType,
    /// Its exact bytes.
    pub body: Vec<u8>,
    /// Where to send it.
    pub url: String,
    /// Every secret that signs, the newest last.
    pub secrets: Vec<String>,
}

/// What names a claimed attempt that has not been begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimedWork {
    /// The fence.
    pub claim_id: ClaimId,
    /// The attempt's id.
    pub attempt_id: AttemptId,
    /// The delivery.
    pub delivery_id: DeliveryId,
    /// Whether it was asked for by hand.
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

/// What claimed work of one endpoint may still be sent, and how.
#[derive(Debug, Clone, Default)]
pub struct Rechecked {
    /// Where to send it.
    pub url: String,
    /// Every secret that signs, the newest last.
    pub secrets: Vec<String>,
    /// The attempts that may be begun; none if the endpoint receives nothing any more.
    pub in_force: Vec<AttemptId>,
}

/// What became of an attempt, and what its delivery does next.
#[derive(Debug, Clone)]
pub struct AttemptReport {
    /// The fence.
    pub claim_id: ClaimId,
    /// The attempt.
    pub attempt_id: AttemptId,
    /// Its delivery.
    pub delivery_id: DeliveryId,
    /// Its endpoint.
    pub endpoint_id: EndpointId,
    /// Its number, 0 when asked for by hand.
    pub number: i32,
    /// When it began; claiming it was a little earlier.
    pub at: Timestamp,
    /// Whether it succeeded.
    pub success: bool,
    /// What the receiver answered.
    pub status_code: Option<i32>,
    /// How long the answer took.
    pub duration_ms: i32,
    /// Why there was no answer.
    pub error: Option<String>,
    /// The beginning of the answer's body.
    pub response_snippet: Option<String>,
    /// When it ended, by [`Clock::steady`](offhook_domain::Clock::steady).
    pub ended: Timestamp,
    /// How long after its end the next attempt is due; `None` after a success and after the last failure.
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

    /// What is left at `steady` of the wait for the next attempt, in microseconds; less than none if it is overdue.
    pub(crate) fn wait_left(&self, steady: Timestamp) -> Option<i64> {
        let wait = i64::try_from(self.retry_after?.as_micros()).unwrap_or(i64::MAX);
        let passed = steady.micros().saturating_sub(self.ended.micros());
        Some(wait.saturating_sub(passed))
    }
}
