//! Applications that accounts connect: Google Calendar and HubSpot. Each has the deployment's OAuth client (`oauth`), a
//! wire format of its own, and functions that agents use as tools.

mod api;
mod calendar;
mod crm;
mod oauth;
mod slots;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use offhook_domain::ports::Application;
use offhook_egress::{SetupError, http_url, trusted_client};
use reqwest::{Client, Response, Url};

use calendar::GoogleCalendar;
use crm::HubSpot;

type Result<T, E = ApplicationError> = std::result::Result<T, E>;

/// The toolkits of the catalog that this service implements itself.
pub const APPLICATIONS: [&str; 2] = [calendar::TOOLKIT, crm::TOOLKIT];

const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// Limit for a request including its answer. A tool has 10 s in all.
const REQUEST_LIMIT: Duration = Duration::from_secs(8);

/// The largest part of an answer that is read.
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// The deployment's OAuth client at an application, and overrides of the application's URLs.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct ApplicationSettings {
    pub client_id: String,
    pub client_secret: String,
    /// The OAuth authorization endpoint.
    pub authorize_url: Option<String>,
    /// The OAuth token endpoint.
    pub token_url: Option<String>,
    /// The OAuth revocation endpoint.
    pub revoke_url: Option<String>,
    /// The base URL of the application's API.
    pub api_url: Option<String>,
}

/// Hides the secret.
impl fmt::Debug for ApplicationSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApplicationSettings")
            .field("client_id", &self.client_id)
            .field("client_secret", &"…")
            .field("authorize_url", &self.authorize_url)
            .field("token_url", &self.token_url)
            .field("revoke_url", &self.revoke_url)
            .field("api_url", &self.api_url)
            .finish()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ApplicationError {
    /// This service implements no application with that key.
    #[error("`integrations.{0}`: this service connects no such toolkit itself")]
    Unknown(String),
    /// A URL is invalid.
    #[error("setting `integrations.{0}.{1}` must be a whole http or https URL")]
    Url(&'static str, &'static str),
    /// The HTTP client could not be created.
    #[error(transparent)]
    Setup(#[from] SetupError),
}

/// Creates the application of a toolkit. The error names the setting.
pub fn application(toolkit: &str, settings: &ApplicationSettings) -> Result<Arc<dyn Application>> {
    application_within(toolkit, settings, REQUEST_LIMIT)
}

/// The same with another time limit for requests, answers included.
pub fn application_within(
    toolkit: &str,
    settings: &ApplicationSettings,
    limit: Duration,
) -> Result<Arc<dyn Application>> {
    let client = client(limit)?;
    Ok(match toolkit {
        calendar::TOOLKIT => Arc::new(GoogleCalendar::new(client, settings)?),
        crm::TOOLKIT => Arc::new(HubSpot::new(client, settings)?),
        _ => return Err(ApplicationError::Unknown(toolkit.to_owned())),
    })
}

/// The token endpoint of a toolkit; `None` if there is no such application.
pub fn token_url<'a>(toolkit: &str, settings: &'a ApplicationSettings) -> Option<&'a str> {
    let usual = match toolkit {
        calendar::TOOLKIT => calendar::PLACES.token_url,
        crm::TOOLKIT => crm::PLACES.token_url,
        _ => return None,
    };
    Some(settings.token_url.as_deref().unwrap_or(usual))
}

/// The default URLs of an application.
struct Places {
    toolkit: &'static str,
    authorize_url: &'static str,
    token_url: &'static str,
    revoke_url: &'static str,
    api_url: &'static str,
}

impl Places {
    /// The URL from the settings, or the default.
    fn url(&self, setting: &'static str, given: Option<&str>, usual: &str) -> Result<Url> {
        http_url(given.unwrap_or(usual)).ok_or(ApplicationError::Url(self.toolkit, setting))
    }

    /// The base URL of the API.
    fn api(&self, settings: &ApplicationSettings) -> Result<Url> {
        let given = settings.api_url.as_deref().unwrap_or(self.api_url);
        let base = format!("{}/", given.trim_end_matches('/'));
        self.url("api_url", Some(&base), self.api_url)
    }
}

fn client(limit: Duration) -> Result<Client, SetupError> {
    Ok(trusted_client()?
        .connect_timeout(CONNECT_LIMIT)
        .timeout(limit)
        .pool_idle_timeout(crate::IDLE_LIMIT)
        .build()?)
}

/// An answer's body, up to the size limit.
async fn body(mut answer: Response) -> Result<Vec<u8>, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        let room = MAX_ANSWER_BYTES - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if body.len() == MAX_ANSWER_BYTES {
            break;
        }
    }
    Ok(body)
}

/// Truncates an application's text to `most` characters.
fn cut(text: &str, most: usize) -> &str {
    let text = text.trim();
    text.char_indices()
        .nth(most)
        .map_or(text, |(end, _)| &text[..end])
}
