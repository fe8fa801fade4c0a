//! Conversations and their moments.

use crate::prelude::*;

/// A conversation on any channel. Phone calls are those with a dialer.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = conversations)]
pub struct Conversation {
    pub id: ConversationId,
    pub account_id: AccountId,
    pub agent_id: AgentId,
    /// The agent id as the client sent it.
    pub agent_ref: String,
    /// The published version when the call was placed.
    pub agent_version: i32,
    /// The key that placed it.
    pub key_id: Option<KeyId>,
    pub runtime: Runtime,
    pub channel: Option<Channel>,
    /// Whether it is spoken. `GET /v1/calls` shows only these.
    pub voice: bool,
    pub state: CallState,
    /// The status that lists show.
    pub status: ConversationStatus,
    /// The caller.
    pub from_number: Option<E164>,
    /// The called number.
    pub to_number: Option<E164>,
    /// The customer's number.
    pub customer_phone: Option<E164>,
    /// The client's metadata, as its own JSON text.
    pub metadata: String,
    /// Thousandths of a credit per minute, fixed when the call is placed.
    pub price_millicredits: i64,
    /// When it was accepted.
    pub started_at: Timestamp,
    pub answered_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// Seconds from the answer to the end.
    pub duration_seconds: Option<i64>,
    /// Credits charged.
    pub credits: Option<Credits>,
    pub summary: Option<String>,
    /// Whether there is a recording.
    pub has_audio: bool,
    /// How it ended, if it was answered.
    pub termination_reason: Option<TerminationReason>,
    pub failure_reason: Option<FailureReason>,
    /// Turns of user and agent.
    pub messages_count: i32,
    /// The number of its newest moment.
    pub last_seq: i32,
    #[diesel(embed)]
    pub latency: Latency,
    /// Whether its owner has been asked to hang up.
    pub hangup_requested: bool,
    /// The claim in force.
    pub claim_id: Option<ClaimId>,
    /// The process that holds the claim.
    pub node_id: Option<NodeId>,
    #[diesel(embed)]
    pub line: HeldBy,
}

/// What the phone network signaled before a call was answered or failed; kept when the call ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = conversations)]
pub struct Signaled {
    /// When it first rang.
    pub rang_at: Option<Timestamp>,
    /// The SIP status with which the carrier refused the call.
    pub carrier_status: Option<i32>,
}

/// What carries a conversation, and what came of it.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = conversations)]
pub struct HeldBy {
    /// While the call lasts: what the network needs to end it if its owner dies, in the network's own format.
    pub dialog: Option<String>,
    /// Whether no real call was made: the phone network or the provider of legacy agents is simulated.
    pub simulated: bool,
    /// `None` until its media ends.
    pub outcome: Option<Outcome>,
    #[diesel(embed)]
    pub signaled: Signaled,
    #[diesel(embed)]
    pub allowed: Allowed,
}

/// What speaks for calling a customer, and against it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = conversations)]
pub struct Allowed {
    /// What the customer agreed to before ([`Consent::to_stored`]).
    pub consent: Option<String>,
    /// The rule that refused the dial.
    pub blocked_by: Option<DialRule>,
    /// Whether the customer asked not to be called again.
    pub opted_out: bool,
    /// The campaign whose call it is.
    pub campaign_id: Option<CampaignId>,
}

/// How fast the agent replied in a conversation.
#[derive(Debug, Clone, Copy, Queryable, Selectable)]
#[diesel(table_name = conversations)]
pub struct Latency {
    /// Turns whose latency was measured.
    #[diesel(column_name = latency_turns)]
    pub turns: Option<i32>,
    /// Median in milliseconds.
    #[diesel(column_name = latency_p50_ms)]
    pub p50_ms: Option<i32>,
    /// 95th percentile in milliseconds.
    #[diesel(column_name = latency_p95_ms)]
    pub p95_ms: Option<i32>,
}

impl Conversation {
    /// What came of it, once it has ended.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        self.line.outcome.filter(|_| self.state.is_terminal())
    }

    /// The price fixed when the call was placed.
    #[must_use]
    pub const fn price(&self) -> Price {
        Price::from_millicredits_per_minute(self.price_millicredits)
    }

    /// Whether it is spoken. `GET /v1/calls` shows only these.
    #[must_use]
    pub const fn is_voice(&self) -> bool {
        self.voice
    }

    /// Whether the customer called. Then the called number, if there is one, is ours.
    #[must_use]
    pub fn is_inbound(&self) -> bool {
        self.is_of_a_page() || (self.to_number.is_some() && self.customer_phone != self.to_number)
    }

    /// Whether it uses a web page's microphone, without phone numbers.
    #[must_use]
    pub fn is_of_a_page(&self) -> bool {
        self.channel == Some(Channel::WidgetVoice)
    }
}

/// A conversation with its agent's name, as lists and reads show it.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = conversations)]
pub struct ConversationView {
    #[diesel(embed)]
    pub conversation: Conversation,
    /// The agent's current name.
    #[diesel(select_expression = agents::name)]
    pub agent_name: String,
}

/// Which conversations a list shows.
#[derive(Debug, Clone, Default)]
pub struct ConversationFilter {
    /// Only voice, as `GET /v1/calls` lists.
    pub voice_only: bool,
    /// Inclusive. The caller has already applied retention.
    pub since: Option<Timestamp>,
    /// Inclusive.
    pub until: Option<Timestamp>,
    pub agent: Option<AgentId>,
    pub status: Option<ConversationStatus>,
    pub outcome: Option<Outcome>,
    /// Only on this channel. `Unknown` matches rows without one.
    pub channel: Option<Channel>,
    /// Only with this customer or dialed number.
    pub phone: Option<E164>,
    /// Only with this tag, in lower case.
    pub tag: Option<String>,
}

/// Who speaks in a turn, in its API form.
pub type Role = String;

/// An entry of a conversation: a turn (with a role) or a change of state.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = conversation_moments)]
pub struct Moment {
    /// Its number in the conversation, from 1.
    pub seq: i32,
    /// When the turn began, or the state was entered.
    pub at: Timestamp,
    /// The state entered.
    pub state: Option<CallState>,
    /// Who spoke: `agent`, `user` or `tool`.
    pub role: Option<Role>,
    /// What was said.
    pub content: Option<String>,
    /// How long it took to say.
    pub duration_ms: Option<i32>,
    /// Whether the turn was interrupted.
    pub interrupted: Option<bool>,
    /// How long the customer waited for it, step by step: a JSON object.
    pub latency: Option<String>,
    /// How a model came to it: a JSON object.
    pub source: Option<String>,
}

/// A turn to store.
#[derive(Debug, Clone)]
pub struct NewTurn {
    /// Who spoke: `agent`, `user` or `tool`.
    pub role: &'static str,
    /// What was said.
    pub text: String,
    pub started_at: Timestamp,
    /// How long it took to say.
    pub duration_ms: i32,
    /// Whether it was interrupted.
    pub interrupted: bool,
    /// How long the customer waited for it, step by step: a JSON object.
    pub latency: Option<String>,
    /// How a model came to it: a JSON object.
    pub source: Option<String>,
    /// Its number in the conversation, if the writer counts turns. A writer that lost the answer retries, and the
    /// number keeps the turn from being stored twice.
    pub seq: Option<i32>,
}

impl NewTurn {
    /// A turn that was written, not spoken.
    pub const fn written(role: &'static str, text: String, at: Timestamp) -> Self {
        Self {
            role,
            text,
            started_at: at,
            duration_ms: 0,
            interrupted: false,
            latency: None,
            source: None,
            seq: None,
        }
    }
}
