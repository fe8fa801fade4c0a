//! Applications that accounts connect: Google Calendar and HubSpot. Each has an OAuth client of the deployment's
//! (`oauth`), a wire shape of its own, and functions that agents use as tools.

mod api;
mod calendar;
mod crm;
mod oauth;
mod slots;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use offhook_egress::{SetupError, http_url, trusted_client};
use offhook_engine::ports::Application;
use reqwest::{Client, Response, Url};

use calendar::GoogleCalendar;
use crm::HubSpot;

type Result<T, E = ApplicationError> = std::result::Result<T, E>;

/// The toolkits of the catalog that this service connects itself.
pub const APPLICATIONS: [&str; 2] = [calendar::TOOLKIT, crm::TOOLKIT];

/// How long a connection may take to open.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// How long a request may take, its answer included: what a tool may take in all is 10 s.
const REQUEST_LIMIT: Duration = Duration::from_secs(8);

/// What is read of an answer.
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// A deployment's client at an application, and where that is if not at its usual place.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct ApplicationSettings {
    /// The client's id.
    pub client_id: String,
    /// The client's secret.
    pub client_secret: String,
    /// Where members give their consent.
    pub authorize_url: Option<String>,
    /// Where codes and refresh tokens are exchanged for tokens.
    pub token_url: Option<String>,
    /// Where tokens are taken out of use.
    pub revoke_url: Option<String>,
    /// The URL that the paths of the application's interface follow.
    pub api_url: Option<String>,
}

/// Without the secret.
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

/// Why an application cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum ApplicationError {
    /// No application of this service has that key.
    #[error("`integrations.{0}`: this service connects no such toolkit itself")]
    Unknown(String),
    /// A URL is none.
    #[error("setting `integrations.{0}.{1}` must be a whole http or https URL")]
    Url(&'static str, &'static str),
    /// The client could not be made.
    #[error(transparent)]
    Setup(#[from] SetupError),
}

/// The application of a toolkit.
///
/// # Errors
/// [`ApplicationError`] names the setting.
pub fn application(toolkit: &str, settings: &ApplicationSettings) -> Result<Arc<dyn Application>> {
    application_within(toolkit, settings, REQUEST_LIMIT)
}

/// The same, whose requests may take this long, answers included.
///
/// # Errors
/// [`ApplicationError`] names the setting.
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

/// Where a toolkit's codes and refresh tokens are exchanged; `None` if there is no such application.
pub fn token_url<'a>(toolkit: &str, settings: &'a ApplicationSettings) -> Option<&'a str> {
    let usual = match toolkit {
        calendar::TOOLKIT => calendar::PLACES.token_url,
        crm::TOOLKIT => crm::PLACES.token_url,
        _ => return None,
    };
    Some(settings.token_url.as_deref().unwrap_or(usual))
}

/// Where an application usually is.
struct Places {
    toolkit: &'static str,
    authorize_url: &'static str,
    token_url: &'static str,
    revoke_url: &'static str,
    api_url: &'static str,
}

impl Places {
    /// A URL of the settings, or the usual one.
    fn url(&self, setting: &'static str, given: Option<&str>, usual: &str) -> Result<Url> {
        http_url(given.unwrap_or(usual)).ok_or(ApplicationError::Url(self.toolkit, setting))
    }

    /// The URL that paths follow.
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

/// An answer's body, as far as it is read.
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

/// A text of an application, cut to `most` characters.
fn cut(text: &str, most: usize) -> &str {
    let text = text.trim();
    text.char_indices()
        .nth(most)
        .map_or(text, |(end, _)| &text[..end])
}
