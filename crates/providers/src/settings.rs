//! The settings that providers share, and what may be wrong with them.

use std::fmt;

use offhook_egress::SetupError;

/// The URL and key of a model or speech provider.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderSettings {
    /// The base URL of the service, such as `https://api.openai.com/v1` or `http://127.0.0.1:11434/v1`.
    pub base_url: String,
    /// The key, if the service requires one.
    pub api_key: Option<String>,
}

/// Hides the key.
impl fmt::Debug for ProviderSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProviderSettings({})", self.base_url)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The base URL is invalid.
    #[error("provider `{0}`: base_url must be a whole http or https URL without query or fragment")]
    BaseUrl(String),
    /// An HTTP header cannot carry the key.
    #[error("provider `{0}`: api_key holds characters that no HTTP header can carry")]
    ApiKey(String),
    /// `scripted` and `custom` take no settings.
    #[error("provider `{0}` is built in and takes no settings")]
    BuiltIn(String),
    /// The command of a local program is invalid.
    #[error("provider `{0}`: {1}")]
    Program(String, String),
    /// TLS or the HTTP client could not be set up.
    #[error(transparent)]
    Setup(#[from] SetupError),
}
