//! What the store hands out and takes in: rows with the domain's types, without JSON and without rules.

use std::fmt;
use std::str::FromStr;

use diesel::prelude::*;
use offhook_domain::{
    AccountId, AgentId, AgentStatus, AttemptId, CallOutcome, CallState, Channel, ClaimId,
    ConversationId, ConversationStatus, Credits, DeliveryId, E164, EndpointId, EventId, EventType,
    FailureReason, KeyId, NodeId, Plan, Price, Runtime, Scopes, TerminationReason, Timestamp,
};

use crate::schema;

/// Where a page begins: behind the row with this time and id, newest first.
pub type PageKey<Id> = (Timestamp, Id);

/// A customer's account.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = schema::accounts)]
pub struct Account {
    /// Its id.
    pub id: AccountId,
    /// Its name.
    pub name: String,
    /// Its plan.
    pub plan: Plan,
    /// Overrides the plan's Engine module.
    pub engine_module: Option<bool>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// An API key, without its token.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = schema::api_keys)]
pub struct ApiKey {
    /// Its id.
    pub id: KeyId,
    /// Whose it is.
    pub account_id: AccountId,
    /// Its name.
    pub name: String,
    /// The beginning of the token, for people to recognise it.
    pub prefix: String,
    /// What it opens.
    pub scopes: Scopes,
    /// Whether scopes that end in `:write` are refused.
    pub read_only: bool,
    /// Credits that it may spend in a UTC month.
    pub monthly_credit_budget: Option<Credits>,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it is refused.
    pub expires_at: Option<Timestamp>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// A key that is about to be made.
#[derive(Debug, Clone)]
pub struct NewApiKey {
    /// The key.
    pub key: ApiKey,
    /// SHA-256 of the whole token.
    pub digest: [u8; 32],
}

/// An agent.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = schema::agents)]
pub struct Agent {
    /// Its id.
    pub id: AgentId,
    /// Whose it is.
    pub account_id: AccountId,
    /// Who runs it.
    pub runtime: Runtime,
    /// Its name.
    pub name: String,
    /// Its locale.
    pub language: String,
    /// Its status.
    pub status: AgentStatus,
    /// Its id at the legacy provider.
    pub provider_agent_id: Option<String>,
    /// The legacy provider's summary, as JSON text.
    pub legacy_config: Option<String>,
    /// The latest saved version, 0 without any.
    pub head_version: i32,
    /// The version that serves calls, 0 when never published.
    pub published_version: i32,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its row, versions or publication last changed.
    pub updated_at: Timestamp,
}

/// How a client names an agent in a call.
#[derive(Debug, Clone)]
pub enum AgentRef {
    /// By its id.
    Id(AgentId),
    /// By its id at the legacy provider.
    Provider(String),
}

/// An agent that is about to be made.
#[derive(Debug, Clone)]
pub struct NewAgent {
    /// The agent; `head_version` is 1 with a config and 0 without.
    pub agent: Agent,
    /// The name as it is compared.
    pub name_folded: String,
    /// The configuration of version 1, as JSON text.
    pub config: Option<String>,
}

/// A change of an agent, guarded by the head that the client saw.
#[derive(Debug, Clone)]
pub struct AgentChange {
    /// The head version that the change was made on.
    pub head_version: i32,
    /// A new name, and as it is compared.
    pub name: Option<(String, String)>,
    /// A new locale.
    pub language: Option<String>,
    /// The status that the change was judged by, and the new one.
    pub status: Option<(AgentStatus, AgentStatus)>,
    /// The configuration of the next version, as JSON text.
    pub config: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// What agents a list shows.
#[derive(Debug, Clone, Default)]
pub struct AgentFilter {
    /// Only of this runtime.
    pub runtime: Option<Runtime>,
    /// Only in this status.
    pub status: Option<AgentStatus>,
    /// Only with this text in the folded name.
    pub q: Option<String>,
}

/// A conversation on any channel; phone calls are those with a dialer.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = schema::conversations)]
pub struct Conversation {
    /// Its id.
    pub id: ConversationId,
    /// Whose it is.
    pub account_id: AccountId,
    /// Who speaks for the account.
    pub agent_id: AgentId,
    /// The agent id as the client sent it.
    pub agent_ref: String,
    /// The published version at the time of placing.
    pub agent_version: i32,
    /// The key that placed it.
    pub key_id: Option<KeyId>,
    /// Who runs it.
    pub runtime: Runtime,
    /// Where it takes place.
    pub channel: Option<Channel>,
    /// Whether it is spoken: what `GET /v1/calls` shows.
    pub voice: bool,
    /// Where it is in its life.
    pub state: CallState,
    /// What lists say of it.
    pub status: ConversationStatus,
    /// Who called.
    pub from_number: Option<E164>,
    /// Who was called.
    pub to_number: Option<E164>,
    /// The customer's side.
    pub customer_phone: Option<E164>,
    /// What the client sent along, as its own JSON text.
    pub metadata: String,
    /// Thousandths of a credit per minute, fixed at placing.
    pub price_millicredits: i64,
    /// When it was accepted.
    pub started_at: Timestamp,
    /// When it was answered.
    pub answered_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Seconds from the answer to the end.
    pub duration_seconds: Option<i64>,
    /// What it cost.
    pub credits: Option<Credits>,
    /// What it was about.
    pub summary: Option<String>,
    /// Whether there is a recording.
    pub has_audio: bool,
    /// How it ended, if it was answered.
    pub termination_reason: Option<TerminationReason>,
    /// Why it failed.
    pub failure_reason: Option<FailureReason>,
    /// Turns of user and agent.
    pub messages_count: i32,
    /// The number of its newest moment.
    pub last_seq: i32,
    /// Turns whose latency was measured.
    pub latency_turns: Option<i32>,
    /// Median of the latencies, in milliseconds.
    pub latency_p50_ms: Option<i32>,
    /// 95th percentile of the latencies, in milliseconds.
    pub latency_p95_ms: Option<i32>,
    /// Whether its owner has been asked to hang up.
    pub hangup_requested: bool,
    /// The claim in force.
    pub claim_id: Option<ClaimId>,
    /// The process that holds the claim.
    pub node_id: Option<NodeId>,
}

impl Conversation {
    /// The price that was fixed at placing.
    #[must_use]
    pub const fn price(&self) -> Price {
        Price::from_millicredits_per_minute(self.price_millicredits)
    }

    /// Whether it is spoken: what `GET /v1/calls` shows.
    #[must_use]
    pub const fn is_voice(&self) -> bool {
        self.voice
    }
}

/// A conversation with its agent's name, as lists and reads show it.
#[derive(Debug, Clone)]
pub struct ConversationView {
    /// The conversation.
    pub conversation: Conversation,
    /// The agent's present name.
    pub agent_name: String,
}

/// What conversations a list shows.
#[derive(Debug, Clone, Default)]
pub struct ConversationFilter {
    /// Only voice: what `GET /v1/calls` lists.
    pub voice_only: bool,
    /// Only at or after this instant; retention has already been applied.
    pub since: Option<Timestamp>,
    /// Only at or before this instant.
    pub until: Option<Timestamp>,
    /// Only of this agent.
    pub agent: Option<AgentId>,
    /// Only in this status.
    pub status: Option<ConversationStatus>,
    /// Only on this channel; `Unknown` are rows without one.
    pub channel: Option<Channel>,
    /// Only with this customer or dialed number.
    pub phone: Option<E164>,
}

/// Who speaks in a turn: the wire form.
pub type Role = String;

/// Something that happened in a conversation: a turn (with a role) or a change of state.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = schema::conversation_moments)]
pub struct Moment {
    /// Its number in the conversation, from 1.
    pub seq: i32,
    /// When the turn began, or the state was entered.
    pub at: Timestamp,
    /// The state entered.
    pub state: Option<CallState>,
    /// Who spoke: `agent`, `user` or `tool`.
    pub role: Option<Role>,
    /// What was heard.
    pub content: Option<String>,
    /// How long it took to say.
    pub duration_ms: Option<i32>,
    /// Whether the turn was cut.
    pub interrupted: Option<bool>,
}

/// A turn that is about to be stored.
#[derive(Debug, Clone)]
pub struct NewTurn {
    /// Who spoke: `agent`, `user` or `tool`.
    pub role: &'static str,
    /// What was heard.
    pub text: String,
    /// When it began.
    pub started_at: Timestamp,
    /// How long it took to say.
    pub duration_ms: i32,
    /// Whether it was cut.
    pub interrupted: bool,
}

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
    /// The key that places it.
    pub key_id: KeyId,
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
    /// `call.initiated`.
    pub event: NewEvent,
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

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident => $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// Every value.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The stored and wire form.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = ();

            fn from_str(text: &str) -> Result<Self, ()> {
                Self::ALL.iter().copied().find(|word| word.as_str() == text).ok_or(())
            }
        }
    };
}

words! {
    /// Whether an endpoint receives events.
    EndpointStatus {
        /// It does.
        Enabled => "enabled",
        /// It does not.
        Disabled => "disabled",
    }
}

words! {
    /// Where a delivery is on its schedule (platform.md W2).
    DeliveryState {
        /// Not yet attempted.
        Pending => "pending",
        /// Failed, and will be attempted again.
        Retrying => "retrying",
        /// Received.
        Delivered => "delivered",
        /// Failed four times.
        Exhausted => "exhausted",
        /// Its endpoint was deleted or disabled.
        Cancelled => "cancelled",
    }
}

words! {
    /// What became of an attempt.
    AttemptOutcome {
        /// Begun.
        Begun => "begun",
        /// A 2xx head came in time.
        Succeeded => "succeeded",
        /// Anything else.
        Failed => "failed",
        /// Its process died; nobody knows.
        Abandoned => "abandoned",
    }
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
    /// The exact bytes that are sent.
    pub payload: Vec<u8>,
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
    /// The next first attempt.
    pub first: Option<Timestamp>,
    /// The next attempt after a failed one.
    pub retry: Option<Timestamp>,
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
    /// When the next attempt is due after this failure; `None` after the last.
    pub next_attempt_at: Option<Timestamp>,
}

/// What a wallet holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::wallets)]
pub struct Wallet {
    /// Credits.
    pub balance: Credits,
    /// Of these, held by calls.
    pub reserved: Credits,
}

/// A step of the wallet's history that an operator takes.
#[derive(Debug, Clone)]
pub struct NewLedgerEntry {
    /// `purchase`, `auto_refill`, `refund`, `manual_credit` or `manual_debit`.
    pub kind: String,
    /// Signed credits.
    pub amount: Credits,
    /// Why.
    pub description: String,
    /// When.
    pub at: Timestamp,
}
