//! Agents.

use crate::prelude::*;

#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = agents)]
pub struct Agent {
    pub id: AgentId,
    pub account_id: AccountId,
    pub runtime: Runtime,
    pub name: String,
    pub language: String,
    pub status: AgentStatus,
    /// Its id at the legacy provider.
    pub provider_agent_id: Option<String>,
    /// The legacy provider's summary, as JSON text.
    pub legacy_config: Option<String>,
    /// The latest saved version; 0 if there is none.
    pub head_version: i32,
    /// The version that serves calls; 0 if none was ever published.
    pub published_version: i32,
    pub created_at: Timestamp,
    /// When its row, versions or publication last changed.
    pub updated_at: Timestamp,
}

/// How a client names an agent in a call.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AgentRef {
    Id(AgentId),
    /// By its id at the legacy provider.
    Provider(String),
}

#[derive(Debug, Clone)]
pub struct NewAgent {
    /// The agent. `head_version` is 1 with a config and 0 without.
    pub agent: Agent,
    /// The name as folded for comparison.
    pub name_folded: String,
    /// The configuration of version 1, as JSON text.
    pub config: Option<String>,
}

/// A change of an agent, guarded by the head version that the client saw.
#[derive(Debug, Clone)]
pub struct AgentChange {
    /// The head version that the change is based on.
    pub head_version: i32,
    /// A new name, and its folded form.
    pub name: Option<(String, String)>,
    pub language: Option<String>,
    /// The status that the change was validated against, and the new one.
    pub status: Option<(AgentStatus, AgentStatus)>,
    /// The configuration of the next version, as JSON text.
    pub config: Option<String>,
    /// The settings of that version, as JSON text; `None` keeps those of the head.
    pub settings: Option<String>,
    pub at: Timestamp,
}

/// A saved version of an agent.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = agent_versions)]
pub struct AgentVersion {
    /// Its number, from 1.
    pub version: i32,
    /// When it was saved.
    pub created_at: Timestamp,
    /// When it was last published.
    pub published_at: Option<Timestamp>,
    /// The note of the last publication that had one.
    pub note: Option<String>,
    /// Who saved it, as [`Actor`] is written; `None` if that is not known.
    pub saved_by: Option<String>,
    /// Who published it last.
    pub published_by: Option<String>,
}

/// An engine agent whose published version serves calls, or should.
#[derive(Debug, Clone, Queryable)]
pub struct ServingAgent {
    pub id: AgentId,
    pub account_id: AccountId,
    /// `active` or `error`.
    pub status: AgentStatus,
    pub version: i32,
    pub config: String,
}

/// A version to publish.
#[derive(Debug, Clone)]
pub struct Publication {
    pub version: i32,
    /// The status that the publication was validated against, and the new one.
    pub statuses: (AgentStatus, AgentStatus),
    pub note: Option<String>,
    /// The tools to pin when the version is published for the first time, in the configuration's order.
    pub tools: Vec<ToolToPin>,
    /// The knowledge to pin then: these documents, and those that are in these folders now.
    pub knowledge: (Vec<DocumentId>, Vec<FolderId>),
    pub at: Timestamp,
}

/// Which agents a list shows.
#[derive(Debug, Clone, Default)]
pub struct AgentFilter {
    pub runtime: Option<Runtime>,
    pub status: Option<AgentStatus>,
    /// Only those whose folded name contains this text.
    pub q: Option<String>,
}
