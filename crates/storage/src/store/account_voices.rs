//! Voices of accounts' own, and the credentials that list them.

use async_recursion::async_recursion as boxed;
use std::time::Duration;

use offhook_domain::{
    AccountId, CredentialId, CredentialProvider, EventId, Timestamp, VoiceProvider,
};

use super::{Answer, mint, read, write};
use crate::queries;
use crate::{AccountVoice, Result, Store, Verdict, VoiceChanges, VoiceCredential, VoiceOwner};

impl Store {
    /// Whose a voice is that the account's agent names.
    pub fn voice_owner(
        &self,
        account: AccountId,
        provider: VoiceProvider,
        voice_id: &str,
    ) -> Answer<'_, VoiceOwner> {
        let voice_id = voice_id.to_owned();
        read!(self, |conn| queries::account_voices::owner(
            conn,
            (account, provider),
            &voice_id
        )
        .await)
    }

    /// The secret of a credential that is still there.
    ///
    /// # Errors
    /// `StoreError::Corrupt` if it does not open.
    #[boxed]
    pub async fn voice_credential_secret(&self, id: CredentialId) -> Result<Option<String>> {
        let sealed = read!(self, |conn| queries::account_voices::sealed(conn, id).await).await?;
        let opened = sealed.map(|sealed| self.master_key.open(&sealed, &id.uuid()));
        opened.transpose()
    }

    /// Takes credentials at voice providers that are to be asked with, up to `most` of each provider; each is this
    /// caller's for `lease`, and due again then.
    pub fn take_due_voice_credentials(
        &self,
        most: i64,
        lease: Duration,
        now: Timestamp,
    ) -> Answer<'_, Vec<VoiceCredential>> {
        write!(self, |conn| {
            let times = (now, now.plus(lease));
            let taken = queries::account_voices::take_due(conn, most, times).await?;
            Ok(if taken.is_empty() {
                Verdict::Rollback(taken)
            } else {
                Verdict::Commit(taken)
            })
        })
    }

    /// Makes an account's own voices of a provider these, and says when to ask with the credential again. `None`: the
    /// credential is gone or has been replaced, and nothing was changed.
    pub fn replace_account_voices(
        &self,
        credential: VoiceCredential,
        rows: Vec<AccountVoice>,
        (at, next): (Timestamp, Timestamp),
    ) -> Answer<'_, Option<VoiceChanges>> {
        let VoiceCredential {
            id,
            account,
            provider,
        } = credential;
        write!(self, |conn| {
            // So that the credential is not removed meanwhile.
            queries::locks::lock_account(conn, account).await?;
            if !queries::account_voices::is_there(conn, id).await? {
                return Ok(Verdict::Rollback(None));
            }
            let had = queries::account_voices::has(conn, account).await?;
            let of = (account, provider);
            let changes = queries::account_voices::replace(conn, of, &rows).await?;
            if let Some(word) = CredentialProvider::of_voices(provider) {
                queries::credentials::answered(conn, (account, word), (at, next)).await?;
            }
            if had != queries::account_voices::has(conn, account).await? {
                let generation: EventId = mint(at);
                queries::voices::renew_generation(conn, &generation.to_string()).await?;
            }
            Ok(Verdict::Commit(Some(changes)))
        })
    }
}
