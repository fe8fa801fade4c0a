//! Spoken conversations of web pages.

use offhook_domain::{AccountId, AgentId, ConversationId, Credits, NodeId, Price, Timestamp};

use super::Conversation;

/// A spoken conversation that a page wants to begin.
#[derive(Debug, Clone)]
pub struct NewTalk {
    pub id: ConversationId,
    /// The account that has the agent.
    pub account_id: AccountId,
    pub agent_id: AgentId,
    pub agent_version: i32,
    pub origin: String,
    /// The page's metadata, as its own JSON text.
    pub metadata: String,
    /// Price per minute.
    pub price: Price,
    /// Credits to reserve.
    pub reserve: Credits,
    pub at: Timestamp,
    /// `at` by the process's steady clock ([`offhook_domain::Clock::steady`]).
    pub steady: Timestamp,
    /// The process that the page is connected to.
    pub node: NodeId,
    /// How many concurrent calls the account's plan allows.
    pub live_calls: u32,
    /// How many of these web pages may use: strangers begin them.
    pub of_pages: u32,
}

/// The result of beginning a spoken conversation. Unless it is `Claimed`, nothing was written.
#[derive(Debug, Clone)]
pub enum TalkTaken {
    /// It is written, and claimed by the process that took it.
    Claimed(Box<Conversation>),
    /// The widget is off, or the origin is not one of its own.
    Refused,
    /// The limit of new sessions per minute is reached.
    TooMany,
    /// The widget's daily credits do not cover the first minute.
    CapReached,
    /// The account has as many calls as its plan allows.
    LinesBusy,
    /// The agent no longer serves calls.
    AgentUnavailable,
    /// The wallet does not cover the first minute.
    WalletTooLow,
}
