//! Tools: the actions of a model besides speaking.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use offhook_domain::E164;

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDefinition {
    pub name: Arc<str>,
    pub description: Arc<str>,
    /// The JSON Schema of its arguments, as JSON text.
    pub parameters: Arc<str>,
    /// Whether its answer means that something was done. A search does nothing.
    pub acts: bool,
}

/// A model's request to use a tool.
#[derive(Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// The id that the answer refers to.
    pub id: String,
    /// The tool's name as the model wrote it; the tool may not exist.
    pub name: String,
    /// The arguments as the model wrote them; they may not be valid JSON.
    pub arguments: String,
    /// What the model's vendor wants back with the call while its turn lasts.
    pub vendor: Option<VendorData>,
}

/// Data that one vendor alone reads, such as a signed thought.
#[derive(Clone, PartialEq, Eq)]
pub struct VendorData {
    pub vendor: &'static str,
    pub data: Arc<str>,
}

/// Hides the arguments: transcripts do not belong in logs.
impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.arguments.len();
        write!(f, "ToolCall({}, {bytes} bytes)", self.name)
    }
}

/// The tools of one conversation.
#[async_trait]
pub trait Tools: Send + Sync {
    /// The tools' descriptions for the model.
    fn definitions(&self) -> Arc<[ToolDefinition]>;

    /// Runs a tool call, except for what needs the line. Dropping the future cancels it. Every failure, such as an
    /// unknown name or bad arguments, is a [`ToolOutcome::Failed`] that explains it to the model.
    async fn call(&self, call: &ToolCall) -> ToolOutcome;

    /// Whether a function is another server's, which describes it in its own words: no variables are filled in.
    fn is_foreign(&self, _name: &str) -> bool {
        false
    }

    /// The customer asked not to be called again: records it before it returns. `false` if there is nothing to record, or
    /// it could not be recorded.
    async fn opt_out(&self) -> bool {
        false
    }
}

/// The result of a tool call.
#[derive(Clone, PartialEq, Eq)]
pub enum ToolOutcome {
    /// The answer for the model.
    Answer(String),
    /// Why it was not done, for the model.
    Failed(String),
    /// An action on the line. The session carries it out once the agent has finished its previous words.
    Act(ToolAction),
}

/// What a tool that needs no line tells the model: an error if it was not done.
impl From<Result<String, String>> for ToolOutcome {
    fn from(answer: Result<String, String>) -> Self {
        answer.map_or_else(Self::Failed, Self::Answer)
    }
}

/// Hides the text: transcripts do not belong in logs.
impl fmt::Debug for ToolOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer(text) => write!(f, "Answer({} bytes)", text.len()),
            Self::Failed(text) => write!(f, "Failed({} bytes)", text.len()),
            Self::Act(action) => write!(f, "Act({action:?})"),
        }
    }
}

/// A tool's action on the line.
#[derive(Clone, PartialEq, Eq)]
pub enum ToolAction {
    EndCall,
    /// Transfers the customer.
    Transfer {
        name: String,
        to: E164,
    },
    /// Sends tones, in the format of [`Line::send_digits`](super::Line::send_digits).
    SendDigits(String),
}

/// Hides numbers and digits, which may be personal data.
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
        ToolOutcome::Failed("There is no such tool.".to_owned())
    }
}
