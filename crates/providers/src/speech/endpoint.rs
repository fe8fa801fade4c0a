//! Where a speech service is, and how to be let in.

use offhook_egress::{GuardedDialer, Policy};
use offhook_engine::ports::speech::{SpeechError, SpokenText, Synthesiser, VoiceSettings};
use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};
use serde_json::Value;

use super::fetch::EachText;
use super::socket::Upgrade;
use super::sound::Coding;
use crate::speech::Result;
use crate::{ProviderSettings, SettingsError, http, registry};

/// By what services are reached. Their URLs are the operator's, so they may be private; no proxy of the environment is
/// used, and no redirect followed.
#[derive(Clone)]
pub(super) struct Clients {
    dialer: GuardedDialer,
    http: reqwest::Client,
}

impl Clients {
    /// # Errors
    /// [`SettingsError::Setup`].
    pub(super) fn new() -> Result<Self, SettingsError> {
        let policy = Policy {
            allow_private: true,
        };
        Ok(Self {
            dialer: GuardedDialer::new(policy)?,
            http: registry::client()?,
        })
    }
}

/// Headers of a request.
pub(super) type Headers = Vec<(HeaderName, HeaderValue)>;

/// A service as the deployment's configuration names it.
#[derive(Clone)]
pub(super) struct Endpoint {
    clients: Clients,
    /// Ends with a slash.
    base: Url,
    /// In what header a key stands, and what stands before it.
    key_in: (HeaderName, &'static str),
    credential: Option<HeaderValue>,
}

impl Endpoint {
    /// An endpoint whose key stands in this header, behind this scheme.
    ///
    /// # Errors
    /// [`SettingsError`], with the provider's name.
    pub(super) fn new(
        provider: &str,
        settings: &ProviderSettings,
        key_in: (HeaderName, &'static str),
        clients: &Clients,
    ) -> Result<Self, SettingsError> {
        let key = settings.api_key.as_deref();
        Ok(Self {
            clients: clients.clone(),
            base: http::base_url(provider, &settings.base_url)?,
            credential: http::given_credential(provider, key_in.1, key)?,
            key_in,
        })
    }

    /// The URL of a path, with a query if there is one.
    ///
    /// # Errors
    /// [`SpeechError::Protocol`] if there is no such URL.
    pub(super) fn url(&self, path: &str, query: &[(&'static str, String)]) -> Result<Url> {
        let mut url = self
            .base
            .join(path)
            .map_err(|_| SpeechError::Protocol("the request could not be made"))?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(url)
    }

    /// The same as a WebSocket's URL.
    pub(super) fn socket_url(&self, path: &str, query: &[(&'static str, String)]) -> Result<Url> {
        let mut url = self.url(path, query)?;
        let scheme = if url.scheme() == "https" { "wss" } else { "ws" };
        url.set_scheme(scheme)
            .map_err(|()| SpeechError::Protocol("the request could not be made"))?;
        Ok(url)
    }

    /// The credential, if there is one.
    pub(super) fn credential(&self) -> Headers {
        let value = self.credential.clone();
        value
            .map(|value| (self.key_in.0.clone(), value))
            .into_iter()
            .collect()
    }

    /// What this voice is asked for with: the key that it brings along, and then no other.
    ///
    /// # Errors
    /// [`SpeechError::Protocol`] if no header can carry its key.
    pub(super) fn voice_credential(&self, voice: &VoiceSettings) -> Result<Headers> {
        let Some(key) = &voice.key else {
            return Ok(self.credential());
        };
        let (name, scheme) = self.key_in.clone();
        let value = http::credential(scheme, key.expose())
            .ok_or(SpeechError::Protocol("the request could not be made"))?;
        Ok(vec![(name, value)])
    }

    /// A WebSocket that is to be opened.
    pub(super) fn upgrade(&self, url: Url, headers: Headers) -> Upgrade {
        Upgrade {
            dialer: self.clients.dialer.clone(),
            url,
            headers,
        }
    }

    /// A request that is to be sent.
    pub(super) fn post(&self, url: Url, headers: Headers) -> reqwest::RequestBuilder {
        let headers = headers.into_iter().collect();
        self.clients.http.post(url).headers(headers)
    }

    /// A mouth that asks for each text by a request of its own, whose body `body` makes.
    pub(super) fn each_text(
        &self,
        (url, headers): (Url, Headers),
        coding: Coding,
        body: impl Fn(&SpokenText) -> Result<Value> + Send + Sync + 'static,
    ) -> Box<dyn Synthesiser> {
        let endpoint = self.clone();
        let ask = move |text: &SpokenText| {
            let request = endpoint.post(url.clone(), headers.clone());
            Ok(request.json(&body(text)?))
        };
        Box::new(EachText { ask, coding })
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::AUTHORIZATION;

    use super::*;

    fn endpoint(base_url: &str, key: Option<&str>) -> Result<Endpoint, SettingsError> {
        let settings = ProviderSettings {
            base_url: base_url.to_owned(),
            api_key: key.map(str::to_owned),
        };
        let clients = Clients::new()?;
        Endpoint::new("mine", &settings, (AUTHORIZATION, "Token "), &clients)
    }

    #[test]
    fn paths_follow_the_base_url() {
        let query = [("model", "a b&c".to_owned())];
        for (base, plain, socket) in [
            (
                "https://api.example.com",
                "https://api.example.com/v1/listen?model=a+b%26c",
                "wss://api.example.com/v1/listen?model=a+b%26c",
            ),
            (
                "http://127.0.0.1:9000/speech/",
                "http://127.0.0.1:9000/speech/v1/listen?model=a+b%26c",
                "ws://127.0.0.1:9000/speech/v1/listen?model=a+b%26c",
            ),
        ] {
            let endpoint = endpoint(base, None).unwrap();
            assert_eq!(endpoint.url("v1/listen", &query).unwrap().as_str(), plain);
            assert_eq!(
                endpoint.socket_url("v1/listen", &query).unwrap().as_str(),
                socket
            );
        }
    }

    #[test]
    fn a_wrong_setting_is_told_with_its_providers_name() {
        for base in [
            "api.example.com",
            "ws://api.example.com",
            "https://a.example/?x=1",
        ] {
            let error = endpoint(base, None).err().map(|error| error.to_string());
            assert_eq!(
                error.as_deref(),
                Some(
                    "provider `mine`: base_url must be a whole http or https URL without query or fragment"
                ),
                "{base}"
            );
        }
        let error = endpoint("https://a.example", Some("a\nb")).err();
        assert_eq!(
            error.map(|error| error.to_string()).as_deref(),
            Some("provider `mine`: api_key holds characters that no HTTP header can carry")
        );
    }
}
