//! Inbound calls.

use diesel::prelude::*;
use offhook_domain::{AccountId, AgentId, ConversationId, Credits, E164, NodeId, Price, Timestamp};

use super::{Account, Agent, Conversation};

/// The owner of a called number.
#[derive(Debug, Clone, Queryable)]
pub struct CalledNumber {
    /// The account that has the number.
    pub account: Account,
    /// The agent that it is assigned to.
    pub agent: Option<Agent>,
    /// The configuration that serves that agent's calls, as JSON text. `None` if none was ever published.
    pub config: Option<String>,
}

/// An inbound call to accept.
#[derive(Debug, Clone)]
pub struct NewInboundCall {
    pub id: ConversationId,
    /// The called number's account.
    pub account_id: AccountId,
    /// The agent that answers.
    pub agent_id: AgentId,
    pub agent_version: i32,
    /// The caller's number; `None` if it is withheld.
    pub from: Option<E164>,
    /// The called number, which is the account's.
    pub to: E164,
    /// Price per minute.
    pub price: Price,
    /// Credits to reserve.
    pub reserve: Credits,
    /// What ends the call if this process dies.
    pub dialog: Option<String>,
    pub at: Timestamp,
    /// `at` by the process's steady clock ([`offhook_domain::Clock::steady`]).
    pub steady: Timestamp,
    /// The process that takes it.
    pub node: NodeId,
    /// How many concurrent calls the account's plan allows.
    pub live_calls: u32,
}

/// The result of accepting an inbound call.
#[derive(Debug, Clone)]
pub enum Taken {
    /// It is written, and claimed by the process that took it.
    Claimed(Box<Conversation>),
    /// The account has as many calls as its plan allows.
    LinesBusy,
    /// The agent no longer serves calls.
    AgentUnavailable,
    /// The wallet cannot cover the reservation.
    WalletTooLow,
}
