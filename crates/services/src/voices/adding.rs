//! Makes a chosen voice usable: a voice of a provider's shared library is first added to the workspace.

use offhook_domain::ports::{SharedVoice, VoiceLibraryError};
use tokio::time::timeout;

use super::Voices;
use crate::prelude::*;

/// How long a provider may take while a client waits.
const ADD_LIMIT: Duration = Duration::from_secs(10);

/// Why a voice cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnreadyVoice {
    #[error("{0}")]
    Invalid(#[from] Fault),
    #[error(transparent)]
    Library(VoiceLibraryError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Voices {
    /// Makes sure that agents can speak with a voice: that it is listed, and in the workspace if it is shared. A
    /// repeated call changes nothing.
    pub(crate) async fn make_ready(
        &self,
        account: AccountId,
        provider: &str,
        voice_id: &str,
    ) -> Result<(), UnreadyVoice> {
        let not_listed = || Fault::NoVoice(provider.to_owned());
        let provider: VoiceProvider = provider.parse().map_err(|_| not_listed())?;
        let list = self.current().await?;
        let own = self.own(&list, account).await?;
        if own.is_some_and(|own| own.find(provider, voice_id).is_some()) {
            return Ok(());
        }
        let voice = list.find(provider, voice_id).ok_or_else(not_listed)?;
        if voice.source != VoiceSource::Shared {
            return Ok(());
        }
        let library = self.library(provider);
        let library = library.ok_or(Fault::NoWorkspace(provider.as_str()))?;
        let shared = SharedVoice {
            // The list may date from before owners were stored.
            owner_id: voice.owner_id.clone().ok_or(Fault::VoiceOwnerUnknown)?,
            voice_id: voice.voice_id.clone(),
            name: voice.name.clone(),
        };
        let asked = timeout(ADD_LIMIT, library.add_shared(&shared)).await;
        match asked.unwrap_or(Err(VoiceLibraryError::Unreachable)) {
            Ok(()) => {}
            Err(VoiceLibraryError::Full) => {
                return Err(Fault::WorkspaceFull(provider.as_str()).into());
            }
            Err(VoiceLibraryError::NotShared) => {
                return Err(Fault::VoiceNotShared(provider.as_str()).into());
            }
            Err(error) => return Err(UnreadyVoice::Library(error)),
        }
        tracing::info!(%provider, voice_id, "a shared voice is in the workspace");
        let at = self.ctx.clock.now();
        Ok(self.ctx.store.voice_added(provider, voice_id, at).await?)
    }
}
