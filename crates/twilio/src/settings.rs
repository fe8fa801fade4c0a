//! How Twilio is reached, and how Twilio reaches us.

use std::fmt;
use std::time::Duration;

use offhook_egress::{http_url, trusted_client};
use reqwest::Url;

/// The address of Twilio's REST interface.
pub(crate) const BASE_URL: &str = "https://api.twilio.com";

/// How long a connection is kept for the next request.
const IDLE_LIMIT: Duration = Duration::from_secs(5);

/// The deployment's account at Twilio.
#[derive(Clone)]
pub struct TwilioSettings {
    /// The address that Twilio's paths follow; a service with the same interface may stand there.
    pub base_url: String,
    /// The account, `AC…`.
    pub account_sid: String,
    /// The account's token: it signs callbacks, and opens the REST interface where no key does.
    pub auth_token: Option<String>,
    /// A key of the account and its secret, which open the REST interface in the token's place.
    pub api_key: Option<(String, String)>,
    /// The shared key that callbacks are signed with (HMAC-SHA256), where Twilio was told one.
    pub signing_key: Option<String>,
    /// The address at which Twilio reaches this process: scheme and host.
    pub our_url: String,
    /// The address at which Twilio reaches any process of the deployment: calls that come in are asked about there.
    pub public_url: String,
}

impl TwilioSettings {
    /// The usual address of the REST interface.
    pub const BASE_URL: &'static str = BASE_URL;
}

/// Without what is secret in it.
impl fmt::Debug for TwilioSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TwilioSettings")
            .field("base_url", &self.base_url)
            .field("our_url", &self.our_url)
            .finish_non_exhaustive()
    }
}

/// A setting cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` {fault}")]
pub struct SettingsError {
    /// Which.
    pub field: &'static str,
    /// Why, and what to do.
    pub fault: &'static str,
}

impl SettingsError {
    pub(crate) const fn new(field: &'static str, fault: &'static str) -> Self {
        Self { field, fault }
    }
}

/// An id of Twilio's: two letters and 32 hexadecimal digits. Nothing else may become a part of a path.
pub(crate) fn is_sid(text: &str, letters: &str) -> bool {
    text.strip_prefix(letters)
        .is_some_and(|rest| rest.len() == 32 && rest.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// An http or https address, without a slash at its end.
pub(crate) fn address(field: &'static str, text: &str) -> Result<Url, SettingsError> {
    http_url(text.trim_end_matches('/')).ok_or(SettingsError::new(
        field,
        "is no http or https address, such as https://api.twilio.com",
    ))
}

/// The client of the REST interface.
pub(crate) fn http_client() -> Result<reqwest::Client, SettingsError> {
    let unusable = SettingsError::new("base_url", "cannot be asked: TLS cannot be set up here");
    trusted_client()
        .map_err(|_| unusable.clone())?
        .connect_timeout(crate::client::CONNECT_WITHIN)
        .timeout(crate::client::ANSWER_WITHIN)
        // A request on a connection that Twilio has just closed is one of which nobody knows what became.
        .pool_idle_timeout(IDLE_LIMIT)
        .build()
        .map_err(|_| unusable)
}
