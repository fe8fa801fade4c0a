//! The port to the provider that runs the legacy agents: it holds their configuration, and their calls' media.

use std::time::Duration;

use async_trait::async_trait;
use offhook_domain::{CallHandle, CallOutcome, E164, Timestamp};

use crate::Turn;

/// The provider of the legacy agents, asked with an account's own credential.
#[async_trait]
pub trait LegacyProvider: Send + Sync {
    /// Every agent that the credential opens.
    ///
    /// # Errors
    /// [`LegacyError`] if the provider did not say.
    async fn agents(&self, credential: &str) -> Result<Vec<LegacyAgent>, LegacyError>;

    /// Renames an agent.
    ///
    /// # Errors
    /// [`LegacyError`] if the provider did not confirm.
    async fn rename(&self, credential: &str, agent: &str, name: &str) -> Result<(), LegacyError>;

    /// Calls a number, once. `Ok` means that the provider took the call over; what becomes of it is asked for by our
    /// reference.
    ///
    /// # Errors
    /// [`LegacyError`] says whether the request can have had an effect.
    async fn place(&self, credential: &str, call: LegacyCall) -> Result<(), LegacyError>;

    /// How a call goes, looked up by our reference; `None` if the provider knows of none.
    ///
    /// # Errors
    /// [`LegacyError`] if the provider did not say; it may be asked again.
    async fn progress(
        &self,
        credential: &str,
        reference: CallHandle,
    ) -> Result<Option<LegacyProgress>, LegacyError>;

    /// Ends a call. One that the provider does not know is no error.
    ///
    /// # Errors
    /// [`LegacyError`] if the provider did not confirm; it may be asked again.
    async fn hang_up(&self, credential: &str, reference: CallHandle) -> Result<(), LegacyError>;

    /// The recording of an ended call, a WAV file; `None` if there is none.
    ///
    /// # Errors
    /// [`LegacyError`] if the provider did not say.
    async fn recording(
        &self,
        credential: &str,
        reference: CallHandle,
    ) -> Result<Option<Vec<u8>>, LegacyError>;

    /// How often a call under way is asked after.
    fn asked_every(&self) -> Duration {
        Duration::from_secs(10)
    }
}

/// An agent as its provider tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegacyAgent {
    /// Its id there, which begins `agent_`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its prompt.
    pub system_prompt: Option<String>,
    /// What it says first.
    pub first_message: Option<String>,
    /// BCP 47.
    pub language: Option<String>,
    /// The model's name there.
    pub model: Option<String>,
    /// The voice's id there.
    pub voice_id: Option<String>,
    /// The numbers that it calls from, each with its label.
    pub phone_numbers: Vec<(E164, String)>,
}

/// A call for the provider to place.
#[derive(Clone)]
pub struct LegacyCall {
    /// Our reference, by which the call is looked up.
    pub reference: CallHandle,
    /// The agent's id at the provider.
    pub agent: String,
    /// The caller's number.
    pub from: E164,
    /// The customer's number.
    pub to: E164,
    /// The call's variables.
    pub variables: Vec<(String, String)>,
}

/// How a call goes.
#[derive(Clone, Default)]
pub struct LegacyProgress {
    /// Whether the line gave a sign of life: it rings, was answered, or failed.
    pub reported: bool,
    /// When it was answered.
    pub answered_at: Option<Timestamp>,
    /// What was said so far, in order.
    pub turns: Vec<Turn>,
    /// How it ended, once it has.
    pub end: Option<LegacyEnd>,
}

/// How a call ended.
#[derive(Clone)]
pub struct LegacyEnd {
    /// How.
    pub outcome: CallOutcome,
    /// When.
    pub ended_at: Timestamp,
    /// What it was about; empty if nobody answered.
    pub summary: String,
    /// Whether there is a recording to fetch.
    pub recorded: bool,
}

/// Why the provider did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LegacyError {
    /// No connection could be opened, so nothing was asked: it may be tried again.
    #[error("no connection to the legacy provider could be opened")]
    NotConnected,
    /// The request left, the answer never came: nobody knows.
    #[error("the legacy provider did not answer")]
    Unknown,
    /// It will not.
    #[error("the legacy provider refused: {0}")]
    Refused(&'static str),
}
