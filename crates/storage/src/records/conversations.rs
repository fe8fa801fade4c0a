//! Conversations and what happened in them.

use diesel::prelude::*;
use offhook_domain::{
    AccountId, AgentId, CallState, Channel, ClaimId, ConversationId, ConversationStatus, Credits,
    E164, FailureReason, KeyId, NodeId, Price, Runtime, TerminationReason, Timestamp,
};

use crate::schema;

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
    /// How quickly the agent replied.
    #[diesel(embed)]
    pub latency: Latency,
    /// Whether its owner has been asked to hang up.
    pub hangup_requested: bool,
    /// The claim in force.
    pub claim_id: Option<ClaimId>,
    /// The process that holds the claim.
    pub node_id: Option<NodeId>,
    /// By what it is held.
    #[diesel(embed)]
    pub line: HeldBy,
}

/// By what a conversation is held.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = schema::conversations)]
pub struct HeldBy {
    /// While it lasts: what the network needs to end it, should its owner die. The network's own words.
    pub dialog: Option<String>,
    /// Whether nobody was called, but by the simulated phone network, or by the simulated provider of legacy agents.
    pub simulated: bool,
}

/// How quickly the agent replied in a conversation.
#[derive(Debug, Clone, Copy, Queryable, Selectable)]
#[diesel(table_name = schema::conversations)]
pub struct Latency {
    /// Turns whose latency was measured.
    #[diesel(column_name = latency_turns)]
    pub turns: Option<i32>,
    /// Median of the latencies, in milliseconds.
    #[diesel(column_name = latency_p50_ms)]
    pub p50_ms: Option<i32>,
    /// 95th percentile of the latencies, in milliseconds.
    #[diesel(column_name = latency_p95_ms)]
    pub p95_ms: Option<i32>,
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

    /// Whether the customer called: then the number called, if there is one, is ours.
    #[must_use]
    pub fn is_inbound(&self) -> bool {
        self.is_of_a_page() || (self.to_number.is_some() && self.customer_phone != self.to_number)
    }

    /// Whether it is spoken over a web page's microphone: no number calls, and none is called.
    #[must_use]
    pub fn is_of_a_page(&self) -> bool {
        self.channel == Some(Channel::WidgetVoice)
    }
}

/// A conversation with its agent's name, as lists and reads show it.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = schema::conversations)]
pub struct ConversationView {
    /// The conversation.
    #[diesel(embed)]
    pub conversation: Conversation,
    /// The agent's present name.
    #[diesel(select_expression = schema::agents::name)]
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
    /// How long the customer waited for it, step by step: a JSON object.
    pub latency: Option<String>,
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
    /// How long the customer waited for it, step by step: a JSON object.
    pub latency: Option<String>,
    /// Its number in the conversation, where its writer counts: told again it is not stored twice, as a writer must whose
    /// answer was lost.
    pub seq: Option<i32>,
}

impl NewTurn {
    /// A turn that was written, not said.
    pub const fn written(role: &'static str, text: String, at: Timestamp) -> Self {
        Self {
            role,
            text,
            started_at: at,
            duration_ms: 0,
            interrupted: false,
            latency: None,
            seq: None,
        }
    }
}
