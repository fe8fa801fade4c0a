//! The Agent object.

use offhook_services::store::{Agent, PhoneNumber};
use offhook_services::{AgentVersionView, AgentView};

use super::shown;
use crate::prelude::*;

/// An agent. The outer `Option`s are fields that depend on the runtime, or that lists omit.
#[derive(Serialize)]
pub(crate) struct AgentBody<'a> {
    id: AgentId,
    runtime: Runtime,
    name: &'a str,
    status: AgentStatus,
    language: &'a str,
    created_at: Timestamp,
    updated_at: Timestamp,
    phone_numbers: Vec<AgentNumber<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<Option<&'a Json>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider_agent_id: Option<Option<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    current_version: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    published_version: Option<i32>,
}

/// As a read by id shows it.
impl<'a> From<&'a AgentView> for AgentBody<'a> {
    fn from(view: &'a AgentView) -> Self {
        Self {
            config: Some(view.config.as_ref()),
            ..Self::listed(&view.agent, &view.numbers)
        }
    }
}

impl<'a> AgentBody<'a> {
    /// As lists show it: without `config`. Its own numbers are picked from `numbers`.
    pub(crate) fn listed(agent: &'a Agent, numbers: &'a [PhoneNumber]) -> Self {
        let engine = agent.runtime == Runtime::Engine;
        let own = numbers
            .iter()
            .filter(|number| number.agent_id == Some(agent.id));
        Self {
            id: agent.id,
            runtime: agent.runtime,
            name: &agent.name,
            status: agent.status,
            language: &agent.language,
            created_at: agent.created_at,
            updated_at: agent.updated_at,
            phone_numbers: own.map(AgentNumber).collect(),
            config: None,
            provider_agent_id: (!engine).then_some(agent.provider_agent_id.as_deref()),
            current_version: engine.then_some(agent.head_version),
            published_version: engine.then_some(agent.published_version),
        }
    }
}

shown! {
    /// A number that the agent calls from.
    AgentNumber(number: PhoneNumber) {
        id,
        phone_number,
        label,
    }
}

shown! {
    /// A saved version of an agent, as lists show it.
    VersionBody(view: AgentVersionView) {
        version = view.version.version,
        created_at = view.version.created_at,
        published_at = view.version.published_at,
        is_published,
        note = &view.version.note,
    }
}

/// A saved version of an agent, as a read by its number shows it.
#[derive(Serialize)]
pub(crate) struct VersionWithConfig<'a> {
    #[serde(flatten)]
    version: VersionBody<'a>,
    config: &'a Option<Json>,
}

impl<'a> From<&'a AgentVersionView> for VersionWithConfig<'a> {
    fn from(view: &'a AgentVersionView) -> Self {
        Self {
            version: VersionBody(view),
            config: &view.config,
        }
    }
}

/// The response to DELETE.
#[derive(Serialize)]
pub(crate) struct Archived {
    pub(crate) id: AgentId,
    pub(crate) archived: bool,
}
