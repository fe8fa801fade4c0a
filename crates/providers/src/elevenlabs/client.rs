//! The HTTP client for ElevenLabs. All accounts share it, each with its own key. Every answer has a time and size
//! limit, and every error says whether the request can have had an effect.

use std::time::Duration;

use offhook_domain::json::read_foreign;
use offhook_egress::{SetupError, trusted_client};
use offhook_engine::legacy::{LegacyError, LegacyRefusal};
use reqwest::header::HeaderName;
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::http;
use crate::settings::SettingsError;

const NAME: &str = "legacy";

const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// Limit for a request up to the last byte of its answer. A call's lease lasts 45 s and is not renewed before the
/// provider has answered; 10 s of it may be gone when the request leaves.
const LIMIT: Duration = Duration::from_secs(20);

/// Limit for a recording.
const RECORDING_LIMIT: Duration = Duration::from_secs(120);

/// The largest JSON answer.
const JSON_BYTES: usize = 16 * 1024 * 1024;

/// The longest wait that the provider can request.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

const KEY: HeaderName = HeaderName::from_static("xi-api-key");

#[derive(Clone)]
pub(crate) struct Client {
    client: reqwest::Client,
    base: Url,
}

/// Why a request has no usable answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failed {
    /// No connection: no request was sent.
    NotConnected,
    /// The key cannot be sent or was rejected: nothing was done.
    Key,
    /// The resource does not exist: nothing was done.
    NotFound,
    /// Too many requests: nothing was done. Retry after this time.
    Busy(Option<Duration>),
    /// Another refusal, with its status: nothing was done.
    Refused(u16),
    /// The provider has a server error; the effect is unknown.
    Broken(Option<Duration>),
    /// The answer is missing or incomplete; the effect is unknown.
    Lost,
    /// The answer is malformed or too long; the effect is unknown.
    Malformed,
}

impl Failed {
    /// The error of a request without an effect: it may be retried.
    pub(crate) const fn of_reading(self) -> LegacyError {
        match self {
            Self::NotConnected => LegacyError::NotConnected,
            Self::Busy(after) | Self::Broken(after @ Some(_)) => LegacyError::Later(after),
            Self::Broken(None) | Self::Lost | Self::Malformed => LegacyError::Unknown,
            Self::Key | Self::NotFound | Self::Refused(_) => self.refusal(),
        }
    }

    /// The error of a request with an effect: if that is unknown, it must not be retried.
    pub(crate) const fn of_writing(self) -> LegacyError {
        match self {
            Self::NotConnected => LegacyError::NotConnected,
            Self::Busy(after) => LegacyError::Later(after),
            Self::Broken(_) | Self::Lost | Self::Malformed => LegacyError::Unknown,
            Self::Key | Self::NotFound | Self::Refused(_) => self.refusal(),
        }
    }

    const fn refusal(self) -> LegacyError {
        LegacyError::Refused(match self {
            Self::Key => LegacyRefusal::Credential,
            Self::NotFound => LegacyRefusal::NotFound,
            Self::Refused(402) => LegacyRefusal::NoCredits,
            Self::Refused(409) => LegacyRefusal::State,
            Self::Refused(300..=399) => LegacyRefusal::Redirect,
            _ => LegacyRefusal::Request,
        })
    }
}

impl Client {
    /// A client of the service at `base_url`. The operator sets that URL, so it may be private. Fails if the URL is
    /// invalid or TLS is not available.
    pub(crate) fn new(base_url: &str) -> Result<Self, SettingsError> {
        let base = http::base_url(NAME, base_url)?;
        if !base.username().is_empty() || base.password().is_some() {
            return Err(SettingsError::BaseUrl(NAME.to_owned()));
        }
        let client = trusted_client()?
            .connect_timeout(CONNECT_LIMIT)
            .timeout(LIMIT)
            .pool_idle_timeout(crate::IDLE_LIMIT)
            .build()
            .map_err(SetupError::from)?;
        Ok(Self { client, base })
    }

    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        key: &str,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, Failed> {
        let body = whole(send(self.request(Method::GET, key, path, query)?).await?).await?;
        read_foreign(&body).map_err(|_| Failed::Malformed)
    }

    /// Sends a request with an effect, once.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        key: &str,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<T, Failed> {
        let request = self.request(Method::POST, key, path, &[])?.json(body);
        let body = whole(send(request).await?).await?;
        // Parsed strictly: if this answer is unreadable, the effect is looked up elsewhere.
        serde_json::from_slice(&body).map_err(|_| Failed::Malformed)
    }

    /// Sends a change; ignores the content of the answer.
    pub(crate) async fn patch(
        &self,
        key: &str,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<(), Failed> {
        let request = self.request(Method::PATCH, key, path, &[])?.json(body);
        let body = whole(send(request).await?).await?;
        // Any JSON or an empty body proves that the provider answered.
        let is_its = body.is_empty() || serde_json::from_slice::<IgnoredAny>(&body).is_ok();
        is_its.then_some(()).ok_or(Failed::Malformed)
    }

    /// Opens a file download, which has a longer time limit.
    pub(crate) async fn file(&self, key: &str, path: &[&str]) -> Result<Response, Failed> {
        let request = self.request(Method::GET, key, path, &[])?;
        send(request.timeout(RECORDING_LIMIT)).await
    }

    fn request(
        &self,
        method: Method,
        key: &str,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<RequestBuilder, Failed> {
        let key = http::credential("", key).ok_or(Failed::Key)?;
        let mut url = self.base.clone();
        url.path_segments_mut()
            .map_err(|()| Failed::Malformed)?
            .pop_if_empty()
            .extend(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(self.client.request(method, url).header(KEY, key))
    }
}

/// Sends a request and returns a successful answer's head.
async fn send(request: RequestBuilder) -> Result<Response, Failed> {
    let answer = request.send().await.map_err(|error| {
        if error.is_connect() {
            Failed::NotConnected
        } else {
            Failed::Lost
        }
    })?;
    let status = answer.status();
    match status {
        _ if status.is_success() => Ok(answer),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(Failed::Key),
        StatusCode::NOT_FOUND => Err(Failed::NotFound),
        StatusCode::TOO_MANY_REQUESTS => Err(Failed::Busy(wait(&answer))),
        StatusCode::REQUEST_TIMEOUT => Err(Failed::Lost),
        _ if status.is_client_error() || status.is_redirection() => {
            Err(Failed::Refused(status.as_u16()))
        }
        _ => Err(Failed::Broken(wait(&answer))),
    }
}

/// The wait in `Retry-After`, capped.
fn wait(answer: &Response) -> Option<Duration> {
    http::retry_after(answer).map(|wait| wait.min(LONGEST_WAIT))
}

async fn whole(answer: Response) -> Result<Vec<u8>, Failed> {
    let body = http::whole(answer, JSON_BYTES).await;
    body.map_err(|_| Failed::Lost)?.ok_or(Failed::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(base: &str, path: &[&str], query: &[(&str, &str)]) -> String {
        let client = Client::new(base).unwrap();
        let request = client.request(Method::GET, "key", path, query).unwrap();
        request.build().unwrap().url().to_string()
    }

    #[test]
    fn a_path_follows_the_base_url_and_an_id_is_one_segment_whatever_it_holds() {
        assert_eq!(
            url("https://api.example.com", &["v1", "convai", "agents"], &[]),
            "https://api.example.com/v1/convai/agents"
        );
        assert_eq!(
            url(
                "http://127.0.0.1:9/mine/",
                &["v1", "a/../b?c"],
                &[("user_id", "a b&c")]
            ),
            "http://127.0.0.1:9/mine/v1/a%2F..%2Fb%3Fc?user_id=a+b%26c"
        );
    }

    #[test]
    fn an_address_that_is_none_is_refused_and_so_is_a_key_that_no_header_can_carry() {
        for base in [
            "",
            "api.example.com",
            "ftp://example.com",
            "https://example.com/?a=b",
            "https://me:secret@example.com",
        ] {
            assert!(Client::new(base).is_err(), "{base}");
        }
        let client = Client::new("https://example.com").unwrap();
        let request = client.request(Method::GET, "a\nb", &["v1"], &[]);
        assert_eq!(request.err(), Some(Failed::Key));
    }
}
