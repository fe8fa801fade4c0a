//! An agent's versions, and archiving it.

use super::{Agents, shown};
use crate::error::Result;
use crate::prelude::*;

/// A saved version as the API shows it.
#[derive(Debug, Clone)]
pub struct AgentVersionView {
    pub version: AgentVersion,
    /// Whether this version serves calls.
    pub is_published: bool,
    /// Its configuration with `version` first; `None` in lists.
    pub config: Option<Json>,
}

impl AgentVersionView {
    fn of(agent: &Agent, version: AgentVersion, config: Option<Json>) -> Self {
        Self {
            is_published: version.version == agent.published_version,
            version,
            config,
        }
    }

    /// The cursor for the page after this version: pages of versions go by number.
    pub fn place(&self) -> Timestamp {
        Timestamp::from_micros(i64::from(self.version.version))
    }
}

#[boxed]
impl Agents {
    /// Lists an agent's versions, highest first, after `after` ([`AgentVersionView::place`]).
    pub async fn versions(
        &self,
        account: AccountId,
        id: AgentId,
        after: Option<Timestamp>,
        limit: u32,
    ) -> Result<Page<AgentVersionView>> {
        let before = after.map(|place| i32::try_from(place.micros()).unwrap_or(0));
        let store = &self.ctx.store;
        let found = store.agent_versions(account, id, before, i64::from(limit));
        let (agent, versions) = found.await?.ok_or(UseCaseError::NotFound)?;
        only_engine(&agent)?;
        let views = versions
            .into_iter()
            .map(|version| AgentVersionView::of(&agent, version, None));
        Ok(Page::of(views.collect(), limit))
    }

    /// Whether calls here are simulated and so lack the sound that a configuration requires: a recording or a
    /// background.
    #[must_use]
    pub fn has_no_sound_for(&self, config: &Json) -> bool {
        let conversation = config.get("conversation");
        let of = |section, name| conversation?.get(section)?.get(name);
        let asks = of("recording", "enabled") == Some(&Json::Bool(true))
            || of("audio", "ambient").is_some_and(|ambient| *ambient != Json::Null);
        asks && !self.providers.network.is_spoken()
    }

    /// Returns a version of an agent with its configuration.
    pub async fn version(
        &self,
        account: AccountId,
        id: AgentId,
        version: i32,
    ) -> Result<AgentVersionView> {
        let found = self.ctx.store.agent_version(account, id, version).await?;
        let (agent, found) = found.ok_or(UseCaseError::NotFound)?;
        only_engine(&agent)?;
        let (version, stored) = found.ok_or(UseCaseError::NotFound)?;
        let config = shown(version.version, &stored)?;
        Ok(AgentVersionView::of(&agent, version, Some(config)))
    }

    /// Archives an agent. Its conversations stay; archiving it again changes nothing.
    pub async fn archive(&self, account: AccountId, id: AgentId) -> Result<()> {
        let at = self.ctx.clock.now();
        let agent = self.ctx.store.archive_agent(account, id, at).await?;
        let agent = agent.ok_or(UseCaseError::NotFound)?;
        if agent.runtime == Runtime::Legacy {
            return Err(UseCaseError::UnsupportedRuntime(Refusal::LegacyArchive));
        }
        Ok(())
    }
}

fn only_engine(agent: &Agent) -> Result<()> {
    match agent.runtime {
        Runtime::Engine => Ok(()),
        Runtime::Legacy => Err(UseCaseError::UnsupportedRuntime(Refusal::LegacyVersions)),
    }
}
