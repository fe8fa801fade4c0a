//! Agents: drafts, versions and publishing.

mod bodies;
mod check;
mod drafting;
mod first;
mod free_budget;
mod judge;
mod offered;
mod publish;
mod review;
mod settings;
mod speech;
mod versions;

use offhook_egress::GuardedClient;
use offhook_engine::ports::KeyAnswer;

use crate::Voices;
use crate::casefold::fold;
use crate::catalog::Catalog;
use crate::error::Result;
use crate::prelude::*;
use crate::refusal::{Remedy, VersionField};
use check::check_language;
use free_budget::FreeBudget;

pub use bodies::{CreateAgent, UpdateAgent};
pub use drafting::AgentTexts;
pub use offered::OfferedProvider;
pub use publish::PublishAgent;
pub use settings::{AgentSettings, AgentSettingsView, ContextUrl, SetAgentSettings};
pub use versions::AgentVersionView;

/// How often a change without an expected version is retried on a newer head.
const TRIES: usize = 5;

/// An agent as the API shows it.
#[derive(Debug, Clone)]
pub struct AgentView {
    pub agent: Agent,
    /// The head configuration with `version` first, or the legacy provider's summary.
    pub config: Option<Json>,
    /// The numbers a legacy agent calls from, oldest first; empty for an engine agent.
    pub numbers: Vec<PhoneNumber>,
}

#[derive(Clone)]
pub struct Agents {
    pub(crate) ctx: Arc<Context>,
    pub(crate) providers: Arc<Providers>,
    pub(crate) voices: Voices,
    /// The client of tools; its policy says which URLs agents may name.
    client: GuardedClient,
    free: FreeBudget,
    actor: Actor,
}

#[boxed]
impl Agents {
    pub(crate) fn new(
        ctx: Arc<Context>,
        providers: Arc<Providers>,
        voices: Voices,
        client: GuardedClient,
    ) -> Self {
        Self {
            client,
            ctx,
            providers,
            voices,
            free: FreeBudget::default(),
            actor: Actor::Operator,
        }
    }

    /// The same on behalf of a signed-in user or a key, whom the versions name.
    #[must_use]
    pub fn by(&self, actor: Actor) -> Self {
        Self {
            actor,
            ..self.clone()
        }
    }

    /// The same for an account, with the providers that its own keys open.
    pub async fn of(&self, account: AccountId) -> Result<Self, StoreError> {
        let providers = self.providers.of(&self.ctx, account).await?;
        Ok(Self {
            providers,
            ..self.clone()
        })
    }

    /// Asks the vendor of an own key once whether it accepts the key, which is about to be stored.
    pub async fn ask_vendor(&self, vendor: CredentialProvider, secret: &str) -> KeyAnswer {
        self.providers.ask_vendor(vendor, secret).await
    }

    /// The models that agents may name, with their prices.
    pub fn catalog(&self) -> &Catalog {
        &self.providers.catalog
    }
}

#[boxed]
impl Agents {
    /// Lists agents, newest first. `q` ignores case.
    pub async fn list(
        &self,
        account: AccountId,
        mut filter: AgentFilter,
        page: PageRequest<AgentId>,
    ) -> Result<Page<Agent>, StoreError> {
        filter.q = filter.q.as_deref().map(fold);
        let store = &self.ctx.store;
        page.read(|after, limit| store.agents(account, filter, after, limit))
            .await
    }

    /// Returns an agent with its head configuration.
    pub async fn get(&self, account: AccountId, id: AgentId) -> Result<AgentView> {
        let found = self.ctx.store.agent_with_config(account, id, None).await?;
        let (agent, config) = found.ok_or(UseCaseError::NotFound)?;
        self.with_numbers(view(agent, config)?).await
    }

    /// Lists the numbers that the legacy agents among these call from, each agent's oldest first.
    pub async fn numbers_of(
        &self,
        account: AccountId,
        agents: &[Agent],
    ) -> Result<Vec<PhoneNumber>, StoreError> {
        let legacy = agents
            .iter()
            .filter(|agent| agent.runtime == Runtime::Legacy);
        let ids: Vec<AgentId> = legacy.map(|agent| agent.id).collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        self.ctx.store.numbers_of_agents(account, ids).await
    }

    /// When the newest conversation of each of these agents began; without those that have none.
    pub async fn last_conversations(
        &self,
        account: AccountId,
        agents: &[Agent],
    ) -> Result<Vec<(AgentId, Timestamp)>, StoreError> {
        let ids = agents.iter().map(|agent| agent.id).collect();
        self.ctx.store.last_conversations(account, ids).await
    }

    async fn with_numbers(&self, mut view: AgentView) -> Result<AgentView> {
        let agent = std::slice::from_ref(&view.agent);
        view.numbers = self.numbers_of(view.agent.account_id, agent).await?;
        Ok(view)
    }

    /// Creates an engine agent as a draft: `{name, language, config?}`. Ignores the `version` of a copied
    /// configuration.
    pub async fn create(&self, account: AccountId, body: &Json) -> Result<AgentView> {
        let CreateAgent {
            name,
            language,
            config,
        } = CreateAgent::of(body, &())?;
        check_language("language", &language)?;
        let config = config.map(|config| ConfigWrite::from_json(&config, "config", &language));
        let config = config.transpose()?;
        if let Some(write) = &config {
            let providers = self.providers.of(&self.ctx, account).await?;
            providers.check_config(&write.config)?;
            self.ctx.tools_of(account, &write.config).await??;
            let knowledge = self.ctx.check_knowledge(account, &write.config, None);
            knowledge.await?;
        }
        let at = self.ctx.clock.now();
        let language = config
            .as_ref()
            .map_or(language, |write| write.config.language.clone());
        let agent = Agent {
            id: mint(at),
            account_id: account,
            runtime: Runtime::Engine,
            name,
            language,
            status: AgentStatus::Draft,
            provider_agent_id: None,
            legacy_config: None,
            head_version: i32::from(config.is_some()),
            published_version: 0,
            created_at: at,
            updated_at: at,
        };
        let stored = config.map(|write| write.config.to_stored());
        self.ctx
            .store
            .acting(self.actor)
            .create_agent(NewAgent {
                name_folded: fold(&agent.name),
                agent: agent.clone(),
                config: stored.clone(),
            })
            .await?;
        view(agent, stored)
    }

    /// Changes an agent: `{name?, language?, status?, config?, expected_version?}`. `config` is merged (RFC 7396) into
    /// the head; if that changes it, or tools that it names have changed since it was published, the next version is saved.
    pub async fn update(&self, account: AccountId, id: AgentId, body: &Json) -> Result<AgentView> {
        let patch = UpdateAgent::read_from(body)?;
        let of_account = self.of(account).await?;
        for _ in 0..TRIES {
            let found = self.ctx.store.agent_with_config(account, id, None).await?;
            let (agent, stored) = found.ok_or(UseCaseError::NotFound)?;
            let mut change = of_account.change(&agent, stored.as_deref(), &patch)?;
            if patch.config.is_some()
                && change.config.is_none()
                && self.has_other_tools(&agent).await?
            {
                change.config.clone_from(&stored);
            }
            if changes_nothing(&change) {
                return self.with_numbers(view(agent, stored)?).await;
            }
            if let (Runtime::Legacy, Some((name, _))) = (agent.runtime, &change.name) {
                self.providers
                    .rename_at_provider(&self.ctx, &agent, name)
                    .await?;
            }
            if let Some(saved) = &change.config {
                let config = AgentConfig::from_stored(saved).map_err(corrupt)?;
                let head = stored.as_deref().map(AgentConfig::from_stored);
                let head = head.transpose().map_err(corrupt)?;
                // Tools and documents that the head already names may have been deleted since. They are skipped and do
                // not block this change.
                if head.as_ref().map(|head| &head.tool_ids) != Some(&config.tool_ids) {
                    self.ctx.tools_of(account, &config).await??;
                }
                let knowledge = self.ctx.check_knowledge(account, &config, head.as_ref());
                knowledge.await?;
            }
            let store = self.ctx.store.acting(self.actor);
            if let Some((agent, config)) = store.change_agent(account, id, change).await? {
                return self.with_numbers(view(agent, config)?).await;
            }
            // The head has moved. With an expected version the next try refuses; without one the patch is applied
            // again.
        }
        Err(UseCaseError::Conflict(Refusal::AgentContended))
    }

    /// Whether a tool is not what the head has pinned, if the head was published.
    async fn has_other_tools(&self, agent: &Agent) -> Result<bool> {
        let (store, account) = (&self.ctx.store, agent.account_id);
        let pinned = store.pinned_tools(account, agent.id, agent.head_version);
        for was in pinned.await? {
            let Some((row, headers)) = store.tool_with_headers(account, was.id).await? else {
                continue;
            };
            let read = |text: &str| Tool::from_stored(text).map_err(corrupt);
            // What its server says about its functions is asked for when it is pinned.
            let before = Tool {
                described: Vec::new(),
                ..read(&was.definition)?
            };
            if before != read(&row.definition)? || headers != was.headers {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn change(
        &self,
        agent: &Agent,
        stored: Option<&str>,
        patch: &UpdateAgent,
    ) -> Result<AgentChange> {
        if agent.runtime == Runtime::Legacy && !patch.is_name_alone() {
            return Err(UseCaseError::UnsupportedRuntime(Refusal::LegacyChange));
        }
        if agent.status == AgentStatus::Archived
            && patch.is_more_than_status()
            && patch.status != Some(AgentStatus::Paused)
        {
            return Err(UseCaseError::Conflict(Refusal::AgentArchived));
        }
        if let Some(expected) = patch.expected_version
            && expected != i64::from(agent.head_version)
        {
            return Err(stale(VersionField::Expected, agent.head_version));
        }
        let status = match patch.status {
            Some(next) if next != agent.status => Some((agent.status, allowed(agent, next)?)),
            _ => None,
        };
        let head = stored
            .map(AgentConfig::from_stored)
            .transpose()
            .map_err(corrupt)?;
        let (config, language) = self.configured(agent, head, patch)?;
        Ok(AgentChange {
            head_version: agent.head_version,
            name: (patch.name.clone())
                .filter(|name| *name != agent.name)
                .map(|name| (name.clone(), fold(&name))),
            language: language.filter(|language| *language != agent.language),
            status,
            config,
            settings: None,
            at: self.ctx.clock.now(),
        })
    }

    /// The configuration to save as the next version, if it changes, and the agent's new language, if that changes.
    fn configured(
        &self,
        agent: &Agent,
        head: Option<AgentConfig>,
        patch: &UpdateAgent,
    ) -> Result<(Option<String>, Option<String>)> {
        let mut language = patch.language.clone();
        if let Some(language) = &language {
            check_language("language", language)?;
        }
        if head.is_none() && patch.config.is_none() {
            return Ok((None, language));
        }
        let before = head.as_ref().map(AgentConfig::to_stored);
        let default = language.clone().unwrap_or_else(|| agent.language.clone());
        let mut config = head.unwrap_or_else(|| AgentConfig::new(&default));
        if let Some(language) = &language {
            config.language.clone_from(language);
        }
        if let Some(change) = &patch.config {
            let write = AgentConfig::merge(&config, change, "config")?;
            if let Some(version) = write.version
                && version != i64::from(agent.head_version)
            {
                return Err(stale(VersionField::Config, agent.head_version));
            }
            config = write.config;
        }
        if config.language != agent.language {
            language = Some(config.language.clone());
        }
        let after = config.to_stored();
        if before.as_ref() == Some(&after) {
            // This service may no longer support what is already saved. That must not block a new name.
            return Ok((None, language));
        }
        self.providers.check_config(&config)?;
        Ok((Some(after), language))
    }
}

/// `updated_at` moves only with the agent's row, and such a change leaves the row as it is.
fn changes_nothing(change: &AgentChange) -> bool {
    change.name.is_none()
        && change.language.is_none()
        && change.status.is_none()
        && change.config.is_none()
}

fn allowed(agent: &Agent, next: AgentStatus) -> Result<AgentStatus> {
    let unpublished = next == AgentStatus::Active && agent.published_version == 0;
    if agent.status.may_become(next) && !unpublished {
        return Ok(next);
    }
    Err(UseCaseError::Conflict(Refusal::AgentStatus {
        now: agent.status,
        next,
        remedy: Remedy::of(agent.status, next),
    }))
}

fn publishable_status(agent: &Agent) -> Result<AgentStatus> {
    if agent.runtime == Runtime::Legacy {
        return Err(UseCaseError::UnsupportedRuntime(Refusal::LegacyPublish));
    }
    match agent.status {
        AgentStatus::Archived => Err(UseCaseError::Conflict(Refusal::AgentArchived)),
        AgentStatus::Paused => Ok(AgentStatus::Paused),
        AgentStatus::Draft | AgentStatus::Active | AgentStatus::Error => Ok(AgentStatus::Active),
    }
}

fn refused(fault: FieldError) -> UseCaseError {
    UseCaseError::Conflict(Refusal::Unpublishable(Box::new(fault)))
}

fn stale(field: VersionField, head: i32) -> UseCaseError {
    UseCaseError::Conflict(Refusal::StaleVersion { field, head })
}

pub(crate) fn corrupt(error: JsonError) -> StoreError {
    StoreError::Corrupt(format!("a stored agent configuration: {error:?}"))
}

/// A stored configuration with its version first.
fn shown(version: i32, stored: &str) -> Result<Json, StoreError> {
    let config = AgentConfig::from_stored(stored).map_err(corrupt)?;
    let mut members = vec![("version".to_owned(), Json::from(i64::from(version)))];
    if let Json::Object(rest) = config.to_json() {
        members.extend(rest);
    }
    Ok(Json::Object(members))
}

fn view(agent: Agent, stored: Option<String>) -> Result<AgentView> {
    let config = match (agent.runtime, stored) {
        (Runtime::Engine, Some(stored)) => Some(shown(agent.head_version, &stored)?),
        (Runtime::Legacy, _) => match agent.legacy_config.as_deref() {
            Some(text) => Some(Json::parse(text.as_bytes()).map_err(corrupt)?),
            None => None,
        },
        (Runtime::Engine, None) => None,
    };
    Ok(AgentView {
        agent,
        config,
        numbers: Vec::new(),
    })
}
