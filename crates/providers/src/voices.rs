//! The voice lists of the three providers. Each has a wire shape of its own; what they share is how
//! a page is asked for.

mod adding_a;
mod library_a;
mod library_b;
mod library_c;
mod reading;
mod wire;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use offhook_domain::json::read_foreign;
use offhook_domain::{Voice, VoiceList, VoiceProvider, VoiceSource};
use offhook_egress::{SetupError, trusted_client};
use offhook_engine::ports::{VoiceLibrary, VoiceLibraryError};
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{RequestBuilder, Response, StatusCode, Url};
use serde::de::DeserializeOwned;
use tokio::time::{sleep, timeout};

use crate::{SettingsError, http};

/// How long a connection may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// How long a page may take.
const PAGE_LIMIT: Duration = Duration::from_secs(30);

/// How long a whole list may take: with the catalogs of today, some hundred pages.
const LIST_LIMIT: Duration = Duration::from_secs(15 * 60);

/// How often a page is asked for that the provider is too busy for (429), which a list of hundred pages may be.
const TRIES: usize = 3;

/// How long it is waited for a page where the provider does not say how long.
const PAUSE: Duration = Duration::from_secs(1);

/// The longest wait for a page that a provider may ask for.
const PAUSE_AT_MOST: Duration = Duration::from_secs(30);

/// The largest page.
const MAX_PAGE_BYTES: usize = 16 * 1024 * 1024;

/// Voices on a page.
const PAGE: usize = 100;
const PAGE_SIZE: &str = "100";

/// Where a voice provider is, and how to be let in.
#[derive(Clone, PartialEq, Eq)]
pub struct VoiceLibrarySettings {
    /// The URL that the provider's paths follow.
    pub base_url: String,
    pub api_key: String,
}

/// Without the key.
impl fmt::Debug for VoiceLibrarySettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VoiceLibrarySettings({})", self.base_url)
    }
}

/// The list of a provider.
///
/// # Errors
/// [`SettingsError`], with the provider's name.
pub fn voice_library(
    provider: VoiceProvider,
    settings: &VoiceLibrarySettings,
) -> Result<Arc<dyn VoiceLibrary>, SettingsError> {
    Ok(match provider {
        VoiceProvider::A => Arc::new(library_a::Library(Source::new(
            provider,
            settings,
            HeaderName::from_static("xi-api-key"),
            "",
        )?)),
        VoiceProvider::B => Arc::new(library_b::Library(Source::new(
            provider,
            settings,
            reqwest::header::AUTHORIZATION,
            "Bearer ",
        )?)),
        VoiceProvider::C => Arc::new(library_c::Library(Source::new(
            provider,
            settings,
            reqwest::header::AUTHORIZATION,
            "Token ",
        )?)),
    })
}

/// A provider's HTTP interface.
struct Source {
    client: reqwest::Client,
    base: Url,
    credential: (HeaderName, HeaderValue),
    /// What stands before a key in the header.
    scheme: &'static str,
}

impl Source {
    fn new(
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

    /// The same for the owner of another key.
    fn with_key(&self, key: &str) -> Result<Self, VoiceLibraryError> {
        let value = http::credential(self.scheme, key).ok_or(VoiceLibraryError::Credential)?;
        Ok(Self {
            client: self.client.clone(),
            base: self.base.clone(),
            credential: (self.credential.0.clone(), value),
            scheme: self.scheme,
        })
    }

    /// A list, in the time that one may take.
    async fn whole_list(
        &self,
        list: impl Future<Output = Result<VoiceList, VoiceLibraryError>> + Send,
    ) -> Result<VoiceList, VoiceLibraryError> {
        let read = timeout(LIST_LIMIT, list).await;
        read.unwrap_or(Err(VoiceLibraryError::Unreachable))
    }

    /// A recording that plays for anybody: a whole URL of the web without credentials in it, and not of the provider's own
    /// interface, which asks for the key.
    fn preview(&self, url: Option<String>) -> Option<String> {
        let url = Url::parse(&url?).ok()?;
        let is_open = ["http", "https"].contains(&url.scheme())
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.origin() != self.base.origin();
        is_open.then(|| url.into())
    }

    /// Asks for one page; while the provider has no time for it, again, as asking changes nothing.
    async fn page<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, &str)],
        headers: &[(&'static str, &'static str)],
    ) -> Result<T, VoiceLibraryError> {
        let mut url = self
            .base
            .join(path)
            .map_err(|_| VoiceLibraryError::Malformed("no such path"))?;
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
                return read_foreign(&body).map_err(|_| {
                    VoiceLibraryError::Malformed("a page is not the JSON that it should be")
                });
            }
            match pause(&answer) {
                Some(pause) if tries < TRIES => sleep(pause).await,
                _ => return Err(VoiceLibraryError::Refused(status.as_u16())),
            }
            tries += 1;
        }
    }

    /// Sends a request with the credential.
    async fn send(&self, request: RequestBuilder) -> Result<Response, VoiceLibraryError> {
        let (header, value) = &self.credential;
        let sent = request.header(header, value.clone()).send().await;
        sent.map_err(|_| VoiceLibraryError::Unreachable)
    }
}

/// How long a provider that is too busy asks to wait, where that is worth waiting for.
fn pause(answer: &Response) -> Option<Duration> {
    if answer.status() != StatusCode::TOO_MANY_REQUESTS {
        return None;
    }
    Some(http::retry_after(answer).unwrap_or(PAUSE)).filter(|pause| *pause <= PAUSE_AT_MOST)
}

/// Those of a key's voices that are its owner's.
fn owners(voices: &VoiceList) -> VoiceList {
    let own = voices
        .iter()
        .filter(|voice| voice.source == VoiceSource::Workspace);
    own.map(|voice| Voice {
        source: VoiceSource::Custom,
        ..voice
    })
    .collect()
}

/// The whole of an answer's body, up to `most` bytes.
async fn whole(answer: Response, most: usize) -> Result<Vec<u8>, VoiceLibraryError> {
    let body = http::whole(answer, most).await;
    let body = body.map_err(|_| VoiceLibraryError::Unreachable)?;
    body.ok_or(VoiceLibraryError::Malformed("a page is too large"))
}
