//! The port to the provider that runs the legacy agents: it holds their configuration, and their calls' media.

use std::fs::File;
use std::io;
use std::time::Duration;

use async_trait::async_trait;
use offhook_domain::{
    CallHandle, CallOutcome, Channel, E164, FailureReason, Json, NumberProvider, Timestamp,
};

use crate::{Deadline, Turn};

/// The provider of the legacy agents, asked with an account's own credential.
#[async_trait]
pub trait LegacyProvider: Send + Sync {
    /// Every agent that the credential opens.
    ///
    /// # Errors
    /// [`LegacyError`] if the provider did not say, all of it.
    async fn agents(&self, credential: &str) -> Result<LegacyAgents, LegacyError>;

    /// Renames an agent.
    ///
    /// # Errors
    /// [`LegacyError`] if the provider did not confirm.
    async fn rename(&self, credential: &str, agent: &str, name: &str) -> Result<(), LegacyError>;

    /// Calls a number, once. `Ok` means that the provider took the call over, with the call's id there if it told one;
    /// what becomes of it is asked for by our reference. The request that calls leaves before `place_by` or not at all.
    ///
    /// # Errors
    /// [`LegacyError`] says whether the request can have had an effect.
    async fn place(
        &self,
        credential: &str,
        call: LegacyCall,
        place_by: Deadline,
    ) -> Result<Option<String>, LegacyError>;

    /// How a call goes; `None` if the provider knows of none.
    ///
    /// # Errors
    /// [`LegacyError`] if the provider did not say; it may be asked again.
    async fn progress(
        &self,
        credential: &str,
        reference: &LegacyReference,
    ) -> Result<Option<LegacyProgress>, LegacyError>;

    /// Ends a call. One that the provider does not know is no error.
    ///
    /// # Errors
    /// [`LegacyError`] if the provider did not confirm; it may be asked again, unless it [cannot](Self::hangs_up).
    async fn hang_up(
        &self,
        credential: &str,
        reference: &LegacyReference,
    ) -> Result<(), LegacyError>;

    /// Whether it can end a call that it was given.
    fn hangs_up(&self) -> bool {
        true
    }

    /// Whether it is the simulated one. That calls nobody, and from any number; others call from those alone that they have:
    /// those of the account's legacy agents.
    fn is_simulated(&self) -> bool {
        false
    }

    /// Writes the recording of an ended call to an empty file, as a WAV file; `false` if the provider has none, or none
    /// yet.
    ///
    /// # Errors
    /// [`RecordingError`]; what is in the file is nothing then.
    async fn recording(
        &self,
        credential: &str,
        reference: &LegacyReference,
        to: File,
    ) -> Result<bool, RecordingError>;

    /// The ids there of the conversations that began since then, whoever began them.
    ///
    /// # Errors
    /// [`LegacyError`] if the provider did not say, all of it.
    async fn conversations(
        &self,
        _credential: &str,
        _since: Timestamp,
    ) -> Result<Vec<String>, LegacyError> {
        Ok(Vec::new())
    }

    /// A conversation that was not placed here, by its id there; `None` if it was, or there is none.
    ///
    /// # Errors
    /// [`LegacyError`] if the provider did not say; it may be asked again.
    async fn conversation(
        &self,
        _credential: &str,
        _id: &str,
    ) -> Result<Option<LegacyConversation>, LegacyError> {
        Ok(None)
    }

    /// Whether it also tells of its own accord what became of a call.
    fn reports(&self) -> bool {
        false
    }

    /// What a message says that was signed with the account's secret; `None` if that is nothing about the end of a call.
    ///
    /// # Errors
    /// [`NotGenuine`] for every message that this provider did not send about now, and in every case if it sends none.
    fn read_report(
        &self,
        _secret: &str,
        _signature: &str,
        _body: &[u8],
        _now: Timestamp,
    ) -> Result<Option<LegacyReport>, NotGenuine> {
        Err(NotGenuine)
    }

    /// How soon a call under way is asked after again.
    fn pace(&self) -> LegacyPace {
        LegacyPace::default()
    }
}

/// A provider's list of agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegacyAgents {
    /// Those that it lists.
    pub agents: Vec<LegacyAgent>,
    /// Whether it says that there are no others. What is not on a list that does not say so may be there all the same.
    pub is_whole: bool,
}

/// How often a provider is asked after a call under way, and how long it is believed to come to know of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegacyPace {
    /// After something has changed.
    pub soonest: Duration,
    /// While nothing changes, each wait is twice the one before, up to this.
    pub latest: Duration,
    /// How long a call that the provider was asked for, and does not know, may still appear there.
    pub appears_within: Duration,
    /// How long a call may be neither answered nor over.
    pub answered_within: Duration,
    /// How long a call that is over may wait for what the provider has still to say of it.
    pub told_within: Duration,
    /// How long a call may last at all, counted here.
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
    /// The same with each time replaced.
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

/// Which call is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegacyReference {
    /// Our reference, which the provider was given with the call.
    pub call: CallHandle,
    /// The call's id at the provider, once it is known.
    pub conversation: Option<String>,
}

/// An agent as its provider tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegacyAgent {
    /// Its id there, which begins `agent_`.
    pub id: String,
    pub name: String,
    pub system_prompt: Option<String>,
    /// What it says first.
    pub first_message: Option<String>,
    /// BCP 47.
    pub language: Option<String>,
    /// The model's name there.
    pub model: Option<String>,
    /// The voice's id there.
    pub voice_id: Option<String>,
    /// The numbers that are its own.
    pub phone_numbers: Vec<LegacyNumber>,
}

/// A number that the provider calls from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegacyNumber {
    pub number: E164,
    /// What it is called.
    pub label: String,
    /// By whose lines it calls.
    pub provider: NumberProvider,
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
    /// The call's variables, each a string, a number, a boolean or null.
    pub variables: Vec<(String, Json)>,
}

/// How a call goes.
#[derive(Clone, Default)]
pub struct LegacyProgress {
    /// The call's id at the provider, where it has one.
    pub conversation: Option<String>,
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
    /// Whether the provider has said all that it will say of the call.
    pub is_told: bool,
}

/// A conversation that was not placed here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegacyConversation {
    /// The agent's id at the provider.
    pub agent: String,
    pub channel: Channel,
    /// Who called, if somebody did, and that is a number.
    pub from: Option<E164>,
    /// Who was called.
    pub to: Option<E164>,
    /// The one of both that is not the agent's.
    pub customer: Option<E164>,
    pub began_at: Timestamp,
    /// Whether the provider has said all that it will say of it.
    pub is_told: bool,
}

/// What the provider tells of a call of its own accord.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegacyReport {
    /// The call's id there.
    pub conversation: String,
    /// Our reference, where the message holds it.
    pub call: Option<CallHandle>,
    /// Why the call was never begun; `None` if it has ended.
    pub failure: Option<FailureReason>,
}

/// Not a message of the provider, or not one of now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotGenuine;

/// Why a recording was not fetched.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The provider did not say; it may be asked again.
    #[error(transparent)]
    Provider(#[from] LegacyError),
    /// It cannot be written; it may be asked for again.
    #[error("the recording cannot be written: {0}")]
    File(#[from] io::Error),
    /// What the provider has is no recording that can be kept, and will be none the next time.
    #[error("what the legacy provider has as the recording {0}")]
    Unusable(&'static str),
}

/// Why the provider did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LegacyError {
    /// No connection could be opened, so nothing was asked: it may be tried again.
    #[error("no connection to the legacy provider could be opened")]
    NotConnected,
    /// The request left, and no answer that can be read came: nobody knows.
    #[error("the legacy provider did not give an answer that can be read")]
    Unknown,
    /// It does nothing now, and may be asked again: after this time, if it said one.
    #[error("the legacy provider takes no more requests of this account for now: try again later")]
    Later(Option<Duration>),
    /// It will not.
    #[error("the legacy provider refused: {0}")]
    Refused(&'static str),
}
