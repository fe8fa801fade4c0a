//! Legacy agents as their provider tells of them.

use offhook_domain::E164;

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
    /// The numbers that it calls from, each with its label.
    pub numbers: Vec<(E164, String)>,
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
