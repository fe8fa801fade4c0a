//! Scenarios: conversations that an agent is tested with before it speaks. They cost no credits, are in no list but their
//! own, and have no effect outside, unless a scenario says so for a tool.

mod format;
mod judging;
mod mocks;
mod persona;
mod play;
mod recorded;
mod required;
mod runs;
mod sound;

use std::sync::Arc;

use offhook_boxed::boxed;
use offhook_domain::json::{Fault, FieldError, Json};
use offhook_domain::{AccountId, AgentId, Changes, Runtime, ScenarioId};
use offhook_storage::{Actor, Agent, ScenarioRow, StoreError, mint};

use crate::error::{Result, UseCaseError};
use crate::trials::{Running, Trials};
use crate::{Page, PageRequest, Refusal};

pub use format::{CallerLine, Check, Mock, RunScenarios, Scenario};
pub use judging::Judged;
pub use mocks::UsedTool;
pub(crate) use mocks::{Instead, Mocks};
pub use play::{AnswerTime, Played, SaidLine};
pub use runs::{Conversation, Progress};

/// Scenarios of an agent at most.
const AT_MOST: i64 = 200;

/// An account's scenarios.
#[derive(Clone)]
pub struct Scenarios {
    pub(crate) trials: Trials,
    pub(crate) running: Arc<Running>,
    pub(crate) actor: Actor,
}

/// A stored scenario as the API shows it.
#[derive(Debug, Clone)]
pub struct ScenarioView {
    pub row: ScenarioRow,
    pub scenario: Scenario,
}

impl ScenarioView {
    fn of(row: ScenarioRow) -> Result<Self, StoreError> {
        let corrupt = || StoreError::Corrupt("a stored scenario".to_owned());
        let json = Json::parse(row.definition.as_bytes()).map_err(|_| corrupt())?;
        let scenario = Scenario::of_json(&json).map_err(|_| corrupt())?;
        Ok(Self { row, scenario })
    }
}

#[boxed]
impl Scenarios {
    /// The same on behalf of somebody, whom the audit log names.
    #[must_use]
    pub fn by(&self, actor: Actor) -> Self {
        Self {
            actor,
            ..self.clone()
        }
    }

    /// Lists scenarios, newest first.
    pub async fn list(
        &self,
        account: AccountId,
        agent: Option<AgentId>,
        page: PageRequest<ScenarioId>,
    ) -> Result<Page<ScenarioView>> {
        let store = &self.trials.0.store;
        let rows = store.scenarios(account, agent, page.after, i64::from(page.limit));
        let views = rows.await?.into_iter().map(ScenarioView::of);
        Ok(Page::of(views.collect::<Result<_, _>>()?, page.limit))
    }

    pub async fn get(&self, account: AccountId, id: ScenarioId) -> Result<ScenarioView> {
        let row = self.trials.0.store.scenario(account, id).await?;
        Ok(ScenarioView::of(row.ok_or(UseCaseError::NotFound)?)?)
    }

    /// Stores a scenario: its members, and `agent_id`.
    pub async fn create(&self, account: AccountId, body: &Json) -> Result<ScenarioView> {
        let Some(members) = body.as_object() else {
            return Err(FieldError::new("", Fault::NotObject).into());
        };
        let agent = body
            .get("agent_id")
            .ok_or_else(|| FieldError::new("agent_id", Fault::Required))?;
        let agent: Option<AgentId> = agent.as_str().and_then(|id| id.parse().ok());
        let agent = agent.ok_or_else(|| FieldError::new("agent_id", Fault::Uuid))?;
        let rest = members.iter().filter(|(name, _)| name != "agent_id");
        let scenario = Scenario::of_json(&Json::Object(rest.cloned().collect()))?;
        let at = self.trials.0.clock.now();
        let agent = self.engine_agent(account, agent).await;
        let agent = agent.map_err(|error| match error {
            UseCaseError::NotFound => FieldError::new("agent_id", Fault::NoAgent).into(),
            error => error,
        })?;
        let row = ScenarioRow {
            id: mint(at),
            account_id: account,
            agent_id: agent.id,
            name: scenario.name.clone(),
            suite: scenario.suite.clone(),
            definition: scenario.to_stored(),
            created_at: at,
            updated_at: at,
        };
        let made = self.trials.0.store.add_scenario(row.clone(), AT_MOST).await;
        match unless_taken(made, &row.name)? {
            true => Ok(ScenarioView { row, scenario }),
            false => Err(UseCaseError::Conflict(Refusal::TooManyScenarios(AT_MOST))),
        }
    }

    /// Changes a scenario by a merge patch (RFC 7396).
    pub async fn update(
        &self,
        account: AccountId,
        id: ScenarioId,
        patch: &Json,
    ) -> Result<ScenarioView> {
        if patch.as_object().is_none() {
            return Err(FieldError::new("", Fault::NotObject).into());
        }
        if patch.get("agent_id").is_some() {
            return Err(FieldError::new("agent_id", Fault::ReadOnly).into());
        }
        let before = self.get(account, id).await?;
        let corrupt = |_| StoreError::Corrupt("a stored scenario".to_owned());
        let stored = Json::parse(before.row.definition.as_bytes()).map_err(corrupt)?;
        self.save(before, &stored.merge_patch(patch)).await
    }

    /// Replaces a scenario.
    pub async fn replace(
        &self,
        account: AccountId,
        id: ScenarioId,
        body: &Json,
    ) -> Result<ScenarioView> {
        let before = self.get(account, id).await?;
        self.save(before, body).await
    }

    async fn save(&self, before: ScenarioView, body: &Json) -> Result<ScenarioView> {
        let scenario = Scenario::of_json(body)?;
        if scenario == before.scenario {
            return Ok(before);
        }
        let row = ScenarioRow {
            name: scenario.name.clone(),
            suite: scenario.suite.clone(),
            definition: scenario.to_stored(),
            updated_at: self.trials.0.clock.now(),
            ..before.row.clone()
        };
        let replaced = self.trials.0.store.replace_scenario(row.clone()).await;
        UseCaseError::unless_found(unless_taken(replaced, &row.name)?)?;
        self.note_if_required(&before.row, "required_suite.change")
            .await?;
        Ok(ScenarioView { row, scenario })
    }

    pub async fn delete(&self, account: AccountId, id: ScenarioId) -> Result<()> {
        let store = &self.trials.0.store;
        let row = store.scenario(account, id).await?;
        let row = row.ok_or(UseCaseError::NotFound)?;
        UseCaseError::unless_found(store.delete_scenario(account, id).await?)?;
        self.note_if_required(&row, "required_suite.change").await
    }

    /// Writes to the audit log that a scenario of a required suite is not what it was.
    async fn note_if_required(&self, row: &ScenarioRow, action: &str) -> Result<()> {
        let shared = &self.trials.0;
        let required = required::required_suite(&shared.ctx, row.account_id, row.agent_id).await?;
        if required.is_none() || required != row.suite {
            return Ok(());
        }
        let store = shared.store.acting(self.actor);
        let (what, at) = ((action.to_owned(), row.id.to_string()), shared.clock.now());
        Ok(store
            .note(row.account_id, what, Changes::default(), at)
            .await?)
    }

    async fn engine_agent(&self, account: AccountId, id: AgentId) -> Result<Agent> {
        let agent = self.trials.0.store.agent(account, id).await?;
        let agent = agent.ok_or(UseCaseError::NotFound)?;
        match agent.runtime {
            Runtime::Engine => Ok(agent),
            Runtime::Legacy => Err(UseCaseError::UnsupportedRuntime(Refusal::LegacyScenario)),
        }
    }
}

fn unless_taken<T>(done: Result<T, StoreError>, name: &str) -> Result<T> {
    done.map_err(|error| match error {
        StoreError::Conflict(_) => {
            UseCaseError::Conflict(Refusal::ScenarioNameTaken(name.to_owned()))
        }
        error => error.into(),
    })
}
