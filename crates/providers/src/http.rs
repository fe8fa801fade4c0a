//! What the adapters of HTTP interfaces share.

use std::time::Duration;

use offhook_egress::http_url;
use reqwest::header::{HeaderValue, RETRY_AFTER};
use reqwest::{Response, Url};

use crate::SettingsError;

/// The URL that the paths of `provider`, as the settings call it, follow. It ends with a slash.
///
/// # Errors
/// [`SettingsError::BaseUrl`] with that name.
pub(crate) fn base_url(provider: &str, given: &str) -> Result<Url, SettingsError> {
    http_url(&format!("{}/", given.trim_end_matches('/')))
        .filter(|url| url.query().is_none() && url.fragment().is_none())
        .ok_or_else(|| SettingsError::BaseUrl(provider.to_owned()))
}

/// A key as a header carries it behind `scheme`, if one can.
pub(crate) fn credential(scheme: &str, key: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("{scheme}{key}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// The same of a key of the settings, where `provider` has one.
///
/// # Errors
/// [`SettingsError::ApiKey`] with that name.
pub(crate) fn given_credential(
    provider: &str,
    scheme: &str,
    key: Option<&str>,
) -> Result<Option<HeaderValue>, SettingsError> {
    let value =
        |key| credential(scheme, key).ok_or_else(|| SettingsError::ApiKey(provider.to_owned()));
    key.map(value).transpose()
}

/// What `Retry-After` asks for, in seconds; a date says nothing here, as the two clocks need not agree.
pub(crate) fn retry_after(answer: &Response) -> Option<Duration> {
    let value = answer.headers().get(RETRY_AFTER)?.to_str().ok()?;
    Some(Duration::from_secs(value.trim().parse().ok()?))
}

/// The whole body of an answer; `None` if it has more than `most` bytes.
///
/// # Errors
/// It broke off.
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
