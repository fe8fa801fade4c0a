//! The steps of a call.

use offhook_domain::{
    AccountId, AgentId, CallOutcome, CallState, ConversationId, Credits, E164, EndpointId, EventId,
    EventType, KeyId, Price, Runtime, Timestamp,
};

/// The answer that a used Idempotency-Key replays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAnswer {
    /// SHA-256 of the request's canonical value.
    pub fingerprint: Vec<u8>,
    /// HTTP status.
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
    /// What it will answer from now on.
    pub answer: StoredAnswer,
    /// The present by the process's steady clock ([`offhook_domain::Clock::steady`]), which the key's age is counted by on
    /// the embedded database.
    pub steady: Timestamp,
}

/// An event that is about to be committed with its cause.
#[derive(Debug, Clone)]
pub struct NewEvent {
    /// Its id, also in the body.
    pub id: EventId,
    /// Its type.
    pub kind: EventType,
    /// The exact bytes that every delivery sends.
    pub body: Vec<u8>,
}

/// A call that is about to be accepted.
#[derive(Debug, Clone)]
pub struct NewCall {
    /// Its id.
    pub id: ConversationId,
    /// Whose it is.
    pub account_id: AccountId,
    /// The agent.
    pub agent_id: AgentId,
    /// The agent id as sent.
    pub agent_ref: String,
    /// The published version.
    pub agent_version: i32,
    /// Who runs it.
    pub runtime: Runtime,
    /// The key that places it; none if a member does, in the portal.
    pub key_id: Option<KeyId>,
    /// The key's monthly budget.
    pub key_budget: Option<Credits>,
    /// The account's number.
    pub from: E164,
    /// The number to dial.
    pub to: E164,
    /// Metadata as the client's own JSON text.
    pub metadata: String,
    /// Price per minute.
    pub price: Price,
    /// Credits to hold.
    pub reserve: Credits,
    /// When it is accepted.
    pub at: Timestamp,
    /// The same by the process's steady clock ([`offhook_domain::Clock::steady`]), which its wait is counted by on the
    /// embedded database.
    pub steady: Timestamp,
    /// `call.initiated`; none for a call that no client placed.
    pub event: Option<NewEvent>,
    /// Whether nobody is called: the phone network, or the provider, is simulated.
    pub simulated: bool,
    /// The Idempotency-Key, if one was sent.
    pub idempotency: Option<IdempotencyClaim>,
}

/// What became of an attempt to accept a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placed {
    /// It is written; endpoints with something to deliver.
    Accepted(Vec<EndpointId>),
    /// The Idempotency-Key was used before, with the same value or another: compare the fingerprints.
    KeyUsed(StoredAnswer),
    /// The Idempotency-Key's first request is still being written.
    KeyInFlight,
    /// The wallet cannot cover the reservation.
    WalletTooLow,
    /// The key's monthly budget cannot cover it.
    BudgetTooLow,
}

/// The end of a call's media, fixed before the summary is made.
#[derive(Debug, Clone)]
pub struct CallEnd {
    /// How it ended.
    pub outcome: CallOutcome,
    /// When it ended.
    pub ended_at: Timestamp,
    /// Seconds from the answer to the end, 0 if never answered.
    pub duration_seconds: i64,
    /// Turns, p50 and p95 in milliseconds.
    pub latency: Option<(i32, i32, i32)>,
}

/// What settles a call.
#[derive(Debug, Clone)]
pub struct Settlement {
    /// The final state.
    pub state: CallState,
    /// What it was about.
    pub summary: String,
    /// What it cost.
    pub credits: Credits,
    /// Why, for the ledger.
    pub description: String,
    /// When.
    pub at: Timestamp,
    /// `call.completed` or `call.failed`.
    pub event: NewEvent,
}

/// Whether a fenced step was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fenced {
    /// The claim was in force, and the step is written.
    Done,
    /// The claim is gone: nothing was written.
    Lost,
}

impl Fenced {
    /// Whether a step was taken.
    pub(crate) const fn of(is_done: bool) -> Self {
        if is_done { Self::Done } else { Self::Lost }
    }
}
