//! Applications that accounts connect. Each has the deployment's OAuth client (`oauth`), and a file with its
//! [`Definition`]: a wire format of its own, and functions that agents use as tools.

mod api;
mod cal_com;
mod calendar;
mod crm;
mod oauth;
mod sheets;
mod slack;
mod slots;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use offhook_domain::ports::{Application, Consents, FunctionCall, ToolkitFunction};
use offhook_domain::tool::HttpMethod;
use offhook_egress::{SetupError, http_url, trusted_client};
use reqwest::{Client, Response, Url};

use api::Api;
use oauth::{OAuth, OAuthClient};

pub use oauth::token_refusal;

type Result<T, E = ApplicationError> = std::result::Result<T, E>;

const ALL: [&Definition; 5] = [
    &cal_com::DEFINITION,
    &calendar::DEFINITION,
    &sheets::DEFINITION,
    &crm::DEFINITION,
    &slack::DEFINITION,
];

/// The toolkits of the catalog that this service implements itself.
pub fn applications() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|definition| definition.toolkit)
}

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
    let definition = find(toolkit).ok_or_else(|| ApplicationError::Unknown(toolkit.to_owned()))?;
    let client = client(limit)?;
    let given = settings.api_url.as_deref().unwrap_or(definition.api_url);
    let base = format!("{}/", given.trim_end_matches('/'));
    Ok(Arc::new(Connected {
        definition,
        base: http_url(&base).ok_or(ApplicationError::Url(definition.toolkit, "api_url"))?,
        oauth: OAuthClient::new(client.clone(), definition, settings)?,
        client,
    }))
}

/// The token endpoint of a toolkit; `None` if there is no such application.
pub fn token_url<'a>(toolkit: &str, settings: &'a ApplicationSettings) -> Option<&'a str> {
    let usual = find(toolkit)?.oauth.token_url;
    Some(settings.token_url.as_deref().unwrap_or(usual))
}

fn find(toolkit: &str) -> Option<&'static Definition> {
    ALL.into_iter()
        .find(|definition| definition.toolkit == toolkit)
}

/// What is an application's own.
struct Definition {
    toolkit: &'static str,
    /// Its name for models, such as `calendar`.
    name: &'static str,
    oauth: OAuth,
    /// The default base URL of its API.
    api_url: &'static str,
    functions: &'static [Function],
    call: for<'a> fn(Api<'a>, FunctionCall<'a>) -> BoxFuture<'a, api::Result<String>>,
}

/// A function of an application; its path follows the base URL.
struct Function {
    name: &'static str,
    description: &'static str,
    parameters: &'static str,
    method: HttpMethod,
    path: &'static str,
}

/// An application that this service is set up for.
struct Connected {
    definition: &'static Definition,
    oauth: OAuthClient,
    client: Client,
    base: Url,
}

#[async_trait]
impl Application for Connected {
    fn toolkit(&self) -> &'static str {
        self.definition.toolkit
    }

    fn consents(&self) -> &dyn Consents {
        &self.oauth
    }

    fn functions(&self) -> Vec<ToolkitFunction> {
        let functions = self.definition.functions.iter();
        let tool = |function: &Function| ToolkitFunction {
            name: function.name,
            description: function.description,
            parameters: function.parameters,
            method: function.method,
            url: self
                .base
                .join(function.path)
                .map(String::from)
                .unwrap_or_default(),
        };
        functions.map(tool).collect()
    }

    async fn call(&self, call: FunctionCall<'_>) -> api::Result<String> {
        let name = self.definition.name;
        let api = Api::new(&self.client, &self.base, name, call.access_token);
        (self.definition.call)(api, call).await
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
