//! Tools: what a model may do besides speaking.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use offhook_domain::E164;

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDefinition {
    /// The name that it is called by.
    pub name: Arc<str>,
    /// What it is for.
    pub description: Arc<str>,
    /// The JSON Schema of its arguments, as JSON text.
    pub parameters: Arc<str>,
}

/// A model's wish to use a tool.
#[derive(Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// What the answer refers to.
    pub id: String,
    /// The tool's name, as the model wrote it: there may be no such tool.
    pub name: String,
    /// The arguments, as the model wrote them: they may be no JSON.
    pub arguments: String,
}

/// Without the arguments: a transcript has no place in a log.
impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.arguments.len();
        write!(f, "ToolCall({}, {bytes} bytes)", self.name)
    }
}

/// The tools of one conversation.
#[async_trait]
pub trait Tools: Send + Sync {
    /// What the model is told of them.
    fn definitions(&self) -> Arc<[ToolDefinition]>;

    /// Does what a call asks for, as far as the line is not needed. Dropping the future gives it up. Whatever goes
    /// wrong, an unknown name and bad arguments included, is a [`ToolOutcome::Answer`] that tells the model so.
    async fn call(&self, call: &ToolCall) -> ToolOutcome;
}

/// What became of a tool call.
#[derive(Clone, PartialEq, Eq)]
pub enum ToolOutcome {
    /// The model is told this.
    Answer(String),
    /// The session does something to the line, once the agent has said what came before.
    Act(ToolAction),
}

/// Without the text: a transcript has no place in a log.
impl fmt::Debug for ToolOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer(text) => write!(f, "Answer({} bytes)", text.len()),
            Self::Act(action) => write!(f, "Act({action:?})"),
        }
    }
}

/// What a tool does to the line.
#[derive(Clone, PartialEq, Eq)]
pub enum ToolAction {
    EndCall,
    /// Hands the customer over.
    Transfer {
        /// The target's name.
        name: String,
        /// Its number.
        to: E164,
    },
    /// Sends tones, as [`Line::send_digits`](super::Line::send_digits) takes them.
    SendDigits(String),
}

/// Without numbers and digits: they may be personal.
impl fmt::Debug for ToolAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EndCall => "EndCall",
            Self::Transfer { .. } => "Transfer",
            Self::SendDigits(_) => "SendDigits",
        })
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub struct NoTools;

#[async_trait]
impl Tools for NoTools {
    fn definitions(&self) -> Arc<[ToolDefinition]> {
        Arc::default()
    }

    async fn call(&self, _: &ToolCall) -> ToolOutcome {
        ToolOutcome::Answer("There is no such tool.".to_owned())
    }
}
