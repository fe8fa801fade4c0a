//! ElevenLabs: speech (Scribe, text-to-speech), its list of voices, and its agents, the legacy runtime over the provider's HTTP API. Every request carries the account's own key,
//! never the deployment's.
//!
//! The provider has no idempotency keys, so each call is requested once, whatever happens to the answer. It carries our
//! handle as user id and as a variable, and is found by that.

mod agents;
mod calls;
mod client;
mod conversations;
mod numbers;
mod outcome;
mod recordings;
mod reports;
mod speech_to_text;
pub(crate) mod text_to_speech;
mod transcript;
pub(crate) mod voices;

use std::fmt;
use std::fs::File;

use async_trait::async_trait;
use offhook_domain::Timestamp;
use offhook_engine::Deadline;
use offhook_engine::legacy::{
    LegacyAgent, LegacyCall, LegacyConversation, LegacyError, LegacyPace, LegacyProgress,
    LegacyProvider, LegacyReference, LegacyRefusal, LegacyReport, NotGenuine, RecordingError,
};

use crate::settings::SettingsError;
use client::Client;
use numbers::Numbers;

/// The provider's default base URL, used unless the settings name a region.
pub const ELEVENLABS_BASE_URL: &str = "https://api.elevenlabs.io";

/// The legacy runtime at ElevenLabs. Clones share their state.
#[derive(Clone)]
pub struct ElevenLabsAgents {
    client: Client,
    numbers: Numbers,
    pace: LegacyPace,
}

impl fmt::Debug for ElevenLabsAgents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ElevenLabsAgents").finish_non_exhaustive()
    }
}

impl ElevenLabsAgents {
    /// The provider at `base_url`. Fails if the URL is invalid or TLS is not available.
    pub fn new(base_url: &str) -> Result<Self, SettingsError> {
        Ok(Self {
            client: Client::new(base_url)?,
            numbers: Numbers::default(),
            pace: LegacyPace::default(),
        })
    }

    /// Sets another polling pace.
    #[must_use]
    pub const fn with_pace(mut self, pace: LegacyPace) -> Self {
        self.pace = pace;
        self
    }
}

#[async_trait]
impl LegacyProvider for ElevenLabsAgents {
    async fn agents(&self, credential: &str) -> Result<Vec<LegacyAgent>, LegacyError> {
        agents::list(&self.client, &self.numbers, credential).await
    }

    async fn rename(&self, credential: &str, agent: &str, name: &str) -> Result<(), LegacyError> {
        agents::rename(&self.client, credential, agent, name).await
    }

    async fn place(
        &self,
        credential: &str,
        call: LegacyCall,
        place_by: Deadline,
    ) -> Result<Option<String>, LegacyError> {
        calls::place(&self.client, &self.numbers, credential, call, place_by).await
    }

    async fn progress(
        &self,
        credential: &str,
        reference: &LegacyReference,
    ) -> Result<Option<LegacyProgress>, LegacyError> {
        conversations::progress(&self.client, credential, reference).await
    }

    /// ElevenLabs has no such operation: a call ends when one side hangs up, or at the agent's longest duration.
    async fn hang_up(&self, _: &str, _: &LegacyReference) -> Result<(), LegacyError> {
        Err(LegacyError::Refused(LegacyRefusal::NoHangUp))
    }

    fn hangs_up(&self) -> bool {
        false
    }

    async fn conversations(
        &self,
        credential: &str,
        since: Timestamp,
    ) -> Result<Vec<String>, LegacyError> {
        conversations::since(&self.client, credential, since).await
    }

    async fn conversation(
        &self,
        credential: &str,
        id: &str,
    ) -> Result<Option<LegacyConversation>, LegacyError> {
        conversations::of_others(&self.client, credential, id).await
    }

    fn pace(&self) -> LegacyPace {
        self.pace
    }

    fn reports(&self) -> bool {
        true
    }

    fn read_report(
        &self,
        secret: &str,
        signature: &str,
        body: &[u8],
        now: Timestamp,
    ) -> Result<Option<LegacyReport>, NotGenuine> {
        reports::read(secret, signature, body, now)
    }

    async fn recording(
        &self,
        credential: &str,
        reference: &LegacyReference,
        to: File,
    ) -> Result<bool, RecordingError> {
        recordings::fetch(&self.client, credential, reference, to).await
    }
}
