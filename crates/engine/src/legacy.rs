//! The port to the provider of legacy agents, which keeps their configuration and runs their calls.

use std::fs::File;
use std::io;
use std::time::Duration;

use async_trait::async_trait;
use offhook_domain::{
    CallHandle, CallOutcome, Channel, E164, FailureReason, Json, NumberProvider, Timestamp,
    messages,
};

use crate::{Deadline, Turn};

/// The provider of legacy agents. Requests use the account's own credential.
#[async_trait]
pub trait LegacyProvider: Send + Sync {
    /// Lists every agent that the credential can access. Fails unless the provider returned the complete answer.
    async fn agents(&self, credential: &str) -> Result<Vec<LegacyAgent>, LegacyError>;

    /// Renames an agent. Fails if the provider did not confirm.
    async fn rename(&self, credential: &str, agent: &str, name: &str) -> Result<(), LegacyError>;

    /// Calls a number once. `Ok` means that the provider accepted the call, with the provider's call id if it returned
    /// one. Our reference is the key for later progress requests. The dial request leaves before `place_by` or not at
    /// all. The error says whether the request can have had an effect.
    async fn place(
        &self,
        credential: &str,
        call: LegacyCall,
        place_by: Deadline,
    ) -> Result<Option<String>, LegacyError>;

    /// Reads the state of a call; `None` if the provider does not know it. A failed request may be retried.
    async fn progress(
        &self,
        credential: &str,
        reference: &LegacyReference,
    ) -> Result<Option<LegacyProgress>, LegacyError>;

    /// Ends a call. Succeeds for a call that the provider does not know. A failed request may be retried, unless the
    /// provider [cannot hang up](Self::hangs_up).
    async fn hang_up(
        &self,
        credential: &str,
        reference: &LegacyReference,
    ) -> Result<(), LegacyError>;

    /// Whether the provider can end a call that it accepted.
    fn hangs_up(&self) -> bool {
        true
    }

    /// Whether this is the simulated provider. That one places no real calls and accepts any caller number. Others call
    /// only from the numbers of the account's legacy agents.
    fn is_simulated(&self) -> bool {
        false
    }

    /// Writes the recording of an ended call to an empty file, as a WAV file. Returns `false` if the provider has no
    /// recording, or none yet. After an error the file's content is invalid.
    async fn recording(
        &self,
        credential: &str,
        reference: &LegacyReference,
        to: File,
    ) -> Result<bool, RecordingError>;

    /// The provider's ids of all conversations since then, whichever side started them. Fails unless the provider
    /// returned all of them.
    async fn conversations(
        &self,
        _credential: &str,
        _since: Timestamp,
    ) -> Result<Vec<String>, LegacyError> {
        Ok(Vec::new())
    }

    /// Reads a conversation that was not placed through us, by the provider's id. Returns `None` for one that was, or
    /// that does not exist. A failed request may be retried.
    async fn conversation(
        &self,
        _credential: &str,
        _id: &str,
    ) -> Result<Option<LegacyConversation>, LegacyError> {
        Ok(None)
    }

    /// Whether the provider also reports the end of calls by webhook.
    fn reports(&self) -> bool {
        false
    }

    /// Reads a webhook that was signed with the account's secret; `None` if it does not report the end of a call.
    /// Returns [`NotGenuine`] for a webhook that the provider did not send recently, and always for a provider without
    /// webhooks.
    fn read_report(
        &self,
        _secret: &str,
        _signature: &str,
        _body: &[u8],
        _now: Timestamp,
    ) -> Result<Option<LegacyReport>, NotGenuine> {
        Err(NotGenuine)
    }

    /// How often to poll a call in progress.
    fn pace(&self) -> LegacyPace {
        LegacyPace::default()
    }
}

/// How often to poll a call in progress, and how long each state may last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegacyPace {
    /// The wait after a change.
    pub soonest: Duration,
    /// The longest wait. While nothing changes, each wait is twice the one before, up to this limit.
    pub latest: Duration,
    /// How long a requested call may take to become known to the provider.
    pub appears_within: Duration,
    /// How long a call may be neither answered nor over.
    pub answered_within: Duration,
    /// How long a finished call may wait for the provider's remaining data.
    pub told_within: Duration,
    /// The longest duration of a call, by our own clock.
    pub over_within: Duration,
}

impl Default for LegacyPace {
    fn default() -> Self {
        Self {
            soonest: Duration::from_secs(10),
            latest: Duration::from_secs(60),
            appears_within: Duration::from_secs(60),
            answered_within: Duration::from_secs(600),
            told_within: Duration::from_secs(300),
            over_within: Duration::from_secs(7_800),
        }
    }
}

impl LegacyPace {
    /// Applies `time` to each duration.
    #[must_use]
    pub fn mapped(self, time: impl Fn(Duration) -> Duration) -> Self {
        Self {
            soonest: time(self.soonest),
            latest: time(self.latest),
            appears_within: time(self.appears_within),
            answered_within: time(self.answered_within),
            told_within: time(self.told_within),
            over_within: time(self.over_within),
        }
    }
}

/// Identifies a call at the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegacyReference {
    /// Our reference, which the provider received with the call.
    pub call: CallHandle,
    /// The provider's id of the call, once it is known.
    pub conversation: Option<String>,
}

/// An agent as the provider describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegacyAgent {
    /// The provider's id, which begins with `agent_`.
    pub id: String,
    pub name: String,
    pub system_prompt: Option<String>,
    pub first_message: Option<String>,
    /// BCP 47.
    pub language: Option<String>,
    /// The provider's name of the model.
    pub model: Option<String>,
    /// The provider's id of the voice.
    pub voice_id: Option<String>,
    /// The numbers assigned to this agent.
    pub phone_numbers: Vec<LegacyNumber>,
}

/// A number that the provider calls from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegacyNumber {
    pub number: E164,
    pub label: String,
    /// The carrier of the number.
    pub provider: NumberProvider,
}

#[derive(Clone)]
pub struct LegacyCall {
    /// Our reference, by which the call is looked up.
    pub reference: CallHandle,
    /// The provider's id of the agent.
    pub agent: String,
    /// The caller's number.
    pub from: E164,
    /// The customer's number.
    pub to: E164,
    /// The call's variables, each a string, a number, a boolean or null.
    pub variables: Vec<(String, Json)>,
}

/// The state of a call.
#[derive(Clone, Default)]
pub struct LegacyProgress {
    /// The provider's id of the call, if it has one.
    pub conversation: Option<String>,
    /// Whether the phone network reacted: it rings, was answered, or failed.
    pub reported: bool,
    pub answered_at: Option<Timestamp>,
    /// The turns so far, in order.
    pub turns: Vec<Turn>,
    /// Set once the call has ended.
    pub end: Option<LegacyEnd>,
}

#[derive(Clone)]
pub struct LegacyEnd {
    pub outcome: CallOutcome,
    pub ended_at: Timestamp,
    /// A summary of the call; empty if it was not answered.
    pub summary: String,
    /// Whether a recording can be fetched.
    pub recorded: bool,
    /// Whether the provider has delivered all its data about the call.
    pub is_final: bool,
}

/// A conversation that was not placed through us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegacyConversation {
    /// The provider's id of the agent.
    pub agent: String,
    pub channel: Channel,
    /// The caller, if there is one with a phone number.
    pub from: Option<E164>,
    /// The callee.
    pub to: Option<E164>,
    /// Whichever of both is not the agent's number.
    pub customer: Option<E164>,
    pub began_at: Timestamp,
    /// Whether the provider has delivered all its data about the conversation.
    pub is_final: bool,
}

/// What the provider reports about a call by webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegacyReport {
    /// The provider's id of the call.
    pub conversation: String,
    /// Our reference, if the webhook contains it.
    pub call: Option<CallHandle>,
    /// Why the call never started; `None` if it has ended.
    pub failure: Option<FailureReason>,
}

/// The message does not come from the provider, or is too old.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotGenuine;

/// Why a recording could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The provider did not answer; a retry may succeed.
    #[error(transparent)]
    Provider(#[from] LegacyError),
    /// The file could not be written; a retry may succeed.
    #[error("the recording cannot be written: {0}")]
    File(#[from] io::Error),
    /// The provider's recording cannot be stored; a retry will not help.
    #[error("what the legacy provider has as the recording {0}")]
    Unusable(&'static str),
}

messages! { stored
/// Why a request to the provider failed.
pub enum LegacyError {
    /// No request was sent. It may be retried.
    NotConnected => "no connection to the legacy provider could be opened", "no se pudo abrir una conexión con ElevenLabs";
    /// The request was sent. Whether it had an effect is unknown.
    Unknown => "the legacy provider did not give an answer that can be read",
        "ElevenLabs no dio una respuesta que se pueda leer";
    /// Retry later: after this time, if the provider named one.
    Later(_after: Option<Duration>) =>
        "the legacy provider takes no more requests of this account for now: try again later",
        "ElevenLabs no acepta por ahora más solicitudes de esta cuenta: intenta de nuevo más tarde";
    Refused(why: LegacyRefusal) => "the legacy provider refused: {why}", "ElevenLabs rechazó la solicitud: {why}";
}}

messages! { stored
/// Why the provider refused a request.
#[derive(Copy)]
pub enum LegacyRefusal {
    Credential => "it does not accept the account's credential, or not for this",
        "no acepta la credencial de la cuenta, o no para esto";
    NotFound => "it does not know what was asked for", "no conoce lo que se le pidió";
    NoCredits => "the account there has no credits left", "la cuenta de allá ya no tiene créditos";
    State => "the state of what was asked for does not allow it", "el estado de lo que se le pidió no lo permite";
    Redirect => "its address redirects elsewhere, which is not followed", "su dirección redirige a otra parte, y eso no se sigue";
    Request => "it does not accept the request", "no acepta la solicitud";
    NoWorkspace => "the credential opens no workspace", "la credencial no abre ningún espacio de trabajo";
    NoAgent => "the workspace has no such agent", "el espacio de trabajo no tiene ese agente";
    AgentGone => "it has no such agent any more", "ya no tiene ese agente";
    NoNumber => "it has no number of the account to call from: import the number there, and assign it to the agent",
        "no tiene un número de la cuenta desde el cual llamar: importa el número ahí, y asígnalo al agente";
    NotPlaced => "it did not place the call", "no hizo la llamada";
    NoHangUp => "it has no operation to end a call", "no tiene forma de terminar una llamada";
    UsedReference => "the reference was used before", "la referencia ya se usó";
}}
