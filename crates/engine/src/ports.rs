//! The ports to language models, tools, carriers and speech services. The adapters are in `providers` and `carriers`;
//! the caller that starts a session supplies the tools.

pub mod audio;
pub mod callbacks;
pub mod speech;
pub mod waiting;

mod knowledge;
mod leg;
mod tools;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use offhook_domain::{CallHandle, CredentialProvider, E164, FailureReason, NodeId};

pub use knowledge::{Knowledge, Passage};
pub use leg::{Leg, LegEvent, Line, LineError, SoundTimes, Spoken};
pub use tools::{NoTools, ToolAction, ToolCall, ToolDefinition, ToolOutcome, Tools, VendorData};

/// A model that streams text.
pub trait LanguageModel: Send + Sync {
    /// Starts writing. Dropping the stream cancels the request. The stream ends after [`ModelDelta::Finish`] or an
    /// error; one that ends without either was cut off.
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelDelta, ModelError>>;

    /// Asks the service once whether it accepts the key.
    fn ask(&self) -> BoxFuture<'static, KeyAnswer> {
        Box::pin(async { KeyAnswer::Unconfirmed })
    }
}

/// The server of provider `custom`, which the customer runs or rents.
#[derive(Clone)]
pub struct Endpoint {
    pub url: String,
    /// The account's stored key for this address, sent as a bearer token.
    pub key: Option<Arc<str>>,
}

/// Shows the URL only, not the key.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

/// An account's own key for a vendor of models or speech.
#[derive(Clone)]
pub struct AccountKey {
    pub vendor: CredentialProvider,
    /// The service that the account chose; otherwise the vendor's own.
    pub base_url: Option<String>,
    pub key: Arc<str>,
}

/// Shows the vendor only, not the key.
impl fmt::Debug for AccountKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AccountKey({})", self.vendor)
    }
}

/// What a vendor says of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyAnswer {
    Accepted,
    /// With this status.
    Refused(u16),
    /// It did not answer, or not about the key.
    Unconfirmed,
}

/// Finds models by the names in an agent's configuration.
pub trait Models: Send + Sync {
    /// Finds a provider's model. Returns [`ModelError::NotConfigured`] if the provider is unknown, or its endpoint is
    /// missing or not allowed.
    fn find(
        &self,
        provider: &str,
        model: &str,
        endpoint: Option<&Endpoint>,
    ) -> Result<Arc<dyn LanguageModel>, ModelError>;

    /// The same models, with an account's own keys in place of the deployment's. A vendor whose key cannot be used is not
    /// configured. `None` if no key is for a model.
    fn with_keys(&self, keys: &[AccountKey]) -> Option<Arc<dyn Models>> {
        let _ = keys;
        None
    }
}

#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The provider's name of the model.
    pub model: String,
    /// The conversation so far, with the system message first.
    pub messages: Vec<Message>,
    /// 0–2.
    pub temperature: f64,
    pub purpose: Purpose,
    /// The tools that the messages may refer to.
    pub tools: Arc<[ToolDefinition]>,
    /// Whether the answer may contain tool calls; otherwise it must be text.
    pub may_call: bool,
}

/// What a model's text is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The agent's next turn.
    Reply,
    Summary,
    /// Data from a conversation, as JSON. The schema is the last line of the system message, the conversation is the
    /// first user message.
    Extraction,
}

/// One message of a conversation. Clones share its text, so that copying a history is cheap.
#[derive(Clone, PartialEq, Eq)]
pub struct Message {
    pub role: Role,
    pub content: Arc<str>,
    /// The assistant's tool calls in this message.
    pub calls: Arc<[ToolCall]>,
    /// The id of the tool call that this message answers.
    pub answers: Option<Arc<str>>,
}

impl Message {
    pub fn new(role: Role, content: impl Into<Arc<str>>) -> Self {
        Self {
            role,
            content: content.into(),
            calls: Arc::default(),
            answers: None,
        }
    }

    /// An assistant message with tool calls; its text may be empty.
    pub fn calling(content: impl Into<Arc<str>>, calls: impl Into<Arc<[ToolCall]>>) -> Self {
        Self {
            calls: calls.into(),
            ..Self::new(Role::Assistant, content)
        }
    }

    /// A tool's answer to a call.
    pub fn answering(call: &ToolCall, content: impl Into<Arc<str>>) -> Self {
        Self {
            answers: Some(call.id.as_str().into()),
            ..Self::new(Role::Tool, content)
        }
    }
}

/// Hides the text: transcripts do not belong in logs.
impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, calls) = (self.content.len(), self.calls.len());
        write!(f, "{:?}({bytes} bytes, {calls} calls)", self.role)
    }
}

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

/// A piece of a model's output.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelDelta {
    /// More text.
    Text(String),
    /// A tool call is still being written. It only shows that the model is alive.
    Working,
    /// A complete tool call. Calls come after the text, in the model's order.
    Call(ToolCall),
    /// What the answer used, where the service says so.
    Used(Tokens),
    /// The output is complete.
    Finish,
}

/// Tokens of one answer, as the model's service counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tokens {
    /// Of everything that was sent to the model.
    pub input: u32,
    /// Of what it wrote.
    pub output: u32,
}

/// Why a model failed. It contains the kind of failure, never the upstream's own words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The provider is not configured in this deployment.
    #[error("the model's provider is not configured")]
    NotConfigured,
    /// The connection failed, or broke before the answer began.
    #[error("the model could not be reached")]
    Unreachable,
    /// The model's service answered with this HTTP status.
    #[error("the model answered with status {0}")]
    Refused(u16),
    #[error("the model took too long")]
    Timeout,
    /// The answer violates the protocol.
    #[error("the model's answer could not be read: {0}")]
    Protocol(&'static str),
}

#[async_trait]
pub trait Carrier: Send + Sync {
    /// Calls a number once. `Ok` means that the carrier accepted the call; events report its progress. [`DialError`]
    /// says whether the request can have had an effect.
    async fn dial(&self, request: DialRequest) -> Result<Leg, DialError>;

    /// Ends a call whose owner died, if it still goes on. Succeeds for a handle that the carrier does not know. A
    /// failed request may be retried.
    async fn hang_up_orphan(&self, handle: CallHandle) -> Result<(), DialError>;

    /// Whether the carrier is known to be unreachable now (`upstream_unreachable`).
    fn is_down(&self) -> bool {
        false
    }

    /// A number from which every account may call.
    fn shared_number(&self) -> Option<E164> {
        None
    }

    /// Lists the numbers that an account's own credential opens at this carrier. Returns [`DialError::Refused`] if the
    /// carrier rejects the credential, another error if it did not answer.
    async fn numbers(&self, credential: &str) -> Result<Vec<E164>, DialError> {
        let _ = credential;
        Err(DialError::Refused(FailureReason::CarrierError))
    }

    /// Whether an account may take this number without its own credential; only true for numbers of a simulated
    /// network.
    fn gives(&self, number: &E164) -> bool {
        let _ = number;
        false
    }
}

#[derive(Debug, Clone)]
pub struct DialRequest {
    /// Our reference, which the carrier keeps with the call.
    pub handle: CallHandle,
    /// The caller's number.
    pub from: E164,
    /// The customer's number.
    pub to: E164,
    pub node: NodeId,
    /// Whether to detect answering machines, if the carrier can.
    pub screens: bool,
    /// The carrier's limit for the answered call; `None`: no limit.
    pub longest: Option<Duration>,
}

/// Why a carrier did not accept a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DialError {
    /// No connection could be opened, so no request was sent. It may be retried.
    #[error("no connection to the carrier could be opened")]
    NotConnected,
    /// The request was sent and no answer came. Its effect is unknown, so it must not be retried.
    #[error("the carrier did not answer")]
    Unknown,
    /// The carrier refused the call.
    #[error("the carrier refused the call: {0}")]
    Refused(FailureReason),
}
