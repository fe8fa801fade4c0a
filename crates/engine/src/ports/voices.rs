//! Voices, as their providers list and share them.

use async_trait::async_trait;
use offhook_domain::{VoiceList, VoiceProvider};

/// A provider's list of voices.
#[async_trait]
pub trait VoiceLibrary: Send + Sync {
    /// Whose list it is.
    fn provider(&self) -> VoiceProvider;

    /// Every voice that costs nothing extra, page by page.
    ///
    /// # Errors
    /// [`VoiceLibraryError`] if any part of the list cannot be had.
    async fn voices(&self) -> Result<VoiceList, VoiceLibraryError>;

    /// The voices that are nobody's but the owner's of this credential, which cost nothing extra; their source is
    /// `custom`. A provider without private voices has none.
    ///
    /// # Errors
    /// [`VoiceLibraryError`] if any part of the list cannot be had.
    async fn own_voices(&self, credential: &str) -> Result<VoiceList, VoiceLibraryError> {
        let _ = credential;
        Ok(VoiceList::default())
    }

    /// Adds a voice of the provider's shared library to the workspace, where agents may speak with it. It is no error
    /// that it has been there already.
    ///
    /// # Errors
    /// [`VoiceLibraryError`] if it is not there, or nobody knows; it may be asked again.
    async fn add_shared(&self, voice: &SharedVoice) -> Result<(), VoiceLibraryError> {
        let _ = voice;
        Err(VoiceLibraryError::NotShared)
    }
}

/// A voice of a shared library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedVoice {
    /// Who shares it, as the library names them.
    pub owner_id: String,
    /// The provider's id of it.
    pub voice_id: String,
    /// The name that it is to have in the workspace.
    pub name: String,
}

/// Why a provider did not do what it was asked. It never shows what the provider answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VoiceLibraryError {
    /// No whole answer came.
    #[error("the provider cannot be reached")]
    Unreachable,
    /// The provider refused, with this status.
    #[error("the provider answered with {0}")]
    Refused(u16),
    /// The answer is not of the provider's form.
    #[error("the provider's answer is not of its form: {0}")]
    Malformed(&'static str),
    /// The provider's shared library has no such voice.
    #[error("the provider shares no such voice")]
    NotShared,
    /// No HTTP header can carry the credential.
    #[error("the credential holds characters that no HTTP header can carry")]
    Credential,
    /// The workspace has as many voices as it may have.
    #[error("the workspace at the provider has no room for another voice")]
    Full,
}
