//! Calls that come in.

use diesel::prelude::*;
use offhook_domain::{AccountId, AgentId, ConversationId, Credits, E164, NodeId, Price, Timestamp};

use super::{Account, Agent, Conversation};

/// Whose number was called.
#[derive(Debug, Clone, Queryable)]
pub struct CalledNumber {
    /// The account that has it.
    pub account: Account,
    /// The agent that it is assigned to.
    pub agent: Option<Agent>,
    /// The configuration that serves that agent's calls, as JSON text; `None` if none was ever published.
    pub config: Option<String>,
}

/// A call that came in and is about to be taken.
#[derive(Debug, Clone)]
pub struct NewInboundCall {
    /// Its id.
    pub id: ConversationId,
    /// Whose number was called.
    pub account_id: AccountId,
    /// The agent that answers.
    pub agent_id: AgentId,
    /// The published version.
    pub agent_version: i32,
    /// Who calls; `None` if the caller's number is withheld.
    pub from: Option<E164>,
    /// The account's number.
    pub to: E164,
    /// Price per minute.
    pub price: Price,
    /// Credits to hold.
    pub reserve: Credits,
    /// What ends the call, should this process die.
    pub dialog: Option<String>,
    /// When it came.
    pub at: Timestamp,
    /// The same by the process's steady clock ([`offhook_domain::Clock::steady`]).
    pub steady: Timestamp,
    /// The process that takes it.
    pub node: NodeId,
    /// How many calls the account's plan allows at once.
    pub live_calls: u32,
}

/// What became of an attempt to take a call that came in.
#[derive(Debug, Clone)]
pub enum Taken {
    /// It is written, and claimed by the process that took it.
    Claimed(Box<Conversation>),
    /// The account has as many calls as its plan allows.
    LinesBusy,
    /// The agent serves no more.
    AgentUnavailable,
    /// The wallet cannot cover the reservation.
    WalletTooLow,
}
