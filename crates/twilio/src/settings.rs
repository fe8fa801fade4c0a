//! The settings for requests to Twilio, and for Twilio's callbacks.

use std::fmt;
use std::time::Duration;

use offhook_egress::{http_url, trusted_client};
use reqwest::Url;

/// The URL of Twilio's REST API.
pub(crate) const BASE_URL: &str = "https://api.twilio.com";

/// How long an idle connection is kept.
const IDLE_LIMIT: Duration = Duration::from_secs(5);

/// The deployment's Twilio account.
#[derive(Clone)]
pub struct TwilioSettings {
    /// The base URL of the REST API; a compatible service may have another one.
    pub base_url: String,
    /// The account's id, `AC…`.
    pub account_sid: String,
    /// The account's auth token: it verifies callbacks, and authenticates REST requests if there is no API key.
    pub auth_token: Option<String>,
    /// An API key of the account and its secret, for REST requests.
    pub api_key: Option<(String, String)>,
    /// The shared key that signs callbacks (HMAC-SHA256), if one is configured at Twilio.
    pub signing_key: Option<String>,
    /// The URL at which Twilio reaches this process: scheme and host.
    pub our_url: String,
    /// The URL at which Twilio reaches any process of the deployment, for incoming calls.
    pub public_url: String,
}

impl TwilioSettings {
    /// The default URL of the REST API.
    pub const BASE_URL: &'static str = BASE_URL;
}

/// Hides the secrets.
impl fmt::Debug for TwilioSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TwilioSettings")
            .field("base_url", &self.base_url)
            .field("our_url", &self.our_url)
            .finish_non_exhaustive()
    }
}

/// A setting is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` {fault}")]
pub struct SettingsError {
    /// The name of the setting.
    pub field: &'static str,
    /// What is wrong, and how to correct it.
    pub fault: &'static str,
}

impl SettingsError {
    pub(crate) const fn new(field: &'static str, fault: &'static str) -> Self {
        Self { field, fault }
    }
}

/// A Twilio id: two letters and 32 hexadecimal digits. Only validated ids become part of a path.
pub(crate) fn is_sid(text: &str, letters: &str) -> bool {
    text.strip_prefix(letters)
        .is_some_and(|rest| rest.len() == 32 && rest.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// An http or https URL, without a trailing slash.
pub(crate) fn address(field: &'static str, text: &str) -> Result<Url, SettingsError> {
    http_url(text.trim_end_matches('/')).ok_or(SettingsError::new(
        field,
        "is no http or https address, such as https://api.twilio.com",
    ))
}

/// The HTTP client of the REST API.
pub(crate) fn http_client() -> Result<reqwest::Client, SettingsError> {
    let unusable = SettingsError::new("base_url", "cannot be asked: TLS cannot be set up here");
    trusted_client()
        .map_err(|_| unusable.clone())?
        .connect_timeout(crate::client::CONNECT_WITHIN)
        .timeout(crate::client::ANSWER_WITHIN)
        // If Twilio has just closed a connection, the effect of a request on it is unknown.
        .pool_idle_timeout(IDLE_LIMIT)
        .build()
        .map_err(|_| unusable)
}
