//! Legacy agents as their provider tells of them.

use offhook_domain::{
    AccountId, Channel, ConversationId, E164, FailureReason, NodeId, NumberProvider, Timestamp,
};

/// An agent of the provider's list.
#[derive(Debug, Clone)]
pub struct ListedAgent {
    /// Its id there.
    pub provider_agent_id: String,
    /// Its name there.
    pub name: String,
    /// The name as it is compared.
    pub name_folded: String,
    /// Its locale.
    pub language: String,
    /// The stored summary, as JSON text.
    pub config: String,
    /// The numbers that are its own.
    pub numbers: Vec<ListedNumber>,
}

/// A number of an agent of the provider's list.
#[derive(Debug, Clone)]
pub struct ListedNumber {
    /// The number.
    pub number: E164,
    /// What it is called.
    pub label: String,
    /// By whose lines it calls.
    pub provider: NumberProvider,
}

/// What the provider tells of a call of its own accord.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegacyReport {
    /// What the call is called there.
    pub provider_call_id: String,
    /// The call, if the report says whose it is.
    pub conversation: Option<ConversationId>,
    /// Why it was never begun; `None` if it has ended.
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

/// What a synchronisation did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Synced {
    /// Agents that the provider lists.
    pub listed: usize,
    /// Of these, new ones.
    pub added: usize,
    /// Agents that the provider lists no more, archived.
    pub archived: usize,
}

/// A conversation that the provider of the legacy agents had by itself, about to be written down.
#[derive(Debug, Clone)]
pub struct FoundConversation {
    /// Its id here.
    pub id: ConversationId,
    /// Whose it is.
    pub account_id: AccountId,
    /// The agent's id at the provider.
    pub provider_agent_id: String,
    /// Its own id there.
    pub provider_call_id: String,
    /// Where it took place.
    pub channel: Channel,
    /// Who called, if that is known.
    pub from: Option<E164>,
    /// Who was called.
    pub to: Option<E164>,
    /// The one of both that is not the agent's.
    pub customer: Option<E164>,
    /// When it began.
    pub began_at: Timestamp,
    /// The present, and the same by the process's steady clock.
    pub at: Timestamp,
    /// The present by the process's steady clock.
    pub steady: Timestamp,
    /// The process that takes it.
    pub node: NodeId,
}
