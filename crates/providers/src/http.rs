//! Shared code of the HTTP adapters.

use std::time::Duration;

use offhook_egress::{SetupError, http_url, trusted_client};
use reqwest::header::{HeaderValue, RETRY_AFTER};
use reqwest::{Response, Url};

use crate::settings::SettingsError;

const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// How long a service may be silent within an answer. Callers have shorter deadlines and drop the stream; this limit
/// ends abandoned requests.
const READ_LIMIT: Duration = Duration::from_secs(30);

/// The base URL for the paths of `provider`, which is its name in the settings. It ends with a slash. Returns
/// [`SettingsError::BaseUrl`] with that name.
pub(crate) fn base_url(provider: &str, given: &str) -> Result<Url, SettingsError> {
    http_url(&format!("{}/", given.trim_end_matches('/')))
        .filter(|url| url.query().is_none() && url.fragment().is_none())
        .ok_or_else(|| SettingsError::BaseUrl(provider.to_owned()))
}

/// A client for models and speech, which stream their answers.
pub(crate) fn streaming_client() -> Result<reqwest::Client, SetupError> {
    let client = trusted_client()?
        .connect_timeout(CONNECT_LIMIT)
        .read_timeout(READ_LIMIT)
        .tcp_nodelay(true)
        .build()?;
    Ok(client)
}

/// A header value of `scheme` and key; `None` if a header cannot carry the key.
pub(crate) fn credential(scheme: &str, key: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("{scheme}{key}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// The same for the key in the settings, if there is one. Returns [`SettingsError::ApiKey`] with the name of
/// `provider`.
pub(crate) fn given_credential(
    provider: &str,
    scheme: &str,
    key: Option<&str>,
) -> Result<Option<HeaderValue>, SettingsError> {
    let value =
        |key| credential(scheme, key).ok_or_else(|| SettingsError::ApiKey(provider.to_owned()));
    key.map(value).transpose()
}

/// The seconds in `Retry-After`. A date is ignored, because the two clocks may differ.
pub(crate) fn retry_after(answer: &Response) -> Option<Duration> {
    let value = answer.headers().get(RETRY_AFTER)?.to_str().ok()?;
    Some(Duration::from_secs(value.trim().parse().ok()?))
}

/// The whole body of an answer; `None` if it has more than `most` bytes. Fails if the body breaks off.
pub(crate) async fn whole(mut answer: Response, most: usize) -> reqwest::Result<Option<Vec<u8>>> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        if body.len() + chunk.len() > most {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}
