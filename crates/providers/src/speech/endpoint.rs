//! Where a speech service is, and how to be let in.

use offhook_engine::ports::speech::{SpeechError, VoiceSettings};
use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};

use super::SpeechEndpoint;
use crate::speech::Result;
use crate::{SettingsError, http};

/// A service as the deployment's configuration names it. Its URL is the operator's, so it may be private.
#[derive(Clone)]
pub(super) struct Endpoint {
    /// Ends with a slash.
    base: Url,
    /// What stands before a key.
    scheme: &'static str,
    credential: Option<HeaderValue>,
}

impl Endpoint {
    /// An endpoint whose credential is `scheme` and the key.
    ///
    /// # Errors
    /// [`SettingsError`], with the provider's name.
    pub(super) fn new(
        provider: &str,
        settings: &SpeechEndpoint,
        scheme: &'static str,
    ) -> Result<Self, SettingsError> {
        let key = settings.api_key.as_deref();
        Ok(Self {
            base: http::base_url(provider, &settings.base_url)?,
            scheme,
            credential: http::given_credential(provider, scheme, key)?,
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

    /// The credential in this header, if there is one.
    pub(super) fn credential(&self, name: HeaderName) -> Vec<(HeaderName, HeaderValue)> {
        let value = self.credential.clone();
        value.map(|value| (name, value)).into_iter().collect()
    }

    /// What this voice is asked for with, in this header: the key that it brings along, and then no other.
    ///
    /// # Errors
    /// [`SpeechError::Protocol`] if no header can carry its key.
    pub(super) fn voice_credential(
        &self,
        name: HeaderName,
        voice: &VoiceSettings,
    ) -> Result<Vec<(HeaderName, HeaderValue)>> {
        let Some(key) = &voice.key else {
            return Ok(self.credential(name));
        };
        let value = http::credential(self.scheme, key.expose())
            .ok_or(SpeechError::Protocol("the request could not be made"))?;
        Ok(vec![(name, value)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(base_url: &str, key: Option<&str>) -> Result<Endpoint, SettingsError> {
        let settings = SpeechEndpoint {
            base_url: base_url.to_owned(),
            api_key: key.map(str::to_owned),
        };
        Endpoint::new("mine", &settings, "Token ")
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
                Some("provider `mine`: base_url must be a whole http or https URL"),
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
