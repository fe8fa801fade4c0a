//! Accounts' credentials at providers, as the operator and admins store them.

use offhook_domain::ports::VoiceLibraryError;
use offhook_engine::legacy::LegacyError;
use reqwest::header::HeaderValue;

use crate::endpoints::EndpointKey;
use crate::error::InputError;
use crate::prelude::*;
use crate::whatsapp::WhatsAppCredential;
use crate::{Person, own_keys};

/// The longest secret, in bytes.
const SECRET_BYTES: usize = 4_096;

/// Whether the provider gets its credential unchanged in a header of each request. Twilio's is encoded, those of
/// WhatsApp and of models have several parts, own keys are read before, and the others are sent to no provider.
const fn is_sent_in_a_header(provider: CredentialProvider) -> bool {
    match provider {
        CredentialProvider::Legacy | CredentialProvider::VoicesA | CredentialProvider::VoicesB => {
            true
        }
        CredentialProvider::LegacyWebhook
        | CredentialProvider::Simulator
        | CredentialProvider::Twilio
        | CredentialProvider::WhatsApp
        | CredentialProvider::Llm
        | CredentialProvider::OpenAi
        | CredentialProvider::Anthropic
        | CredentialProvider::Google
        | CredentialProvider::Deepgram
        | CredentialProvider::Cartesia
        | CredentialProvider::ElevenLabs => false,
    }
}

messages! { stored
/// Why a provider did not answer with an account's credential.
pub enum CredentialFault {
    VoicesRefused => "the provider does not accept the credential, or not for its voices",
        "el proveedor no acepta la credencial, o no para sus voces";
    KeyRefused => "the provider does not accept the key",
        "el proveedor no acepta la clave";
    Voices(error: VoiceLibraryError) => "{error}", "{error}";
    Legacy(error: LegacyError) => "{error}", "{error}";
}}

#[derive(Clone)]
pub struct Credentials(Arc<Context>, Actor);

#[boxed]
impl Credentials {
    pub(crate) const fn new(ctx: Arc<Context>) -> Self {
        Self(ctx, Actor::Operator)
    }

    /// The same on behalf of a signed-in user, whom the audit log names.
    pub fn by(&self, person: &Person) -> Self {
        Self(self.0.clone(), person.actor())
    }

    /// Encrypts and stores a credential. It replaces the account's credential for this provider.
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
        let key = match provider {
            CredentialProvider::WhatsApp => {
                WhatsAppCredential::read(secret)?;
                None
            }
            CredentialProvider::Llm => Some(EndpointKey::read(secret)?.key),
            own if own.own_key().is_some() => Some(own_keys::read(own, secret)?.key),
            _ => Some(secret.into()),
        };
        let end = key.as_deref().and_then(own_keys::end_of);
        self.check_account(account).await?;
        let at = self.0.clock.now();
        let store = self.0.store.acting(self.1);
        let stored = store.set_credential(account, provider, secret, end.as_deref(), at);
        Ok(stored.await?)
    }

    /// The account's credentials, without their secrets.
    pub async fn list(&self, account: AccountId) -> Result<Vec<Credential>, InputError> {
        self.check_account(account).await?;
        Ok(self.0.store.credentials(account).await?)
    }

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
