//! The ports: what the engine asks of language models, of tools, of carriers and of speech services. Adapters live in
//! `providers` and `carriers`; who starts a session brings the tools.

pub mod audio;
pub mod door;
pub mod speech;
pub mod waiting;

mod applications;
mod embeddings;
mod knowledge;
mod leg;
mod tools;
mod voices;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use offhook_domain::{CallHandle, E164, FailureReason, NodeId};

pub use applications::{
    Application, Authorization, Consents, FunctionCall, FunctionError, Grant, GrantError,
    ToolkitFunction,
};
pub use embeddings::{EmbeddingError, Embeddings};
pub use knowledge::{Knowledge, Passage};
pub use leg::{Leg, LegEvent, Line, LineError, SoundTimes, Spoken};
pub use tools::{NoTools, ToolAction, ToolCall, ToolDefinition, ToolOutcome, Tools};
pub use voices::{SharedVoice, VoiceLibrary, VoiceLibraryError};

/// A model that writes text, piece by piece.
pub trait LanguageModel: Send + Sync {
    /// Begins to write. Dropping the stream cancels the request. After [`ModelDelta::Finish`] or an error the stream
    /// ends; a stream that ends without either was cut off.
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelDelta, ModelError>>;
}

/// The server of provider `custom`, which the customer runs or rents.
#[derive(Clone)]
pub struct Endpoint {
    /// Its base URL.
    pub url: String,
    /// What the account has stored for the server at this address, sent as a bearer token.
    pub key: Option<Arc<str>>,
}

/// Without the key.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

/// Finds models by the names that agents give them.
pub trait Models: Send + Sync {
    /// The model of this provider.
    ///
    /// # Errors
    /// [`ModelError::NotConfigured`] if there is no such provider, or its endpoint is missing or not allowed.
    fn find(
        &self,
        provider: &str,
        model: &str,
        endpoint: Option<&Endpoint>,
    ) -> Result<Arc<dyn LanguageModel>, ModelError>;
}

/// What a model is asked.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The model's name at its provider.
    pub model: String,
    /// The conversation so far, the system's message first.
    pub messages: Vec<Message>,
    /// 0–2.
    pub temperature: f64,
    /// What the text is for.
    pub purpose: Purpose,
    /// The tools that the conversation's messages may speak of.
    pub tools: Arc<[ToolDefinition]>,
    /// Whether the answer may call them: if not, it is to be words.
    pub may_call: bool,
}

/// What a model's text is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The agent's next turn.
    Reply,
    /// The summary of a conversation.
    Summary,
    /// Data from a conversation, as JSON: the last line of the system's message is the schema, the first message of the
    /// user the conversation.
    Extraction,
}

/// One message of a conversation. Its text is shared, so that a history is cheap to hand on.
#[derive(Clone, PartialEq, Eq)]
pub struct Message {
    /// Whose it is.
    pub role: Role,
    /// What it says.
    pub content: Arc<str>,
    /// The tools that the assistant called with it.
    pub calls: Arc<[ToolCall]>,
    /// The call that a tool's message answers.
    pub answers: Option<Arc<str>>,
}

impl Message {
    /// A message of `role`.
    pub fn new(role: Role, content: impl Into<Arc<str>>) -> Self {
        Self {
            role,
            content: content.into(),
            calls: Arc::default(),
            answers: None,
        }
    }

    /// The assistant says something, perhaps nothing, and calls tools.
    pub fn calling(content: impl Into<Arc<str>>, calls: impl Into<Arc<[ToolCall]>>) -> Self {
        Self {
            calls: calls.into(),
            ..Self::new(Role::Assistant, content)
        }
    }

    /// What a tool answers to a call.
    pub fn answering(call: &ToolCall, content: impl Into<Arc<str>>) -> Self {
        Self {
            answers: Some(call.id.as_str().into()),
            ..Self::new(Role::Tool, content)
        }
    }
}

/// Without its text: a transcript has no place in a log.
impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, calls) = (self.content.len(), self.calls.len());
        write!(f, "{:?}({bytes} bytes, {calls} calls)", self.role)
    }
}

/// Whose message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The instructions.
    System,
    /// The customer.
    User,
    /// The agent.
    Assistant,
    /// A tool's answer.
    Tool,
}

/// A piece of what a model writes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelDelta {
    /// More text.
    Text(String),
    /// A tool call goes on being written: a sign of life, and nothing else.
    Working,
    /// A whole tool call. Calls come after the text, in the model's order.
    Call(ToolCall),
    /// The model is done.
    Finish,
}

/// Why a model did not write. It never holds what the upstream said, only what kind of failure it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// No such provider here.
    #[error("the model's provider is not configured")]
    NotConfigured,
    /// No connection, or it broke before the answer began.
    #[error("the model could not be reached")]
    Unreachable,
    /// It answered with this HTTP status.
    #[error("the model answered with status {0}")]
    Refused(u16),
    /// It took too long.
    #[error("the model took too long")]
    Timeout,
    /// Its answer is not of the form agreed on.
    #[error("the model's answer could not be read: {0}")]
    Protocol(&'static str),
}

/// A phone network.
#[async_trait]
pub trait Carrier: Send + Sync {
    /// Calls a number, once. `Ok` means that the carrier took the call over; what becomes of it comes as events.
    ///
    /// # Errors
    /// [`DialError`] says whether the request can have had an effect.
    async fn dial(&self, request: DialRequest) -> Result<Leg, DialError>;

    /// Ends a call whose owner died, if it still goes on. A handle that the carrier does not know is no error.
    ///
    /// # Errors
    /// [`DialError`] if the carrier did not confirm; it may be asked again.
    async fn hang_up_orphan(&self, handle: CallHandle) -> Result<(), DialError>;

    /// Whether the carrier is known to be out of reach now (`upstream_unreachable`).
    fn is_down(&self) -> bool {
        false
    }

    /// A number that every account may call from.
    fn ours(&self) -> Option<E164> {
        None
    }

    /// The numbers that an account's own credential opens at this carrier.
    ///
    /// # Errors
    /// [`DialError::Refused`] for a credential that it does not take, another one if it did not answer.
    async fn numbers(&self, credential: &str) -> Result<Vec<E164>, DialError> {
        let _ = credential;
        Err(DialError::Refused(FailureReason::CarrierError))
    }

    /// Whether an account may take this number without a credential of its own: numbers of a simulated network alone.
    fn gives(&self, number: &E164) -> bool {
        let _ = number;
        false
    }
}

/// Whom to call.
#[derive(Debug, Clone)]
pub struct DialRequest {
    /// Our reference; the carrier remembers the call by it.
    pub handle: CallHandle,
    /// The caller's number.
    pub from: E164,
    /// The customer's number.
    pub to: E164,
    /// The node that owns the call.
    pub node: NodeId,
    /// Whether it matters that a machine answers: a carrier that can tell is to say so.
    pub screens: bool,
    /// How long the call may last once it is answered, as far as the carrier is concerned; `None`: as long as it likes.
    pub longest: Option<Duration>,
}

/// Why a carrier did not take a call over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DialError {
    /// No connection could be opened, so nothing was asked: it may be tried again.
    #[error("no connection to the carrier could be opened")]
    NotConnected,
    /// The request left, the answer never came: nobody knows. It must not be tried again.
    #[error("the carrier did not answer")]
    Unknown,
    /// It will not place the call.
    #[error("the carrier refused the call: {0}")]
    Refused(FailureReason),
}
