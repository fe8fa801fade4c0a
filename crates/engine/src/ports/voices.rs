//! The voice libraries of providers.

use async_trait::async_trait;
use offhook_domain::{VoiceList, VoiceProvider};

/// A provider's list of voices.
#[async_trait]
pub trait VoiceLibrary: Send + Sync {
    fn provider(&self) -> VoiceProvider;

    /// Lists every voice without an extra charge, page by page. Fails unless the whole list could be read.
    async fn voices(&self) -> Result<VoiceList, VoiceLibraryError>;

    /// Lists the private voices of a credential's owner that have no extra charge; their source is `custom`. Empty for
    /// a provider without private voices. Fails unless the whole list could be read.
    async fn own_voices(&self, credential: &str) -> Result<VoiceList, VoiceLibraryError> {
        let _ = credential;
        Ok(VoiceList::default())
    }

    /// Adds a voice of the provider's shared library to the workspace, so that agents can use it. Succeeds if the
    /// workspace already has the voice. After an error it is missing, or its state is unknown; a retry is safe.
    async fn add_shared(&self, voice: &SharedVoice) -> Result<(), VoiceLibraryError> {
        let _ = voice;
        Err(VoiceLibraryError::NotShared)
    }
}

/// A voice of a shared library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedVoice {
    /// The library's id of the account that shares it.
    pub owner_id: String,
    pub voice_id: String,
    /// The voice's name in the workspace.
    pub name: String,
}

/// Why a provider failed. It never shows the provider's answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VoiceLibraryError {
    /// No complete answer came.
    #[error("the provider cannot be reached")]
    Unreachable,
    /// The provider refused with this status.
    #[error("the provider answered with {0}")]
    Refused(u16),
    /// The answer is malformed.
    #[error("the provider's answer is not of its form: {0}")]
    Malformed(&'static str),
    /// The provider's shared library does not have this voice.
    #[error("the provider shares no such voice")]
    NotShared,
    /// The credential contains characters that an HTTP header cannot carry.
    #[error("the credential holds characters that no HTTP header can carry")]
    Credential,
    /// The workspace has reached its maximum number of voices.
    #[error("the workspace at the provider has no room for another voice")]
    Full,
}
