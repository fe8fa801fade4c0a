//! A scenario of a conversation that was held.

use std::time::Duration;

use offhook_boxed::boxed;
use offhook_domain::{AccountId, AgentId, CheckKind, ConversationId, Metadata, Runtime, TurnRole};
use offhook_engine::recalled;
use offhook_storage::{Store, StoreError};

use super::Scenarios;
use super::format::{
    CHECKS, CallerLine, Check, LINE_CHARS, LINES, MOCKS, Mock, PAUSE_MS, Scenario,
};
use super::play::SaidLine;
use crate::Refusal;
use crate::campaigns::CALL_BACK;
use crate::error::{Result, UseCaseError};
use crate::gate::OPT_OUT;
use crate::knowledge::SEARCH;

/// The turns that are looked at.
const TURNS: i64 = 1_000;

#[boxed]
impl Scenarios {
    /// The scenario of a conversation: what the customer said and, if it was spoken, when, and what the tools answered. It checks that the agent calls
    /// the same tools in the same order, and claims nothing that no tool has done. It is not stored.
    pub async fn of_conversation(
        &self,
        account: AccountId,
        id: ConversationId,
    ) -> Result<(AgentId, Scenario)> {
        let store = &self.trials.0.store;
        let found = store.conversation(account, id, None).await?;
        let conversation = found.ok_or(UseCaseError::NotFound)?.conversation;
        let agent = store.agent(account, conversation.agent_id).await?;
        if agent.is_some_and(|agent| agent.runtime == Runtime::Legacy) {
            return Err(UseCaseError::UnsupportedRuntime(Refusal::LegacyScenario));
        }
        let (mut lines, mut tools) = (Vec::new(), Vec::new());
        // When the agent last began to speak, for how long it spoke, and whether it was cut short.
        let mut agent_spoke = None;
        for moment in store.chat_history(id, TURNS).await? {
            let role = moment.role.as_deref().and_then(|role| role.parse().ok());
            let text = moment.content.unwrap_or_default();
            match role {
                Some(TurnRole::Agent) => {
                    let length = moment.duration_ms.map(i64::from);
                    let is_cut = moment.interrupted.unwrap_or(false);
                    agent_spoke = length.map(|length| (moment.at, length, is_cut));
                }
                Some(TurnRole::User) if !text.trim().is_empty() && lines.len() < LINES => {
                    let mut line = CallerLine::of(text.trim().chars().take(LINE_CHARS).collect());
                    match agent_spoke.take() {
                        Some((_, length, true)) => {
                            line.interrupts_after_ms = Some(length.min(60_000))
                        }
                        Some((began, length, false)) => {
                            let until = moment.at.since(began).as_millis();
                            let pause = i64::try_from(until).unwrap_or(i64::MAX) - length;
                            line.pause_ms = Some(pause.clamp(PAUSE_MS.0, PAUSE_MS.1));
                        }
                        None => {}
                    }
                    lines.push(line);
                }
                Some(TurnRole::Tool) if tools.len() < MOCKS => {
                    let (call, answer) = recalled(&text, String::new());
                    // No test conversation has what is built into calls.
                    if ![SEARCH, OPT_OUT, CALL_BACK].contains(&call.name.as_str()) {
                        tools.push(Mock::answering(call.name, answer));
                    }
                }
                _ => {}
            }
        }
        if lines.is_empty() {
            return Err(UseCaseError::Conflict(Refusal::NothingSaid));
        }
        let mut checks = vec![Check::of(CheckKind::Honest)];
        if !tools.is_empty() {
            checks.push(Check {
                tools: Some(tools.iter().map(|tool| tool.name.clone()).collect()),
                ..Check::of(CheckKind::ToolsInOrder)
            });
        }
        checks.truncate(CHECKS);
        let corrupt = |_| StoreError::Corrupt("a conversation's metadata".to_owned());
        let scenario = Scenario {
            name: format!("Conversation {id}"),
            suite: None,
            turns: Some(lines),
            persona: None,
            goal: None,
            recording: None,
            noise_db: None,
            max_turns: 12,
            variables: Metadata::from_stored(&conversation.metadata).map_err(corrupt)?,
            tools,
            checks,
            runs: 1,
            budget_s: 60,
        };
        Ok((conversation.agent_id, scenario))
    }
}

/// What was said in a conversation, and when; `None` if the account has it no more.
pub(super) async fn before(
    store: &Store,
    account: AccountId,
    id: ConversationId,
) -> Result<Option<Vec<SaidLine>>, StoreError> {
    if store.conversation(account, id, None).await?.is_none() {
        return Ok(None);
    }
    let moments = store.chat_history(id, TURNS).await?;
    let first = moments.first().map(|moment| moment.at);
    let mut turn = 0;
    let lines = moments.into_iter().filter_map(|moment| {
        let role: TurnRole = moment.role.as_deref()?.parse().ok()?;
        turn += usize::from(role == TurnRole::User);
        let length = Duration::from_millis(moment.duration_ms?.unsigned_abs().into());
        let after = moment.at.since(first?) + length;
        Some(SaidLine {
            role,
            text: moment.content.unwrap_or_default(),
            turn,
            at_ms: u32::try_from(after.as_millis()).ok(),
            interrupted: moment.interrupted.unwrap_or(false),
        })
    });
    Ok(Some(lines.collect()))
}
