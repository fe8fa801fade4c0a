//! Credentials of accounts at providers, as the operator and admins store them.

use offhook_boxed::boxed;
use std::sync::Arc;

use offhook_domain::{AccountId, CredentialProvider};
use offhook_engine::ports::VoiceLibraryError;
use offhook_storage::{Actor, Credential};
use reqwest::header::HeaderValue;

use crate::endpoints::EndpointKey;
use crate::error::InputError;
use crate::whatsapp::WhatsAppCredential;
use crate::{Person, Shared};

/// The longest secret, in bytes.
const SECRET_BYTES: usize = 4_096;

/// Whether a provider gets its credential as it is, in a header of each request: Twilio's is encoded, those of WhatsApp and of
/// models have parts of their own, and the others are sent nowhere.
const fn is_sent_in_a_header(provider: CredentialProvider) -> bool {
    match provider {
        CredentialProvider::Legacy | CredentialProvider::VoicesA | CredentialProvider::VoicesB => {
            true
        }
        CredentialProvider::LegacyWebhook
        | CredentialProvider::Simulator
        | CredentialProvider::Twilio
        | CredentialProvider::WhatsApp
        | CredentialProvider::Llm => false,
    }
}

/// Credentials of accounts.
#[derive(Clone)]
pub struct Credentials(Arc<Shared>, Actor);

#[boxed]
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
    /// [`InputError::Invalid`] for an empty or too long secret, one that is not of the provider's form, or without such
    /// an account.
    pub async fn set(
        &self,
        account: AccountId,
        provider: CredentialProvider,
        secret: &str,
    ) -> Result<Credential, InputError> {
        let secret = secret.trim();
        if secret.is_empty() || secret.len() > SECRET_BYTES {
            return Err(InputError::Invalid(format!(
                "the secret must have 1 to {SECRET_BYTES} bytes"
            )));
        }
        let fits = HeaderValue::from_str(secret).is_ok_and(|value| value.to_str().is_ok());
        if is_sent_in_a_header(provider) && !fits {
            return Err(InputError::Invalid(
                VoiceLibraryError::Credential.to_string(),
            ));
        }
        match provider {
            CredentialProvider::WhatsApp => WhatsAppCredential::read(secret).map(drop),
            CredentialProvider::Llm => EndpointKey::read(secret).map(drop),
            _ => Ok(()),
        }
        .map_err(InputError::Invalid)?;
        self.check_account(account).await?;
        let at = self.0.clock.now();
        let store = self.0.store.acting(self.1);
        let stored = store.set_credential(account, provider, secret, at);
        Ok(stored.await?)
    }

    /// The account's credentials, without their secrets.
    ///
    /// # Errors
    /// [`InputError::Invalid`] without such an account.
    pub async fn list(&self, account: AccountId) -> Result<Vec<Credential>, InputError> {
        self.check_account(account).await?;
        Ok(self.0.store.credentials(account).await?)
    }

    /// Removes a credential.
    ///
    /// # Errors
    /// [`InputError::Invalid`] if the account has none for this provider.
    pub async fn remove(
        &self,
        account: AccountId,
        provider: CredentialProvider,
    ) -> Result<Credential, InputError> {
        let at = self.0.clock.now();
        let store = self.0.store.acting(self.1);
        let removed = store.remove_credential(account, provider, at).await?;
        removed.ok_or_else(|| {
            InputError::Invalid(format!(
                "account {account} has no credential for `{provider}`"
            ))
        })
    }

    async fn check_account(&self, account: AccountId) -> Result<(), InputError> {
        if self.0.store.account(account).await?.is_some() {
            return Ok(());
        }
        Err(InputError::Invalid(format!(
            "there is no account {account}"
        )))
    }
}
