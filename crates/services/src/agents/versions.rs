//! An agent's versions, and its way into the archive.

use offhook_boxed::boxed;
use offhook_domain::json::Json;
use offhook_domain::{AccountId, AgentId, Runtime, Timestamp};
use offhook_storage::{Agent, AgentVersion};

use super::{Agents, shown};
use crate::error::{Result, UseCaseError};
use crate::{Page, Refusal};

/// A saved version as its page shows it.
#[derive(Debug, Clone)]
pub struct AgentVersionView {
    pub version: AgentVersion,
    /// Whether it is the one that serves calls.
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

    /// What a page that begins behind this version is asked for with: pages of versions go by their number.
    pub fn place(&self) -> Timestamp {
        Timestamp::from_micros(i64::from(self.version.version))
    }
}

#[boxed]
impl Agents {
    /// A page of an agent's versions, the highest first, behind `after` ([`AgentVersionView::place`]).
    ///
    /// # Errors
    /// [`UseCaseError::NotFound`] if the account has no such agent, [`UseCaseError::UnsupportedRuntime`] for a legacy one.
    pub async fn versions(
        &self,
        account: AccountId,
        id: AgentId,
        after: Option<Timestamp>,
        limit: u32,
    ) -> Result<Page<AgentVersionView>> {
        let before = after.map(|place| i32::try_from(place.micros()).unwrap_or(0));
        let store = &self.0.store;
        let found = store.agent_versions(account, id, before, i64::from(limit));
        let (agent, versions) = found.await?.ok_or(UseCaseError::NotFound)?;
        only_engine(&agent)?;
        let views = versions
            .into_iter()
            .map(|version| AgentVersionView::of(&agent, version, None));
        Ok(Page::of(views.collect(), limit))
    }

    /// Whether calls here, which are simulated, have no sound for what a configuration asks of it: a recording, or a
    /// background.
    #[must_use]
    pub fn has_no_sound_for(&self, config: &Json) -> bool {
        let conversation = config.get("conversation");
        let of = |section, name| conversation?.get(section)?.get(name);
        let asks = of("recording", "enabled") == Some(&Json::Bool(true))
            || of("audio", "ambient").is_some_and(|ambient| *ambient != Json::Null);
        asks && !self.0.network.is_spoken()
    }

    /// A version of an agent with its configuration.
    ///
    /// # Errors
    /// [`UseCaseError::NotFound`] if the account has no such agent or the agent no such version,
    /// [`UseCaseError::UnsupportedRuntime`] for a legacy agent.
    pub async fn version(
        &self,
        account: AccountId,
        id: AgentId,
        version: i32,
    ) -> Result<AgentVersionView> {
        let found = self.0.store.agent_version(account, id, version).await?;
        let (agent, found) = found.ok_or(UseCaseError::NotFound)?;
        only_engine(&agent)?;
        let (version, stored) = found.ok_or(UseCaseError::NotFound)?;
        let config = shown(version.version, &stored)?;
        Ok(AgentVersionView::of(&agent, version, Some(config)))
    }

    /// Archives an agent. Its conversations stay; archiving it again changes nothing.
    ///
    /// # Errors
    /// [`UseCaseError::NotFound`] if the account has no such agent, [`UseCaseError::UnsupportedRuntime`] for a legacy one.
    pub async fn archive(&self, account: AccountId, id: AgentId) -> Result<()> {
        let at = self.0.clock.now();
        let agent = self.0.store.archive_agent(account, id, at).await?;
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
