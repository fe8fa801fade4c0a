//! Widgets and text conversations.

use diesel::prelude::*;
use offhook_domain::{
    AccountId, AgentId, ClaimId, ConversationId, Credits, NodeId, TerminationReason, Timestamp,
};

use crate::{Account, Agent, Conversation, Moment, NewTurn, schema};

/// An account's settings for the widget of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WidgetSettings {
    pub enabled: bool,
    /// The origins whose pages may use the widget, in the account's order.
    pub origins: Vec<String>,
    /// Sessions that may begin in a minute.
    pub max_sessions_per_minute: i32,
    /// Credits that its sessions may reserve and spend on a UTC day. `None` leaves only the wallet as limit.
    pub daily_credit_cap: Option<Credits>,
}

/// An agent with all that decides whether its widget serves.
#[derive(Debug, Clone)]
pub struct WidgetAgent {
    pub agent: Agent,
    pub account: Account,
    /// Its widget's settings, if they exist.
    pub settings: Option<WidgetSettings>,
    /// The published configuration, as JSON text.
    pub config: Option<String>,
}

/// Replaces the page's origin where the customer writes on WhatsApp. No page's origin has this form.
pub const WHATSAPP_ORIGIN: &str = "whatsapp";

/// Whether a session's origin is a web page.
pub(crate) fn is_widget_origin(origin: &str) -> bool {
    !origin.is_empty() && origin != WHATSAPP_ORIGIN
}

/// What a text conversation has in addition to its conversation row.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::chat_sessions)]
pub struct ChatSession {
    pub conversation_id: ConversationId,
    pub account_id: AccountId,
    pub agent_id: AgentId,
    /// The origin of the page that began it. Empty if a member of the account did; [`WHATSAPP_ORIGIN`] on WhatsApp.
    pub origin: String,
    /// When its token expires.
    pub token_expires_at: Timestamp,
    /// Whether it accepts messages.
    pub is_open: bool,
    /// When the customer or the agent last acted.
    pub active_at: Timestamp,
    /// The UTC day whose cap its last reserved credits count against.
    pub held_day: i32,
    /// Charged answers.
    pub answers: i32,
    /// The claim of the worker that answers or closes it now.
    pub claim_id: Option<ClaimId>,
    /// The process that holds the claim.
    pub node_id: Option<NodeId>,
    /// When the claim expires.
    pub lease_expires_at: Option<Timestamp>,
    /// What the transcript will say of the tools that run now, if their results are lost: a JSON array of texts.
    pub tools_at_work: Option<String>,
}

impl ChatSession {
    /// Whether a member of the account talks in it, not a web page's visitor. No widget limits it.
    #[must_use]
    pub const fn is_of_member(&self) -> bool {
        self.origin.is_empty()
    }

    /// Whether a living worker has its claim. `alone` is this process on the embedded database, where no other can have
    /// a valid one.
    #[must_use]
    pub fn is_claimed(&self, lease_now: Timestamp, alone: Option<NodeId>) -> bool {
        self.claim_id.is_some()
            && alone.is_none_or(|node| self.node_id == Some(node))
            && self.lease_expires_at.is_some_and(|at| at >= lease_now)
    }

    /// Whether a web page's visitor talks in it, so that its agent's widget limits it.
    #[must_use]
    pub fn is_of_widget(&self) -> bool {
        is_widget_origin(&self.origin)
    }
}

/// A text conversation as its token opens it.
#[derive(Debug, Clone)]
pub struct ChatView {
    pub session: ChatSession,
    pub conversation: Conversation,
    /// Whether the widget is on and still lists the session's origin.
    pub is_served: bool,
}

/// A customer's message.
#[derive(Debug, Clone)]
pub struct NewChatMessage {
    pub conversation: ConversationId,
    /// The id that the client gave it.
    pub message_id: Option<String>,
    /// SHA-256 of the text.
    pub digest: Vec<u8>,
    pub text: String,
    /// The process that will answer.
    pub node: NodeId,
    pub at: Timestamp,
}

/// A customer's message with a client's id.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::chat_messages)]
pub struct ChatMessage {
    /// SHA-256 of the text.
    pub digest: Vec<u8>,
    pub seq: i32,
    /// The last moment of its answer.
    pub answered_seq: Option<i32>,
}

/// The end of an answer.
#[derive(Debug, Clone)]
pub struct ChatAnswered {
    /// The turns of it that are not written yet.
    pub turns: Vec<NewTurn>,
    /// The last moment of the conversation once they are written, if the writer counts moments. A retry with it writes
    /// nothing twice.
    pub last: Option<i32>,
    /// Whether it is charged, because the agent said something.
    pub is_charged: bool,
    /// Whether this is the final answer to all of the customer's messages so far. A retry then gets the same answer.
    pub is_final: bool,
    pub at: Timestamp,
}

/// Why and when a text conversation ends.
#[derive(Debug, Clone, Copy)]
pub struct ChatEnding {
    pub reason: TerminationReason,
    /// The process that closes it.
    pub node: NodeId,
    pub at: Timestamp,
    /// End it only if it has been idle since before this time. It then ended with its last activity.
    pub idle_before: Option<Timestamp>,
}

/// A text conversation that is being closed under a claim.
#[derive(Debug, Clone)]
pub struct ClosingChat {
    pub claim: ClaimId,
    pub conversation: Conversation,
}

/// The latest messages of a text conversation, oldest first.
pub type ChatHistory = Vec<Moment>;
