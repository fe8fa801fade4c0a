//! Conversations to begin.

use offhook_domain::{
    AccountId, AgentId, Channel, ConversationId, Credits, E164, Price, Timestamp,
};

/// A conversation that an engine agent answers: with a customer who calls or writes, or with a web page.
#[derive(Debug, Clone)]
pub struct NewConversation {
    pub id: ConversationId,
    pub account_id: AccountId,
    pub agent_id: AgentId,
    pub agent_version: i32,
    pub channel: Channel,
    /// The customer's number; `None` if it is withheld, or there is none.
    pub from: Option<E164>,
    /// The account's number, if there is one.
    pub to: Option<E164>,
    /// As its own JSON text.
    pub metadata: String,
    /// Price per minute. Of a text conversation, that of the most expensive model that may answer.
    pub price: Price,
    /// Credits to reserve.
    pub reserve: Credits,
    /// What ends the call if this process dies.
    pub dialog: Option<String>,
    pub at: Timestamp,
    /// `at` by the process's steady clock ([`offhook_domain::Clock::steady`]).
    pub steady: Timestamp,
}

/// What a text conversation has in addition.
#[derive(Debug, Clone)]
pub struct NewChatSession {
    /// The page's origin. Empty for a conversation of a member of the account; [`crate::WHATSAPP_ORIGIN`] on WhatsApp.
    pub origin: String,
    /// SHA-256 of the session's token.
    pub token_digest: Vec<u8>,
    /// When the token expires.
    pub token_expires_at: Timestamp,
    /// The UTC day whose cap the reserved credits count against.
    pub held_day: i32,
    /// The agent's first message, if it has one.
    pub first_message: Option<String>,
}
