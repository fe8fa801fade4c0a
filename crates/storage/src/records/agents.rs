//! Agents.

use diesel::prelude::*;
use offhook_domain::{
    AccountId, AgentId, AgentStatus, DocumentId, FolderId, Runtime, Timestamp, ToolId,
};

use crate::schema;

/// An agent.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = schema::agents)]
pub struct Agent {
    /// Its id.
    pub id: AgentId,
    /// Whose it is.
    pub account_id: AccountId,
    /// Who runs it.
    pub runtime: Runtime,
    /// Its name.
    pub name: String,
    /// Its locale.
    pub language: String,
    /// Its status.
    pub status: AgentStatus,
    /// Its id at the legacy provider.
    pub provider_agent_id: Option<String>,
    /// The legacy provider's summary, as JSON text.
    pub legacy_config: Option<String>,
    /// The latest saved version, 0 without any.
    pub head_version: i32,
    /// The version that serves calls, 0 when never published.
    pub published_version: i32,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its row, versions or publication last changed.
    pub updated_at: Timestamp,
}

/// How a client names an agent in a call.
#[derive(Debug, Clone)]
pub enum AgentRef {
    /// By its id.
    Id(AgentId),
    /// By its id at the legacy provider.
    Provider(String),
}

/// An agent that is about to be made.
#[derive(Debug, Clone)]
pub struct NewAgent {
    /// The agent; `head_version` is 1 with a config and 0 without.
    pub agent: Agent,
    /// The name as it is compared.
    pub name_folded: String,
    /// The configuration of version 1, as JSON text.
    pub config: Option<String>,
}

/// A change of an agent, guarded by the head that the client saw.
#[derive(Debug, Clone)]
pub struct AgentChange {
    /// The head version that the change was made on.
    pub head_version: i32,
    /// A new name, and as it is compared.
    pub name: Option<(String, String)>,
    /// A new locale.
    pub language: Option<String>,
    /// The status that the change was judged by, and the new one.
    pub status: Option<(AgentStatus, AgentStatus)>,
    /// The configuration of the next version, as JSON text.
    pub config: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// A saved version of an agent.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = schema::agent_versions)]
pub struct AgentVersion {
    /// Its number, from 1.
    pub version: i32,
    /// When it was saved.
    pub created_at: Timestamp,
    /// When it was last published.
    pub published_at: Option<Timestamp>,
    /// What was said of it when it was last published with a note.
    pub note: Option<String>,
}

/// An engine agent whose published version serves calls, or should.
#[derive(Debug, Clone, Queryable)]
pub struct ServingAgent {
    /// The agent.
    pub id: AgentId,
    /// `active` or `error`.
    pub status: AgentStatus,
    /// The published version.
    pub version: i32,
    /// Its configuration, as JSON text.
    pub config: String,
}

/// A version that is to serve calls.
#[derive(Debug, Clone)]
pub struct Publication {
    /// The version.
    pub version: i32,
    /// The status that the publication was judged by, and the one to come.
    pub statuses: (AgentStatus, AgentStatus),
    /// What to say of it.
    pub note: Option<String>,
    /// The tools to pin when the version is published for the first time, in the configuration's order.
    pub tools: Vec<ToolId>,
    /// What to pin then as what it answers from: these documents, and those that are in these folders now.
    pub knowledge: (Vec<DocumentId>, Vec<FolderId>),
    /// When.
    pub at: Timestamp,
}

/// What agents a list shows.
#[derive(Debug, Clone, Default)]
pub struct AgentFilter {
    /// Only of this runtime.
    pub runtime: Option<Runtime>,
    /// Only in this status.
    pub status: Option<AgentStatus>,
    /// Only with this text in the folded name.
    pub q: Option<String>,
}
