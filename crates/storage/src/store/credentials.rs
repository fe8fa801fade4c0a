//! Credentials of accounts at providers, sealed with the row's id as associated data.

use async_recursion::async_recursion as boxed;
use offhook_domain::{AccountId, CredentialProvider, Timestamp};

use super::{Answer, keep, mint, read, write};
use crate::queries;
use crate::{Credential, Result, Store, Verdict};

impl Store {
    /// Seals and stores a credential, in place of the one that the account had for this provider.
    #[boxed]
    pub async fn set_credential(
        &self,
        account: AccountId,
        provider: CredentialProvider,
        secret: &str,
        at: Timestamp,
    ) -> Result<Credential> {
        let credential = Credential {
            id: mint(at),
            account_id: account,
            provider,
            created_at: at,
            updated_at: at,
            asked_at: None,
            last_error: None,
        };
        let sealed = self.master_key.seal(secret, &credential.id.uuid())?;
        let actor = self.actor();
        keep!(self, |conn| {
            queries::locks::lock_account(conn, account).await?;
            let stored = queries::credentials::replace(conn, &credential, sealed).await?;
            let id: offhook_domain::EventId = mint(at);
            let words = (actor.as_str(), "account.credential.set", provider.as_str());
            queries::accounts::audit(conn, id.uuid(), Some(account), words, at).await?;
            Ok(stored)
        })
        .await
    }

    /// Notes why a provider that was asked at `began` with the account's credential did not say what the account has there.
    pub fn credential_unanswered(
        &self,
        account: AccountId,
        provider: CredentialProvider,
        began: Timestamp,
        why: &str,
    ) -> Answer<'_, ()> {
        let why = why.to_owned();
        keep!(self, |conn| {
            let of = (account, provider);
            queries::credentials::unanswered(conn, of, began, &why).await
        })
    }

    /// Removes a credential, and the voices that it listed; `None` if the account has none for this provider.
    pub fn remove_credential(
        &self,
        account: AccountId,
        provider: CredentialProvider,
        at: Timestamp,
    ) -> Answer<'_, Option<Credential>> {
        let actor = self.actor();
        write!(self, |conn| {
            // So that nothing which it lists is written behind it.
            queries::locks::lock_account(conn, account).await?;
            let removed = queries::credentials::remove(conn, account, provider).await?;
            if removed.is_none() {
                return Ok(Verdict::Rollback(None));
            }
            if let Some(provider) = provider.voices()
                && queries::account_voices::has(conn, account).await?
            {
                let of = (account, provider);
                queries::account_voices::replace(conn, of, &[]).await?;
                let generation: offhook_domain::EventId = mint(at);
                queries::voices::renew_generation(conn, &generation.to_string()).await?;
            }
            let id: offhook_domain::EventId = mint(at);
            let words = (
                actor.as_str(),
                "account.credential.remove",
                provider.as_str(),
            );
            queries::accounts::audit(conn, id.uuid(), Some(account), words, at).await?;
            Ok(Verdict::Commit(removed))
        })
    }

    /// The secret of the account's credential at a provider.
    ///
    /// # Errors
    /// `StoreError::Corrupt` if it does not open.
    #[boxed]
    pub async fn credential_secret(
        &self,
        account: AccountId,
        provider: CredentialProvider,
    ) -> Result<Option<String>> {
        let found = read!(self, |conn| queries::credentials::sealed(
            conn, account, provider
        )
        .await)
        .await?;
        found
            .map(|(id, sealed)| self.master_key.open(&sealed, &id.uuid()))
            .transpose()
    }
}
