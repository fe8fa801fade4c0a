//! Suites that have to pass before a version is published.

use std::collections::HashMap;

use offhook_domain::{AccountId, AgentId, TestStatus};
use offhook_storage::{Agent, StoreError, ToolToPin};

use super::ScenarioView;
use super::format::hex;
use crate::agents::AgentSettings;
use crate::error::{Result, UseCaseError};
use crate::{Context, Refusal};

/// The names of scenarios that a refusal lists.
const NAMED: usize = 10;

/// The suite that an agent's latest settings require.
pub(super) async fn required_suite(
    ctx: &Context,
    account: AccountId,
    agent: AgentId,
) -> Result<Option<String>, StoreError> {
    let found = ctx.store.agent_with_settings(account, agent).await?;
    let stored = found.and_then(|(_, settings)| settings);
    Ok(AgentSettings::from_stored(stored.as_deref())?.required_suite)
}

/// The fingerprint of what is tested and published: a version's configuration, its settings, and its tools as they are
/// now.
pub(super) async fn content(
    ctx: &Context,
    agent: &Agent,
    version: i32,
    stored: &str,
    tools: &[ToolToPin],
) -> Result<String> {
    let account = agent.account_id;
    let settings = ctx.store.settings_of_version(account, agent.id, version);
    let (settings, _) = settings.await?;
    let mut parts = vec![
        version.to_string(),
        stored.to_owned(),
        settings.unwrap_or_default(),
    ];
    let tools = tools.iter();
    parts.extend(tools.map(|tool| format!("{} {}", tool.revision, tool.definition)));
    Ok(hex(&parts.join("\0")))
}

impl Context {
    /// Refuses a version that has not passed the suite that the agent's latest settings require. What counts is the latest
    /// result of each scenario as it is now, with exactly this content.
    pub(crate) async fn check_required_suite(
        &self,
        agent: &Agent,
        version: i32,
        stored: &str,
        tools: &[ToolToPin],
    ) -> Result<()> {
        let required = required_suite(self, agent.account_id, agent.id).await?;
        let Some(suite) = required else {
            return Ok(());
        };
        let rows = self.store.suite(agent.id, Some(suite.clone())).await?;
        if rows.is_empty() {
            return Err(UseCaseError::Conflict(Refusal::SuiteEmpty(suite)));
        }
        let content = content(self, agent, version, stored, tools).await?;
        let tested = self.store.tested(agent.id, content).await?;
        let tested: HashMap<String, TestStatus> = tested.into_iter().collect();
        let mut unpassed = Vec::new();
        for row in rows {
            let view = ScenarioView::of(row)?;
            let why = match tested.get(&view.scenario.digest()) {
                Some(TestStatus::Passed) => continue,
                Some(TestStatus::Failed) => "failed",
                Some(_) => "could not be held",
                None => "not run",
            };
            unpassed.push(format!("`{}` ({why})", view.row.name));
        }
        if unpassed.is_empty() {
            return Ok(());
        }
        let more = unpassed.len().saturating_sub(NAMED);
        unpassed.truncate(NAMED);
        if more > 0 {
            unpassed.push(format!("{more} more"));
        }
        Err(UseCaseError::Conflict(Refusal::SuiteUnpassed {
            suite,
            version,
            names: unpassed.join(", "),
        }))
    }
}
