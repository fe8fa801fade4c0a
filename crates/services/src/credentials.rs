//! Credentials of accounts at providers, as the operator and admins store them.

use std::sync::Arc;

use offhook_domain::{AccountId, CredentialProvider};
use offhook_engine::ports::VoiceLibraryError;
use offhook_storage::{Actor, Credential, StoreError};
use reqwest::header::HeaderValue;

use crate::whatsapp::WhatsAppCredential;
use crate::{Person, Shared};

/// The longest secret, in bytes.
const SECRET_BYTES: usize = 4_096;

/// Why a credential was not stored or removed.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// A value is wrong, or there is nothing of that name; the sentence says which.
    #[error("{0}")]
    Invalid(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Whether a provider gets its credential as it is, in a header of each request: Twilio's is encoded, WhatsApp's has parts
/// of its own, and the others are sent nowhere.
const fn is_sent_in_a_header(provider: CredentialProvider) -> bool {
    match provider {
        CredentialProvider::Legacy | CredentialProvider::VoicesA | CredentialProvider::VoicesB => {
            true
        }
        CredentialProvider::LegacyWebhook
        | CredentialProvider::Simulator
        | CredentialProvider::Twilio
        | CredentialProvider::WhatsApp => false,
    }
}

/// Credentials of accounts.
#[derive(Clone)]
pub struct Credentials(Arc<Shared>, Actor);

impl Credentials {
    pub(crate) const fn new(shared: Arc<Shared>) -> Self {
        Self(shared, Actor::Operator)
    }

    /// The same in the hands of somebody who is signed in: the audit log says so.
    pub fn by(&self, person: &Person) -> Self {
        Self(self.0.clone(), person.actor())
    }

    /// Seals and stores a credential, in place of the one that the account had for this provider.
    ///
    /// # Errors
    /// [`CredentialError::Invalid`] for an empty or too long secret, one that is not of the provider's form, or without such
    /// an account.
    pub async fn set(
        &self,
        account: AccountId,
        provider: CredentialProvider,
        secret: &str,
    ) -> Result<Credential, CredentialError> {
        let secret = secret.trim();
        if secret.is_empty() || secret.len() > SECRET_BYTES {
            return Err(CredentialError::Invalid(format!(
                "the secret must have 1 to {SECRET_BYTES} bytes"
            )));
        }
        let fits = HeaderValue::from_str(secret).is_ok_and(|value| value.to_str().is_ok());
        if is_sent_in_a_header(provider) && !fits {
            return Err(CredentialError::Invalid(
                VoiceLibraryError::Credential.to_string(),
            ));
        }
        if provider == CredentialProvider::WhatsApp {
            WhatsAppCredential::read(secret).map_err(CredentialError::Invalid)?;
        }
        self.check_account(account).await?;
        let at = self.0.clock.now();
        let store = self.0.store.acting(self.1);
        let stored = store.set_credential(account, provider, secret, at);
        Ok(stored.await?)
    }

    /// The account's credentials, without their secrets.
    ///
    /// # Errors
    /// [`CredentialError::Invalid`] without such an account.
    pub async fn list(&self, account: AccountId) -> Result<Vec<Credential>, CredentialError> {
        self.check_account(account).await?;
        Ok(self.0.store.credentials(account).await?)
    }

    /// Removes a credential.
    ///
    /// # Errors
    /// [`CredentialError::Invalid`] if the account has none for this provider.
    pub async fn remove(
        &self,
        account: AccountId,
        provider: CredentialProvider,
    ) -> Result<Credential, CredentialError> {
        let at = self.0.clock.now();
        let store = self.0.store.acting(self.1);
        let removed = store.remove_credential(account, provider, at).await?;
        removed.ok_or_else(|| {
            CredentialError::Invalid(format!(
                "account {account} has no credential for `{provider}`"
            ))
        })
    }

    async fn check_account(&self, account: AccountId) -> Result<(), CredentialError> {
        if self.0.store.account(account).await?.is_some() {
            return Ok(());
        }
        Err(CredentialError::Invalid(format!(
            "there is no account {account}"
        )))
    }
}
