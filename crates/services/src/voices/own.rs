//! Private voices of single accounts: listed with the account's own credential, shown to that account only. Few
//! accounts have any; theirs are read on each request.

use offhook_domain::ports::{VoiceLibrary, VoiceLibraryError};

use super::snapshot::{Listing, Search, Snapshot};
use super::sync::{AGAIN_AFTER, DUE_EVERY};
use super::{ListedVoice, SyncOutcome, VoicePlace, VoiceSyncError, Voices};
use crate::Result;
use crate::credentials::CredentialFault;
use crate::prelude::*;

/// Credentials of a provider that are claimed at once.
const BATCH: i64 = 8;

#[boxed]
impl Voices {
    /// The account's own voices, if it has any.
    pub(super) async fn own(
        &self,
        list: &Snapshot,
        account: AccountId,
    ) -> Result<Option<Snapshot>> {
        if !list.owners.contains(&account) {
            return Ok(None);
        }
        let rows = self.ctx.store.account_voices(account).await?;
        let mut listing = Listing::new(&self.shipped);
        for row in rows {
            listing.add(voice(row)?);
        }
        Ok(Some(listing.alone()))
    }

    /// Synchronizes with every account's own credentials, due or not.
    pub async fn sync_accounts(&self) -> Result<Vec<SyncOutcome>> {
        let mut outcomes = Vec::new();
        for credential in self.ctx.store.voice_credentials().await? {
            // A provider without a configured URL cannot be reached.
            if let Some(library) = self.library(credential.provider) {
                outcomes.push(self.sync_account(library, credential).await);
            }
        }
        Ok(outcomes)
    }

    /// Synchronizes with the due credentials, one after the other. Processes share the work: one of them claims each.
    pub(super) async fn sync_due_accounts(&self) -> Result<()> {
        loop {
            let (store, now) = (&self.ctx.store, self.ctx.clock.now());
            let due = store.take_due_voice_credentials(BATCH, AGAIN_AFTER, now);
            let due = due.await?;
            if due.is_empty() {
                return Ok(());
            }
            for credential in due {
                if let Some(library) = self.library(credential.provider) {
                    self.sync_account(library, credential).await;
                }
            }
        }
    }

    pub(super) fn library(&self, provider: VoiceProvider) -> Option<&dyn VoiceLibrary> {
        let mut libraries = self.libraries.iter();
        let library = libraries.find(|library| library.provider() == provider)?;
        Some(library.as_ref())
    }

    async fn sync_account(
        &self,
        library: &dyn VoiceLibrary,
        credential: VoiceCredential,
    ) -> SyncOutcome {
        let VoiceCredential {
            account, provider, ..
        } = credential;
        let began = self.ctx.clock.now();
        let result = self.ask_account(library, credential).await;
        if let Err(VoiceSyncError::Library(error)) = &result
            && let Some(word) = CredentialProvider::of_voices(provider)
        {
            // The account sees it beside its credentials.
            let (store, why) = (&self.ctx.store, fault_of(error).to_string());
            if let Err(error) = store
                .credential_unanswered(account, word, began, &why)
                .await
            {
                tracing::warn!(%account, %provider, %error, "why an account's own voices were not listed was not written down");
            }
        }
        match &result {
            Ok((voices, changes)) => tracing::info!(
                %account,
                %provider,
                voices,
                written = changes.written,
                deleted = changes.deleted,
                "an account's own voices synchronised"
            ),
            Err(error) => {
                tracing::warn!(%account, %provider, %error, "an account's own voices stay those of the last time");
            }
        }
        SyncOutcome {
            account: Some(account),
            provider,
            result,
        }
    }

    async fn ask_account(
        &self,
        library: &dyn VoiceLibrary,
        credential: VoiceCredential,
    ) -> Result<(usize, VoiceChanges), VoiceSyncError> {
        let store = &self.ctx.store;
        let opened = store.voice_credential_secret(credential.id).await?;
        let secret = opened.ok_or(VoiceSyncError::CredentialGone)?;
        let voices = library.own_voices(&secret).await?;
        let count = voices.len();
        let rows = voices.iter().map(row).collect();
        let at = self.ctx.clock.now();
        let changes = store.replace_account_voices(credential, rows, (at, at.plus(DUE_EVERY)));
        let changes = changes.await?.ok_or(VoiceSyncError::CredentialGone)?;
        Ok((count, changes))
    }
}

/// Up to `most` voices of both lists, in order. For a voice in both, the account's own wins.
pub(super) fn page(
    list: &Snapshot,
    own: &Snapshot,
    (search, after): (&Search, Option<&VoicePlace>),
    most: usize,
) -> Vec<ListedVoice> {
    let hidden = own.names();
    let is_shown = |provider, id: &[u8]| !hidden.contains(&(provider, id));
    let mut rows = list.behind(search, after, most, is_shown);
    rows.extend(own.page(search, after, most));
    rows.sort_unstable_by(|a, b| a.place.cmp(&b.place));
    rows.truncate(most);
    rows
}

/// The error that an account sees if a provider did not list its voices.
fn fault_of(error: &VoiceLibraryError) -> CredentialFault {
    match error {
        VoiceLibraryError::Refused(401 | 403) => CredentialFault::VoicesRefused,
        other => CredentialFault::Voices(other.clone()),
    }
}

fn row(voice: Voice) -> AccountVoice {
    let provider = voice.provider;
    let (voice_id, voice) = voice.into_text();
    AccountVoice {
        provider,
        voice_id,
        voice,
    }
}

fn voice(row: AccountVoice) -> Result<Voice> {
    Voice::from_text(row.provider, row.voice_id, row.voice.as_bytes())
        .map_err(|error| StoreError::Corrupt(format!("an account's voice: {error}")))
}
