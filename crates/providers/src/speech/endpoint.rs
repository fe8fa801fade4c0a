//! The URL and credentials of a speech service.

use offhook_egress::{GuardedDialer, Policy};
use offhook_engine::ports::speech::{SpeechError, SpokenText, Synthesizer, VoiceSettings};
use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};
use serde_json::Value;

use super::fetch::EachText;
use super::socket::Upgrade;
use super::sound::Coding;
use crate::http;
use crate::settings::{ProviderSettings, SettingsError};
use crate::speech::Result;

/// The clients for speech services. The operator sets the URLs, so they may be private. Environment proxies and
/// redirects are disabled.
#[derive(Clone)]
pub(crate) struct Clients {
    dialer: GuardedDialer,
    http: reqwest::Client,
}

impl Clients {
    pub(crate) fn new() -> Result<Self, SettingsError> {
        let policy = Policy {
            allow_private: true,
        };
        Ok(Self {
            dialer: GuardedDialer::new(policy)?,
            http: http::streaming_client()?,
        })
    }
}

pub(crate) type Headers = Vec<(HeaderName, HeaderValue)>;

/// A service as the deployment configures it.
#[derive(Clone)]
pub(crate) struct Endpoint {
    clients: Clients,
    /// Ends with a slash.
    base: Url,
    /// The header of the key, and the prefix of its value.
    key_in: (HeaderName, &'static str),
    credential: Option<HeaderValue>,
}

impl Endpoint {
    /// An endpoint with this header and prefix for its key. The error names the provider.
    pub(crate) fn new(
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

    /// The URL of a path, with an optional query. Fails with [`SpeechError::Protocol`] if the URL is invalid.
    pub(crate) fn url(&self, path: &str, query: &[(&'static str, String)]) -> Result<Url> {
        let mut url = self
            .base
            .join(path)
            .map_err(|_| SpeechError::Protocol("the request could not be made"))?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(url)
    }

    /// The same as a WebSocket URL.
    pub(crate) fn socket_url(&self, path: &str, query: &[(&'static str, String)]) -> Result<Url> {
        let mut url = self.url(path, query)?;
        let scheme = if url.scheme() == "https" { "wss" } else { "ws" };
        url.set_scheme(scheme)
            .map_err(|()| SpeechError::Protocol("the request could not be made"))?;
        Ok(url)
    }

    pub(crate) fn credential(&self) -> Headers {
        let value = self.credential.clone();
        value
            .map(|value| (self.key_in.0.clone(), value))
            .into_iter()
            .collect()
    }

    /// The credential for a voice: only the voice's own key, if it has one. Fails with [`SpeechError::Protocol`] if a
    /// header cannot carry that key.
    pub(crate) fn voice_credential(&self, voice: &VoiceSettings) -> Result<Headers> {
        let Some(key) = &voice.key else {
            return Ok(self.credential());
        };
        let (name, scheme) = self.key_in.clone();
        let value = http::credential(scheme, key.expose())
            .ok_or(SpeechError::Protocol("the request could not be made"))?;
        Ok(vec![(name, value)])
    }

    /// The parameters of a WebSocket connection.
    pub(crate) fn upgrade(&self, url: Url, headers: Headers) -> Upgrade {
        Upgrade {
            dialer: self.clients.dialer.clone(),
            url,
            headers,
        }
    }

    pub(crate) fn get(&self, url: Url, headers: Headers) -> reqwest::RequestBuilder {
        let headers = headers.into_iter().collect();
        self.clients.http.get(url).headers(headers)
    }

    pub(crate) fn post(&self, url: Url, headers: Headers) -> reqwest::RequestBuilder {
        let headers = headers.into_iter().collect();
        self.clients.http.post(url).headers(headers)
    }

    /// A synthesizer that sends one request per text, whose body `body` creates.
    pub(crate) fn each_text(
        &self,
        (url, headers): (Url, Headers),
        coding: Coding,
        body: impl Fn(&SpokenText) -> Result<Value> + Send + Sync + 'static,
    ) -> Box<dyn Synthesizer> {
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
    fn an_invalid_setting_is_reported_with_its_providers_name() {
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
