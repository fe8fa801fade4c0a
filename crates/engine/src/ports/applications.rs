//! Other applications that an account connects: how its consent is asked for, and what they do for agents.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use offhook_domain::tool::HttpMethod;
use offhook_domain::{ConversationId, Timestamp};

/// An application that accounts connect, and what it does for their agents.
#[async_trait]
pub trait Application: Send + Sync {
    /// Its key in the catalog of integrations.
    fn toolkit(&self) -> &'static str;

    /// How accounts give it their consent, and take it back.
    fn consents(&self) -> &dyn Consents;

    /// What agents can have it do.
    fn functions(&self) -> Vec<ToolkitFunction>;

    /// Does it. The answer is for a model: short, and nothing of the application's own words about a failure.
    ///
    /// # Errors
    /// [`FunctionError`] says what came in between.
    async fn call(&self, call: FunctionCall<'_>) -> Result<String, FunctionError>;
}

/// The consents of an application's users, by OAuth 2.0 (RFC 6749, authorization code with PKCE, RFC 7636).
#[async_trait]
pub trait Consents: Send + Sync {
    /// Where a member goes to give their consent. `state` comes back with the answer to `redirect_uri`.
    ///
    /// # Errors
    /// [`GrantError::Malformed`] if `redirect_uri` is no URL.
    fn authorize(&self, redirect_uri: &str, state: &str) -> Result<Authorization, GrantError>;

    /// Exchanges the code that came back for tokens; a code is good once.
    async fn exchange(
        &self,
        code: &str,
        verifier: &str,
        redirect_uri: &str,
    ) -> Result<Grant, GrantError>;

    /// Exchanges a refresh token for new tokens. An application may have taken the old one out of use even where no
    /// answer comes.
    async fn refresh(&self, refresh_token: &str) -> Result<Grant, GrantError>;

    /// Takes a token out of use (RFC 7009).
    ///
    /// # Errors
    /// [`GrantError`] if nobody knows whether it is.
    async fn revoke(&self, token: &str) -> Result<(), GrantError>;
}

/// What an agent wants an application to do.
#[derive(Clone, Copy)]
pub struct FunctionCall<'a> {
    /// The name of a function of the toolkit.
    pub function: &'a str,
    /// What the request is made with.
    pub access_token: &'a str,
    /// Arguments that fit the function's schema, as JSON text.
    pub arguments: &'a str,
    /// Where it was asked for: what a conversation wants twice is done once, where the application can tell.
    pub conversation: ConversationId,
    /// The present.
    pub now: Timestamp,
}

impl<'a> FunctionCall<'a> {
    /// The same, made with this access token.
    pub const fn with(self, access_token: &'a str) -> Self {
        Self {
            access_token,
            ..self
        }
    }
}

/// Without the token and the arguments.
impl fmt::Debug for FunctionCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionCall")
            .field("function", &self.function)
            .field("conversation", &self.conversation)
            .finish_non_exhaustive()
    }
}

/// What a consent is asked for with.
#[derive(Clone, PartialEq, Eq)]
pub struct Authorization {
    /// Where the member's browser goes.
    pub url: String,
    /// What proves, at the exchange, that the code is ours (RFC 7636, `code_verifier`).
    pub verifier: String,
}

/// Without the verifier.
impl fmt::Debug for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authorization")
    }
}

/// Tokens, as they were granted.
#[derive(Clone, PartialEq, Eq)]
pub struct Grant {
    /// What requests are made with.
    pub access_token: String,
    /// What new tokens are had for; `None`: none came, and an earlier one stays good.
    pub refresh_token: Option<String>,
    /// How long the access token is good, if that was said.
    pub expires_in: Option<Duration>,
}

/// Without the tokens.
impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant")
            .field("expires_in", &self.expires_in)
            .finish_non_exhaustive()
    }
}

/// Why an application granted nothing. It never shows what the application answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// No whole answer came: whether it did anything, nobody knows.
    #[error("the application cannot be reached")]
    Unreachable,
    /// It takes the code or the refresh token no more (`invalid_grant`).
    #[error("the application takes the authorization no more")]
    Refused,
    /// It does not take this deployment for its client (`invalid_client`, `unauthorized_client`).
    #[error("the application does not take this service's client_id and client_secret")]
    Client,
    /// The member allowed less than what was asked for.
    #[error("the application was allowed less than what was asked for")]
    Partial,
    /// It answered with this status.
    #[error("the application answered with {0}")]
    Answered(u16),
    /// Its answer is not of RFC 6749's form.
    #[error("the application's answer is not of its form")]
    Malformed,
}

/// Something that agents can have an application do: it becomes a tool of each account that connects the application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolkitFunction {
    /// Its name in the toolkit: a–z and `_`.
    pub name: &'static str,
    /// What it is for, told to models.
    pub description: &'static str,
    /// The JSON Schema of its arguments, as JSON text.
    pub parameters: &'static str,
    /// The method of the request that does it.
    pub method: HttpMethod,
    /// The URL of that request.
    pub url: String,
}

/// Why a function did not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FunctionError {
    /// The application does not take the access token. Nothing was done.
    Unauthorized,
    /// For the model, in a sentence or two.
    Said(String),
}
