//! The voice lists of the three providers. Each has its own wire format; they share the paging.

pub(crate) mod wire;

use std::fmt;
use std::time::Duration;

use offhook_domain::json::read_foreign;
use offhook_domain::ports::{VoiceAnswerFault, VoiceLibraryError};
use offhook_domain::{Voice, VoiceList, VoiceProvider, VoiceSource};
use offhook_egress::{SetupError, trusted_client};
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{RequestBuilder, Response, StatusCode, Url};
use serde::de::DeserializeOwned;
use tokio::time::{sleep, timeout};

use crate::http;
use crate::settings::SettingsError;

const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Limit for a page.
const PAGE_LIMIT: Duration = Duration::from_secs(30);

/// Limit for a whole list; currently lists have up to some hundred pages.
const LIST_LIMIT: Duration = Duration::from_secs(15 * 60);

/// Tries for a page that is answered with 429, which long lists may cause.
const TRIES: usize = 3;

/// The delay before a retry if the provider names none.
const PAUSE: Duration = Duration::from_secs(1);

/// The longest delay that a provider may request.
const PAUSE_AT_MOST: Duration = Duration::from_secs(30);

const MAX_PAGE_BYTES: usize = 16 * 1024 * 1024;

/// Voices per page, and the most pages of a list.
pub(crate) const PAGE_SIZE: &str = "100";
pub(crate) const MAX_PAGES: usize = 1_000;

/// The list exceeds the page limit.
pub(crate) const ENDLESS: VoiceLibraryError =
    VoiceLibraryError::Malformed(VoiceAnswerFault::Endless);

/// A page says that more follow, but not how to request them: the list is incomplete.
pub(crate) const CUT: VoiceLibraryError = VoiceLibraryError::Malformed(VoiceAnswerFault::Cut);

/// The URL and key of a voice provider.
#[derive(Clone, PartialEq, Eq)]
pub struct VoiceLibrarySettings {
    /// The base URL of the API.
    pub base_url: String,
    pub api_key: String,
}

/// Hides the key.
impl fmt::Debug for VoiceLibrarySettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VoiceLibrarySettings({})", self.base_url)
    }
}

/// A provider's HTTP API.
pub(crate) struct Source {
    pub(crate) client: reqwest::Client,
    pub(crate) base: Url,
    pub(crate) credential: (HeaderName, HeaderValue),
    /// The prefix of the key in its header.
    pub(crate) scheme: &'static str,
}

impl Source {
    pub(crate) fn new(
        provider: VoiceProvider,
        settings: &VoiceLibrarySettings,
        header: HeaderName,
        scheme: &'static str,
    ) -> Result<Self, SettingsError> {
        let name = provider.as_str();
        let base = http::base_url(name, &settings.base_url)?;
        let value = http::credential(scheme, &settings.api_key)
            .ok_or_else(|| SettingsError::ApiKey(name.to_owned()))?;
        let client = trusted_client()?
            .connect_timeout(CONNECT_LIMIT)
            .timeout(PAGE_LIMIT)
            .build()
            .map_err(SetupError::from)?;
        Ok(Self {
            client,
            base,
            credential: (header, value),
            scheme,
        })
    }

    /// The same provider with another key.
    pub(crate) fn with_key(&self, key: &str) -> Result<Self, VoiceLibraryError> {
        let value = http::credential(self.scheme, key).ok_or(VoiceLibraryError::Credential)?;
        Ok(Self {
            client: self.client.clone(),
            base: self.base.clone(),
            credential: (self.credential.0.clone(), value),
            scheme: self.scheme,
        })
    }

    /// Applies the time limit of a whole list.
    pub(crate) async fn whole_list(
        &self,
        list: impl Future<Output = Result<VoiceList, VoiceLibraryError>> + Send,
    ) -> Result<VoiceList, VoiceLibraryError> {
        let read = timeout(LIST_LIMIT, list).await;
        read.unwrap_or(Err(VoiceLibraryError::Unreachable))
    }

    /// The preview if everybody can play it: an absolute HTTP(S) URL without credentials, and outside the provider's
    /// own API, which requires the key.
    pub(crate) fn preview(&self, url: Option<String>) -> Option<String> {
        let url = Url::parse(&url?).ok()?;
        let is_open = ["http", "https"].contains(&url.scheme())
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.origin() != self.base.origin();
        is_open.then(|| url.into())
    }

    /// Requests one page, with retries while the provider is too busy. That is safe, because the request changes
    /// nothing.
    pub(crate) async fn page<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, &str)],
        headers: &[(&'static str, &'static str)],
    ) -> Result<T, VoiceLibraryError> {
        let mut url = self
            .base
            .join(path)
            .map_err(|_| VoiceLibraryError::Malformed(VoiceAnswerFault::NoPath))?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let mut tries = 1;
        loop {
            let mut request = self.client.get(url.clone());
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let answer = self.send(request).await?;
            let status = answer.status();
            if status.is_success() {
                let body = whole(answer, MAX_PAGE_BYTES).await?;
                return read_foreign(&body)
                    .map_err(|_| VoiceLibraryError::Malformed(VoiceAnswerFault::PageNotJson));
            }
            match pause(&answer) {
                Some(pause) if tries < TRIES => sleep(pause).await,
                _ => return Err(VoiceLibraryError::Refused(status.as_u16())),
            }
            tries += 1;
        }
    }

    /// Sends a request with the credential.
    pub(crate) async fn send(
        &self,
        request: RequestBuilder,
    ) -> Result<Response, VoiceLibraryError> {
        let (header, value) = &self.credential;
        let sent = request.header(header, value.clone()).send().await;
        sent.map_err(|_| VoiceLibraryError::Unreachable)
    }
}

/// The delay that a busy provider requests, if it is worth waiting for.
fn pause(answer: &Response) -> Option<Duration> {
    if answer.status() != StatusCode::TOO_MANY_REQUESTS {
        return None;
    }
    Some(http::retry_after(answer).unwrap_or(PAUSE)).filter(|pause| *pause <= PAUSE_AT_MOST)
}

/// The private voices of a key's owner.
pub(crate) fn owners(voices: &VoiceList) -> VoiceList {
    let own = voices
        .iter()
        .filter(|voice| voice.source == VoiceSource::Workspace);
    own.map(|voice| Voice {
        source: VoiceSource::Custom,
        ..voice
    })
    .collect()
}

/// The whole body of an answer, up to `most` bytes.
pub(crate) async fn whole(answer: Response, most: usize) -> Result<Vec<u8>, VoiceLibraryError> {
    let body = http::whole(answer, most).await;
    let body = body.map_err(|_| VoiceLibraryError::Unreachable)?;
    body.ok_or(VoiceLibraryError::Malformed(VoiceAnswerFault::PageTooLarge))
}
