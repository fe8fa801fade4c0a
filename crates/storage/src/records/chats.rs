//! Widgets, and the text conversations that they begin.

use diesel::prelude::*;
use offhook_domain::{
    AccountId, AgentId, ClaimId, ConversationId, Credits, NodeId, Price, TerminationReason,
    Timestamp,
};

use crate::{Account, Agent, Conversation, Moment, NewTurn, schema};

/// What an account has set for the widget of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WidgetSettings {
    /// Whether pages may talk to the agent.
    pub enabled: bool,
    /// The origins whose pages may, in the account's order.
    pub origins: Vec<String>,
    /// Sessions that may begin in a minute.
    pub max_sessions_per_minute: i32,
    /// Credits that its sessions may hold and spend on a UTC day; `None`: as many as the wallet has.
    pub daily_credit_cap: Option<Credits>,
}

/// An agent with everything that says whether its widget serves.
#[derive(Debug, Clone)]
pub struct WidgetAgent {
    /// The agent.
    pub agent: Agent,
    /// Whose it is.
    pub account: Account,
    /// Its widget's settings, if any were made.
    pub settings: Option<WidgetSettings>,
    /// The published configuration, as JSON text.
    pub config: Option<String>,
}

/// A text conversation that is about to begin.
#[derive(Debug, Clone)]
pub struct NewChat {
    /// Its id.
    pub id: ConversationId,
    /// Whose it is.
    pub account_id: AccountId,
    /// The agent.
    pub agent_id: AgentId,
    /// The published version.
    pub agent_version: i32,
    /// What the page sent along, as its own JSON text.
    pub metadata: String,
    /// Price per minute of the dearest model that may answer.
    pub price: Price,
    /// The origin of the page; empty for a conversation of a member of the account, [`WHATSAPP_ORIGIN`] on WhatsApp.
    pub origin: String,
    /// SHA-256 of the session's token.
    pub token_digest: Vec<u8>,
    /// From when on the token opens nothing.
    pub token_expires_at: Timestamp,
    /// What the agent says first, if it does.
    pub first_message: Option<String>,
    /// When it begins.
    pub at: Timestamp,
}

/// What became of an attempt to begin a text conversation. Unless it is `Opened`, nothing was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatOpened {
    /// It is written, and holds the credits of one answer.
    Opened,
    /// The widget is off, or the origin is none of its own.
    Refused,
    /// As many sessions as may have begun in this minute.
    TooMany,
    /// The day's credits of the widget do not cover an answer.
    CapReached,
    /// The wallet does not.
    WalletTooLow,
}

/// What stands in the place of a page's origin where the customer writes on WhatsApp. No page's origin is of this form.
pub const WHATSAPP_ORIGIN: &str = "whatsapp";

/// Whether a session's origin is a web page's.
pub(crate) fn is_widget_origin(origin: &str) -> bool {
    !origin.is_empty() && origin != WHATSAPP_ORIGIN
}

/// What a text conversation has besides the row of every conversation.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::chat_sessions)]
pub struct ChatSession {
    /// The conversation.
    pub conversation_id: ConversationId,
    /// Whose it is.
    pub account_id: AccountId,
    /// The agent.
    pub agent_id: AgentId,
    /// The origin of the page that began it; empty if a member of the account did, [`WHATSAPP_ORIGIN`] on WhatsApp.
    pub origin: String,
    /// From when on its token opens nothing.
    pub token_expires_at: Timestamp,
    /// Whether it takes messages.
    pub is_open: bool,
    /// When the customer or the agent last did something.
    pub active_at: Timestamp,
    /// The UTC day whose cap its last held credits count for.
    pub held_day: i32,
    /// Answers that are charged.
    pub answers: i32,
    /// The claim of whoever answers or closes it now.
    pub claim_id: Option<ClaimId>,
    /// The process that has the claim.
    pub node_id: Option<NodeId>,
    /// Until when the claim is in force.
    pub lease_expires_at: Option<Timestamp>,
    /// What the transcript will say of the tools that are at work now, should nobody hear what they answered: a JSON array
    /// of texts.
    pub tools_at_work: Option<String>,
}

impl ChatSession {
    /// Whether a member of the account talks in it, and no web page's visitor: no widget limits it.
    #[must_use]
    pub const fn is_of_member(&self) -> bool {
        self.origin.is_empty()
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
    /// The session.
    pub session: ChatSession,
    /// The conversation.
    pub conversation: Conversation,
    /// Whether the widget is on and still names the session's origin.
    pub is_served: bool,
}

/// A message of the customer.
#[derive(Debug, Clone)]
pub struct NewChatMessage {
    /// The conversation.
    pub conversation: ConversationId,
    /// The id that the client gave it.
    pub message_id: Option<String>,
    /// SHA-256 of the text.
    pub digest: Vec<u8>,
    /// What it says.
    pub text: String,
    /// The process that will answer.
    pub node: NodeId,
    /// When it came.
    pub at: Timestamp,
}

/// What became of a message. Unless it is `Taken`, nothing was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatTaken {
    /// It is to be answered under this claim.
    Taken {
        /// The claim.
        claim: ClaimId,
        /// The moment of the customer's words.
        seq: i32,
        /// Answers that were charged before.
        answers: i32,
    },
    /// It was answered before, by the moments behind `seq` up to `last`.
    Answered {
        /// The moment of the customer's words.
        seq: i32,
        /// The last moment of the answer.
        last: i32,
        /// Answers that are charged.
        answers: i32,
    },
    /// Its id was used for another text.
    OtherText,
    /// Another message is being answered.
    Busy,
    /// The conversation has ended.
    Ended,
    /// The widget is off, or the origin is none of its own any more.
    Refused,
    /// The day's credits of the widget do not cover an answer.
    CapReached,
    /// The wallet does not.
    WalletTooLow,
}

/// The end of an answer.
#[derive(Debug, Clone)]
pub struct ChatAnswered {
    /// What is still to be written of it.
    pub turns: Vec<NewTurn>,
    /// The last moment of the conversation once they are written, where their writer counts: told again it is not written
    /// twice.
    pub last: Option<i32>,
    /// Whether it is charged: the agent said something.
    pub is_charged: bool,
    /// Whether whatever the customer has said so far is answered by this for good, and a retry is told the same.
    pub is_final: bool,
    /// When it ended.
    pub at: Timestamp,
}

/// Why and when a text conversation ends.
#[derive(Debug, Clone, Copy)]
pub struct ChatEnding {
    /// Why.
    pub reason: TerminationReason,
    /// The process that closes it.
    pub node: NodeId,
    /// The present.
    pub at: Timestamp,
    /// Only if nothing has happened in it since before this instant; it then ended with the last thing that did.
    pub idle_before: Option<Timestamp>,
}

/// A text conversation that is being closed under a claim.
#[derive(Debug, Clone)]
pub struct ClosingChat {
    /// The claim.
    pub claim: ClaimId,
    /// The conversation.
    pub conversation: Conversation,
}

/// The last words of a text conversation, oldest first.
pub type ChatHistory = Vec<Moment>;
