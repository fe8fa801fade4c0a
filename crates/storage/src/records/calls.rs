//! The steps of a call.

use crate::prelude::*;

/// The response that a used Idempotency-Key replays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAnswer {
    /// SHA-256 of the request's canonical value.
    pub fingerprint: Vec<u8>,
    pub status: i32,
    /// The `Location` header.
    pub location: String,
    /// The exact body.
    pub body: Vec<u8>,
}

/// An Idempotency-Key in use.
#[derive(Debug, Clone)]
pub struct IdempotencyClaim {
    /// The operation that it belongs to.
    pub operation: &'static str,
    /// The key as sent.
    pub key: String,
    /// The response that the key replays from now on.
    pub answer: StoredAnswer,
    /// The time by the process's steady clock ([`offhook_domain::Clock::steady`]). The embedded database measures the
    /// key's age by it.
    pub steady: Timestamp,
}

/// An event to commit together with its cause.
#[derive(Debug, Clone)]
pub struct NewEvent {
    /// Its id, also in the body.
    pub id: EventId,
    pub kind: EventType,
    /// The exact bytes that every delivery sends.
    pub body: Vec<u8>,
}

/// What a campaign's call carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfCampaign {
    pub id: CampaignId,
    /// When it may be dialed, besides its account's rules ([`CallWindow::to_stored`]).
    pub window: Option<String>,
}

/// A call to accept.
#[derive(Debug, Clone)]
pub struct NewCall {
    pub id: ConversationId,
    pub account_id: AccountId,
    pub agent_id: AgentId,
    /// The agent id as the client sent it.
    pub agent_ref: String,
    pub agent_version: i32,
    pub runtime: Runtime,
    /// The key that places it. `None` if a member places it in the portal.
    pub key_id: Option<KeyId>,
    /// The key's monthly budget.
    pub key_budget: Option<Credits>,
    /// The account's number.
    pub from: E164,
    pub to: E164,
    /// Metadata as the client's own JSON text.
    pub metadata: String,
    /// Price per minute.
    pub price: Price,
    /// Credits to reserve.
    pub reserve: Credits,
    /// When it is accepted.
    pub at: Timestamp,
    /// `at` by the process's steady clock ([`offhook_domain::Clock::steady`]). The embedded database measures the
    /// call's wait by it.
    pub steady: Timestamp,
    /// `call.initiated`. `None` for a call that no client placed.
    pub event: Option<NewEvent>,
    /// Whether no real call is made: the phone network or the provider is simulated.
    pub simulated: bool,
    /// What the customer agreed to ([`Consent::to_stored`]).
    pub consent: Option<String>,
    pub campaign: Option<OfCampaign>,
    pub idempotency: Option<IdempotencyClaim>,
}

/// The result of accepting a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placed {
    /// The call was written. Holds the endpoints that have deliveries.
    Accepted(Vec<EndpointId>),
    /// The Idempotency-Key was used before, with the same value or another: compare the fingerprints.
    KeyUsed(StoredAnswer),
    /// The first request with the Idempotency-Key is still running.
    KeyInFlight,
    /// The wallet cannot cover the reservation.
    WalletTooLow,
    /// The key's monthly budget cannot cover the reservation.
    BudgetTooLow,
}

/// The end of a call's media, fixed before the summary is made.
#[derive(Debug, Clone)]
pub struct CallEnd {
    pub outcome: CallOutcome,
    pub ended_at: Timestamp,
    /// Seconds from answer to end; 0 if the call was never answered.
    pub duration_seconds: i64,
    /// Number of turns, and p50 and p95 in milliseconds.
    pub latency: Option<(i32, i32, i32)>,
    pub signaled: Signaled,
}

impl CallEnd {
    /// How an answered call ended, or why the call failed.
    pub(crate) const fn reasons(&self) -> (Option<TerminationReason>, Option<FailureReason>) {
        match self.outcome {
            CallOutcome::Completed(reason) => (Some(reason), None),
            CallOutcome::Failed(reason) => (None, Some(reason)),
        }
    }
}

/// The settlement of a call.
#[derive(Debug, Clone)]
pub struct Settlement {
    pub state: CallState,
    pub summary: String,
    /// Credits charged.
    pub credits: Credits,
    /// The text of the ledger entry.
    pub description: String,
    pub at: Timestamp,
    /// `call.completed` or `call.failed`.
    pub event: NewEvent,
}

/// Whether a fenced write succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fenced {
    /// The claim was in force, and the step is written.
    Done,
    /// The claim was lost: nothing was written.
    Lost,
}

impl Fenced {
    pub(crate) const fn of(is_done: bool) -> Self {
        if is_done { Self::Done } else { Self::Lost }
    }
}

/// A step of a call that a process writes under its claim.
#[derive(Clone)]
pub(crate) struct CallStep {
    pub(crate) id: ConversationId,
    pub(crate) claim: ClaimId,
    pub(crate) step: Step,
}

#[derive(Clone)]
pub(crate) enum Step {
    /// The call was answered: `dialing` becomes `live`. The text is what ends the call if this process dies.
    Answered(Timestamp, Option<String>),
    /// A turn of a live call is over.
    Turn(NewTurn),
}
