//! Applications that an account connects: how they are authorized, and what agents can do with them.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use crate::tool::HttpMethod;
use crate::{ConversationId, Timestamp};

/// An application that accounts connect.
#[async_trait]
pub trait Application: Send + Sync {
    /// The application's key in the integrations catalog.
    fn toolkit(&self) -> &'static str;

    /// How accounts grant and revoke access.
    fn consents(&self) -> &dyn Consents;

    /// The functions that agents can call.
    fn functions(&self) -> Vec<ToolkitFunction>;

    /// Calls a function. The answer is for a model: short, and without the application's own error text.
    async fn call(&self, call: FunctionCall<'_>) -> Result<String, FunctionError>;
}

/// OAuth 2.0 authorization of an application's users (RFC 6749, authorization code; with PKCE, RFC 7636, where the
/// application takes it from a client with a secret).
#[async_trait]
pub trait Consents: Send + Sync {
    /// The URL where a member grants access. `state` comes back in the redirect to `redirect_uri`. Returns
    /// [`GrantError::Malformed`] if `redirect_uri` is no URL.
    fn authorize(&self, redirect_uri: &str, state: &str) -> Result<Authorization, GrantError>;

    /// Exchanges the code for tokens; a code can be used once.
    async fn exchange(
        &self,
        code: &str,
        verifier: &str,
        redirect_uri: &str,
    ) -> Result<Grant, GrantError>;

    /// Exchanges a refresh token for new tokens. Even if no answer arrives, the application may have invalidated the
    /// old token.
    async fn refresh(&self, refresh_token: &str) -> Result<Grant, GrantError>;

    /// Revokes a token. On an error the token may or may not be revoked.
    async fn revoke(&self, token: &str) -> Result<(), GrantError>;
}

/// A call of a function, for the account whose token it carries.
#[derive(Clone, Copy)]
pub struct FunctionCall<'a> {
    /// The name of a function of the toolkit.
    pub function: &'a str,
    /// The account's token for the application.
    pub access_token: &'a str,
    /// Arguments that fit the function's schema, as JSON text.
    pub arguments: &'a str,
    /// The conversation of the call. If the application supports it, an identical second call in the same conversation
    /// has no further effect.
    pub conversation: ConversationId,
    /// The current time.
    pub now: Timestamp,
}

impl<'a> FunctionCall<'a> {
    /// Returns the same call with another token.
    pub const fn with(self, access_token: &'a str) -> Self {
        Self {
            access_token,
            ..self
        }
    }
}

/// Hides the token and the arguments.
impl fmt::Debug for FunctionCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionCall")
            .field("function", &self.function)
            .field("conversation", &self.conversation)
            .finish_non_exhaustive()
    }
}

/// A started authorization request.
#[derive(Clone, PartialEq, Eq)]
pub struct Authorization {
    /// The URL to open in the member's browser.
    pub url: String,
    /// The PKCE `code_verifier` (RFC 7636) for the exchange.
    pub verifier: String,
}

/// Hides the verifier.
impl fmt::Debug for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authorization")
    }
}

/// Granted tokens.
#[derive(Clone, PartialEq, Eq)]
pub struct Grant {
    /// The token that functions are called with.
    pub access_token: String,
    /// `None` if the application sent none; an earlier refresh token then stays valid.
    pub refresh_token: Option<String>,
    /// The access token's lifetime, if the application sent one.
    pub expires_in: Option<Duration>,
}

/// Hides the tokens.
impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant")
            .field("expires_in", &self.expires_in)
            .finish_non_exhaustive()
    }
}

/// Why an application granted no tokens. It never shows the application's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// No complete answer came. Whether the request had an effect is unknown.
    #[error("the application cannot be reached")]
    Unreachable,
    /// The code or refresh token is no longer valid (`invalid_grant`).
    #[error("the application takes the authorization no more")]
    Refused,
    /// The application rejects this deployment's client credentials (`invalid_client`, `unauthorized_client`).
    #[error("the application does not take this service's client_id and client_secret")]
    Client,
    /// The member granted fewer scopes than requested.
    #[error("the application was allowed less than what was asked for")]
    Partial,
    /// The application answered with this status.
    #[error("the application answered with {0}")]
    Answered(u16),
    /// The answer does not follow RFC 6749.
    #[error("the application's answer is not of its form")]
    Malformed,
    /// The application revokes no tokens.
    #[error("the application revokes no tokens")]
    NoRevocation,
}

/// A function of an application. It becomes a tool of each account that connects the application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolkitFunction {
    /// Its name in the toolkit, of a–z and `_`.
    pub name: &'static str,
    /// The description that models read.
    pub description: &'static str,
    /// The JSON Schema of its arguments, as JSON text.
    pub parameters: &'static str,
    /// The HTTP method of its request.
    pub method: HttpMethod,
    /// The URL of its request.
    pub url: String,
}

/// Why a function failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FunctionError {
    /// The application rejects the access token. Nothing was done.
    Unauthorized,
    /// An explanation for the model, one or two sentences.
    Said(String),
}
