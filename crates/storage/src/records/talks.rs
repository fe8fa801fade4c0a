//! Spoken conversations of web pages.

use offhook_domain::{AccountId, AgentId, ConversationId, Credits, NodeId, Price, Timestamp};

use super::Conversation;

/// A spoken conversation that a page is about to begin.
#[derive(Debug, Clone)]
pub struct NewTalk {
    /// Its id.
    pub id: ConversationId,
    /// Whose agent it is with.
    pub account_id: AccountId,
    /// The agent.
    pub agent_id: AgentId,
    /// The published version.
    pub agent_version: i32,
    /// The origin of the page.
    pub origin: String,
    /// What the page sent along, as its own JSON text.
    pub metadata: String,
    /// Price per minute.
    pub price: Price,
    /// Credits to hold.
    pub reserve: Credits,
    /// When it begins.
    pub at: Timestamp,
    /// The same by the process's steady clock ([`offhook_domain::Clock::steady`]).
    pub steady: Timestamp,
    /// The process that the page is connected to.
    pub node: NodeId,
    /// How many calls the account's plan allows at once.
    pub live_calls: u32,
    /// How many of these pages may take: strangers begin them.
    pub of_pages: u32,
}

/// What became of an attempt to begin a spoken conversation. Unless it is `Claimed`, nothing was written.
#[derive(Debug, Clone)]
pub enum TalkTaken {
    /// It is written, and claimed by the process that took it.
    Claimed(Box<Conversation>),
    /// The widget is off, or the origin is none of its own.
    Refused,
    /// As many sessions as may have begun in this minute.
    TooMany,
    /// The day's credits of the widget do not cover its first minute.
    CapReached,
    /// The account has as many calls as its plan allows.
    LinesBusy,
    /// The agent serves no more.
    AgentUnavailable,
    /// The wallet does not cover its first minute.
    WalletTooLow,
}
