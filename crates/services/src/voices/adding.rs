//! Makes a chosen voice usable: a voice of a provider's shared library is first added to the workspace.

use std::time::Duration;

use offhook_domain::{AccountId, VoiceProvider, VoiceSource};
use offhook_engine::ports::{SharedVoice, VoiceLibraryError};
use offhook_storage::StoreError;
use tokio::time::timeout;

use super::Voices;

/// How long a provider may take while a client waits.
const ADD_LIMIT: Duration = Duration::from_secs(10);

/// Why a voice cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnreadyVoice {
    #[error("`{0}` has no such voice; GET /v1/voices lists them")]
    NotListed(String),
    /// It is shared, and the list dates from before owners were stored.
    #[error(
        "is shared and the list does not say by whom; choose one that is not `shared`, or ask the operator to run \
         `offhook voices sync`"
    )]
    OwnerUnknown,
    /// It is shared, and this service has no key for the provider's workspace.
    #[error(
        "is shared, and this service has no workspace at `{0}` to add it to (voices.{0}.base_url); choose one that is \
         not `shared`"
    )]
    NoWorkspace(VoiceProvider),
    /// The workspace has no room for it.
    #[error(
        "is shared, and the workspace at `{0}` has no room for another voice; choose one that is not `shared`, or ask \
         the operator to make room"
    )]
    NoRoom(VoiceProvider),
    #[error("`{0}` shares this voice no more; GET /v1/voices lists the others")]
    NotShared(VoiceProvider),
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
        let not_listed = || UnreadyVoice::NotListed(provider.to_owned());
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
        let library = library.ok_or(UnreadyVoice::NoWorkspace(provider))?;
        let shared = SharedVoice {
            owner_id: voice.owner_id.clone().ok_or(UnreadyVoice::OwnerUnknown)?,
            voice_id: voice.voice_id.clone(),
            name: voice.name.clone(),
        };
        let asked = timeout(ADD_LIMIT, library.add_shared(&shared)).await;
        match asked.unwrap_or(Err(VoiceLibraryError::Unreachable)) {
            Ok(()) => {}
            Err(VoiceLibraryError::Full) => return Err(UnreadyVoice::NoRoom(provider)),
            Err(VoiceLibraryError::NotShared) => return Err(UnreadyVoice::NotShared(provider)),
            Err(error) => return Err(UnreadyVoice::Library(error)),
        }
        tracing::info!(%provider, voice_id, "a shared voice is in the workspace");
        let at = self.ctx.clock.now();
        Ok(self.ctx.store.voice_added(provider, voice_id, at).await?)
    }
}
