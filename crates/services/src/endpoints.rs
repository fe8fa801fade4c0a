//! An account's credential for the model server that it runs or rents.

use offhook_engine::Persona;
use reqwest::Url;

use crate::Result;
use crate::error::SecretFault;
use crate::prelude::*;

/// The longest key, in characters.
const KEY_CHARS: usize = 1_024;

/// A key and the only server that it is sent to: a JSON object of `origin` and `api_key`.
pub(crate) struct EndpointKey {
    origin: Url,
    pub(crate) key: Arc<str>,
}

impl EndpointKey {
    /// Parses a secret. The error names the wrong field and contains nothing of the secret.
    pub(crate) fn read(secret: &str) -> Result<Self, SecretFault> {
        let json = Json::parse(secret.as_bytes()).map_err(|error| match error {
            JsonError::NotJson => SecretFault::Llm,
            JsonError::Field(fault) => SecretFault::Field(fault),
        })?;
        Self::of(&json).map_err(SecretFault::Field)
    }

    fn of(json: &Json) -> Result<Self, FieldError> {
        let mut fields = Fields::of(json, "")?;
        let origin = fields.required_string("origin", 1..=KEY_CHARS)?;
        let whole = |url: &Url| {
            let is_web = matches!(url.scheme(), "https" | "http");
            is_web && *url.as_str() == format!("{}/", url.origin().ascii_serialization())
        };
        let origin = Url::parse(origin).ok().filter(whole);
        let origin = origin.ok_or_else(|| fields.fault("origin", Fault::ModelOrigin))?;
        let key = fields.required_string("api_key", 1..=KEY_CHARS)?;
        if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(fields.fault("api_key", Fault::Graphic));
        }
        let key = key.into();
        fields.finish()?;
        Ok(Self { origin, key })
    }

    /// The key, if it is for the server at this address.
    fn of_server(&self, endpoint: &str) -> Option<Arc<str>> {
        let endpoint = Url::parse(endpoint).ok()?;
        (endpoint.origin() == self.origin.origin()).then(|| self.key.clone())
    }
}

impl Context {
    /// Adds the account's key to the persona's endpoint, if it has one.
    pub(crate) async fn with_key(
        &self,
        account: AccountId,
        mut persona: Persona,
    ) -> Result<Persona> {
        if let Some(endpoint) = &mut persona.llm.endpoint {
            let secret = self
                .store
                .credential_secret(account, CredentialProvider::Llm);
            let key = secret
                .await?
                .and_then(|secret| EndpointKey::read(&secret).ok());
            endpoint.key = key.and_then(|key| key.of_server(&endpoint.url));
        }
        Ok(persona)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_for_the_server_at_its_origin_alone() {
        let stored = r#"{"origin":"https://models.example.com","api_key":"k-1"}"#;
        let stored = EndpointKey::read(stored).unwrap();
        for (endpoint, is_sent) in [
            ("https://models.example.com/v1", true),
            ("https://models.example.com:443/", true),
            ("https://MODELS.example.com", true),
            ("http://models.example.com/v1", false),
            ("https://models.example.com:8443/v1", false),
            ("https://models.example.com.evil.example/v1", false),
            ("https://models.example.com@evil.example/v1", false),
            ("models.example.com", false),
        ] {
            assert_eq!(stored.of_server(endpoint).is_some(), is_sent, "{endpoint}");
        }
    }

    #[test]
    fn a_secret_of_another_form_is_refused_without_being_told() {
        for (secret, fault) in [
            (
                "sk-secret",
                "the secret must be a JSON object with `origin` and `api_key`",
            ),
            (
                r#"{"origin":"https://a.example"}"#,
                "`api_key`: is required",
            ),
            (
                r#"{"origin":"https://a.example/v1","api_key":"sk-secret"}"#,
                "`origin`: must be scheme",
            ),
            (
                r#"{"origin":"a.example","api_key":"sk-secret"}"#,
                "`origin`: must be scheme",
            ),
            (
                r#"{"origin":"https://a.example","api_key":"sk secret"}"#,
                "`api_key`: must be printable",
            ),
            (
                r#"{"origin":"https://a.example","api_key":"sk-secret","x":1}"#,
                "`x`: unknown field",
            ),
        ] {
            let message = EndpointKey::read(secret).err();
            let message = message.map(|fault| fault.to_string()).unwrap_or_default();
            assert!(
                message.starts_with(fault) && !message.contains("sk-secret"),
                "{message}"
            );
        }
    }
}
