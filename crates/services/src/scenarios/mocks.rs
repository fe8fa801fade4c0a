//! What tools answer in a scenario, and which were called.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use offhook_domain::json::Json;
use offhook_engine::ports::{ToolCall, ToolDefinition, ToolOutcome, Tools};
use parking_lot::Mutex;
use serde::Serialize;

use super::format::Mock;

/// A scenario's answers in place of what tools do.
pub(crate) struct Mocks {
    mocks: Vec<Mock>,
    /// How often each tool was called.
    called: Mutex<HashMap<String, usize>>,
}

/// What a tool that has an effect is to do.
pub(crate) enum Instead {
    /// It runs.
    Nothing,
    Outcome(ToolOutcome),
}

impl Mocks {
    pub(super) fn new(mocks: &[Mock]) -> Self {
        Self {
            mocks: mocks.to_vec(),
            called: Mutex::default(),
        }
    }

    /// What stands for the tool; `None` if the scenario does not name it.
    pub(crate) async fn instead_of(&self, name: &str) -> Option<Instead> {
        let named: Vec<&Mock> = self.mocks.iter().filter(|mock| mock.name == name).collect();
        let mock = {
            let mut called = self.called.lock();
            let count = called.entry(name.to_owned()).or_default();
            *count += 1;
            *named.get(*count - 1).or(named.last())?
        };
        tokio::time::sleep(Duration::from_millis(mock.delay_ms.unsigned_abs())).await;
        if mock.live {
            return Some(Instead::Nothing);
        }
        Some(Instead::Outcome(match (&mock.error, &mock.answer) {
            (Some(error), _) => ToolOutcome::Failed(error.clone()),
            (None, Some(Json::String(text))) => ToolOutcome::Answer(text.clone()),
            (None, answer) => {
                ToolOutcome::Answer(answer.as_ref().map_or_else(String::new, Json::to_compact))
            }
        }))
    }

    /// What the model is told of a tool that the scenario does not name.
    pub(crate) fn unnamed(name: &str) -> String {
        format!("Not done: the scenario has no answer of `{name}`.")
    }
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UsedTool {
    /// The number of the caller's line that was being answered; 0 before the first.
    pub turn: usize,
    pub name: String,
    /// As the model wrote them.
    pub arguments: String,
    /// What the model was told.
    pub answer: String,
    /// Whether it failed.
    pub failed: bool,
}

/// Tools whose calls are noted.
pub(super) struct Recorded {
    inner: Arc<dyn Tools>,
    pub(super) turn: AtomicUsize,
    pub(super) used: Mutex<Vec<UsedTool>>,
}

impl Recorded {
    pub(super) fn over(inner: Arc<dyn Tools>) -> Self {
        Self {
            inner,
            turn: AtomicUsize::new(0),
            used: Mutex::default(),
        }
    }
}

#[async_trait]
impl Tools for Recorded {
    fn definitions(&self) -> Arc<[ToolDefinition]> {
        self.inner.definitions()
    }

    async fn call(&self, call: &ToolCall) -> ToolOutcome {
        let place = {
            let mut used = self.used.lock();
            used.push(UsedTool {
                turn: self.turn.load(Ordering::Relaxed),
                name: call.name.clone(),
                arguments: call.arguments.clone(),
                // Stays if the tool takes longer than it may.
                answer: "It took too long.".to_owned(),
                failed: true,
            });
            used.len() - 1
        };
        let outcome = self.inner.call(call).await;
        if let Some(used) = self.used.lock().get_mut(place) {
            (used.answer, used.failed) = match &outcome {
                ToolOutcome::Answer(text) => (text.clone(), false),
                ToolOutcome::Failed(text) => (text.clone(), true),
                ToolOutcome::Act(_) => (String::new(), false),
            };
        }
        outcome
    }
}
