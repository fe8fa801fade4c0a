//! Legacy agents and calls as their provider reports them.

use crate::prelude::*;

/// An agent of the provider's list.
#[derive(Debug, Clone)]
pub struct ListedAgent {
    /// Its id at the provider.
    pub provider_agent_id: String,
    /// Its name at the provider.
    pub name: String,
    /// The name as folded for comparison.
    pub name_folded: String,
    pub language: String,
    /// The stored summary, as JSON text.
    pub config: String,
    /// The numbers assigned to it.
    pub numbers: Vec<ListedNumber>,
}

/// A number of an agent of the provider's list.
#[derive(Debug, Clone)]
pub struct ListedNumber {
    pub number: E164,
    pub label: String,
    /// The carrier of its calls.
    pub provider: NumberProvider,
}

/// A report about a call that the provider sends on its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegacyReport {
    /// The provider's id of the call.
    pub provider_call_id: String,
    /// The call, if the report names it.
    pub conversation: Option<ConversationId>,
    /// Why the call never began; `None` if it has ended.
    pub failure: Option<FailureReason>,
}

impl LegacyReport {
    pub(crate) const fn kind(&self) -> &'static str {
        match self.failure {
            Some(_) => "not_begun",
            None => "ended",
        }
    }
}

/// The result of a synchronization.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Synced {
    /// Agents that the provider lists.
    pub listed: usize,
    /// Those of them that are new.
    pub added: usize,
    /// Archived agents, which the provider no longer lists.
    pub archived: usize,
}

/// A conversation that the provider of the legacy agents handled on its own, to store.
#[derive(Debug, Clone)]
pub struct FoundConversation {
    /// Its id here.
    pub id: ConversationId,
    pub account_id: AccountId,
    /// The agent's id at the provider.
    pub provider_agent_id: String,
    /// The conversation's id at the provider.
    pub provider_call_id: String,
    /// Where it took place.
    pub channel: Channel,
    /// The caller, if known.
    pub from: Option<E164>,
    /// The called number.
    pub to: Option<E164>,
    /// The one of the two numbers that is not the agent's.
    pub customer: Option<E164>,
    pub began_at: Timestamp,
    pub at: Timestamp,
    /// `at` by the process's steady clock.
    pub steady: Timestamp,
    pub node: NodeId,
}
