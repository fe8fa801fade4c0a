//! A deployment's OAuth client at an application: authorization code with PKCE (RFC 6749, RFC 7636), refresh, and
//! revocation (RFC 7009). The client's secret travels in the body, which both applications take.

use std::borrow::Cow;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use oauth2::basic::{
    BasicClient, BasicErrorResponseType, BasicRequestTokenError, BasicTokenResponse, BasicTokenType,
};
use oauth2::url::form_urlencoded;
use oauth2::{
    AsyncHttpClient, AuthType, AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken,
    EndpointNotSet, EndpointSet, HttpRequest, HttpResponse, PkceCodeChallenge, PkceCodeVerifier,
    RedirectUrl, RefreshToken, RequestTokenError, Scope, TokenResponse as _, TokenUrl,
};
use offhook_engine::ports::{Authorization, Consents, Grant, GrantError};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Client, Request, StatusCode, Url};
use serde::Deserialize;

use super::{ApplicationError, ApplicationSettings, Places, body};

type OAuth = BasicClient<EndpointSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointSet>;

/// The deployment's client at one application.
pub(super) struct Door {
    wire: Wire,
    oauth: OAuth,
    client_id: String,
    client_secret: String,
    revoke_url: Url,
    scopes: &'static [&'static str],
    extras: &'static [(&'static str, &'static str)],
}

impl Door {
    pub(super) fn new(
        client: Client,
        places: &Places,
        settings: &ApplicationSettings,
        scopes: &'static [&'static str],
        extras: &'static [(&'static str, &'static str)],
    ) -> Result<Self, ApplicationError> {
        let url = |name, given: &Option<String>, usual| places.url(name, given.as_deref(), usual);
        let authorize = &settings.authorize_url;
        let authorize = url("authorize_url", authorize, places.authorize_url)?;
        let token = url("token_url", &settings.token_url, places.token_url)?;
        let revoke_url = url("revoke_url", &settings.revoke_url, places.revoke_url)?;
        let oauth = BasicClient::new(ClientId::new(settings.client_id.clone()))
            .set_client_secret(ClientSecret::new(settings.client_secret.clone()))
            .set_auth_type(AuthType::RequestBody)
            .set_auth_uri(AuthUrl::from_url(authorize))
            .set_token_uri(TokenUrl::from_url(token));
        Ok(Self {
            wire: Wire(client),
            oauth,
            client_id: settings.client_id.clone(),
            client_secret: settings.client_secret.clone(),
            revoke_url,
            scopes,
            extras,
        })
    }

    /// Whether everything was granted that was asked for. An answer that says nothing of that means yes (RFC 6749, 5.1).
    fn is_whole(&self, granted: &BasicTokenResponse) -> bool {
        let Some(scopes) = granted.scopes() else {
            return true;
        };
        let has = |asked: &&str| scopes.iter().any(|scope| scope.as_str() == *asked);
        self.scopes.iter().all(has)
    }
}

#[async_trait]
impl Consents for Door {
    fn authorize(&self, redirect_uri: &str, state: &str) -> Result<Authorization, GrantError> {
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let state = CsrfToken::new(state.to_owned());
        let scopes = self.scopes.iter();
        let mut request = self
            .oauth
            .authorize_url(|| state)
            .set_redirect_uri(Cow::Owned(redirect(redirect_uri)?))
            .set_pkce_challenge(challenge)
            .add_scopes(scopes.map(|scope| Scope::new((*scope).to_owned())));
        for (name, value) in self.extras {
            request = request.add_extra_param(*name, *value);
        }
        let (url, _) = request.url();
        Ok(Authorization {
            url: url.into(),
            verifier: verifier.into_secret(),
        })
    }

    async fn exchange(
        &self,
        code: &str,
        verifier: &str,
        redirect_uri: &str,
    ) -> Result<Grant, GrantError> {
        let granted = self
            .oauth
            .exchange_code(AuthorizationCode::new(code.to_owned()))
            .set_pkce_verifier(PkceCodeVerifier::new(verifier.to_owned()))
            .set_redirect_uri(Cow::Owned(redirect(redirect_uri)?))
            .request_async(&self.wire)
            .await;
        let granted = granted.map_err(fault)?;
        let is_whole = self.is_whole(&granted);
        let grant = grant(granted)?;
        // With a part of it nothing works. It is not given back: applications take back all that a person has granted to
        // this client, a connection that works included.
        is_whole.then_some(grant).ok_or(GrantError::Partial)
    }

    async fn refresh(&self, refresh_token: &str) -> Result<Grant, GrantError> {
        let refresh_token = RefreshToken::new(refresh_token.to_owned());
        let request = self.oauth.exchange_refresh_token(&refresh_token);
        let granted = request.request_async(&self.wire).await;
        grant(granted.map_err(fault)?)
    }

    async fn revoke(&self, token: &str) -> Result<(), GrantError> {
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("token", token)
            .append_pair("client_id", &self.client_id)
            .append_pair("client_secret", &self.client_secret)
            .finish();
        let request = self
            .wire
            .0
            .post(self.revoke_url.clone())
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form);
        let answer = request.send().await.map_err(|_| GrantError::Unreachable)?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            status => Err(GrantError::Answered(status.as_u16())),
        }
    }
}

fn redirect(uri: &str) -> Result<RedirectUrl, GrantError> {
    RedirectUrl::new(uri.to_owned()).map_err(|_| GrantError::Malformed)
}

/// Who does not understand a token's type must not use it (RFC 6749, 7.1), and what is not printable is no token
/// (appendix A).
fn grant(answer: BasicTokenResponse) -> Result<Grant, GrantError> {
    let refresh_token = answer.refresh_token();
    let grant = Grant {
        access_token: answer.access_token().secret().clone(),
        refresh_token: refresh_token.map(|token| token.secret().clone()),
        expires_in: answer.expires_in(),
    };
    let is_token =
        |text: &String| !text.is_empty() && text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let is_bearer = *answer.token_type() == BasicTokenType::Bearer;
    let are_tokens = is_token(&grant.access_token) && grant.refresh_token.iter().all(is_token);
    match is_bearer && are_tokens {
        true => Ok(grant),
        false => Err(GrantError::Malformed),
    }
}

fn fault(error: BasicRequestTokenError<Fault>) -> GrantError {
    use BasicErrorResponseType::{InvalidClient, InvalidGrant, UnauthorizedClient};
    match error {
        RequestTokenError::ServerResponse(said) => match said.error() {
            InvalidGrant => GrantError::Refused,
            InvalidClient | UnauthorizedClient => GrantError::Client,
            _ => GrantError::Answered(StatusCode::BAD_REQUEST.as_u16()),
        },
        RequestTokenError::Request(Fault::NoAnswer) => GrantError::Unreachable,
        RequestTokenError::Request(Fault::Status(status)) => GrantError::Answered(status),
        RequestTokenError::Parse(..) | RequestTokenError::Other(_) => GrantError::Malformed,
    }
}

/// How the crate `oauth2` asks: through this deployment's client, with limits.
struct Wire(Client);

/// Why an answer is none for `oauth2` to read.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("no whole answer came")]
    NoAnswer,
    #[error("the application answered with {0}")]
    Status(u16),
}

/// What RFC 6749 (5.2) says of a refusal.
#[derive(Deserialize)]
struct Refusal {
    error: String,
}

/// The refusals that say more than their status does.
const TELLING: [&str; 3] = ["invalid_grant", "invalid_client", "unauthorized_client"];

/// What HubSpot says of one instead.
#[derive(Deserialize)]
struct OwnRefusal {
    status: String,
}

/// A telling refusal in the form that is documented for all; `None` where there is none.
fn refusal(body: Vec<u8>) -> Option<Vec<u8>> {
    if let Ok(refusal) = serde_json::from_slice::<Refusal>(&body) {
        return TELLING.contains(&refusal.error.as_str()).then_some(body);
    }
    let own: OwnRefusal = serde_json::from_slice(&body).ok()?;
    let error = match own.status.as_str() {
        "BAD_REFRESH_TOKEN" | "BAD_AUTH_CODE" => "invalid_grant",
        "BAD_CLIENT_ID" | "BAD_CLIENT_SECRET" => "invalid_client",
        _ => return None,
    };
    Some(format!(r#"{{"error":"{error}"}}"#).into_bytes())
}

impl<'c> AsyncHttpClient<'c> for Wire {
    type Error = Fault;
    type Future = BoxFuture<'c, Result<HttpResponse, Fault>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(async move {
            let request = Request::try_from(request).map_err(|_| Fault::NoAnswer)?;
            let asked = self.0.execute(request).await;
            let answer = asked.map_err(|_| Fault::NoAnswer)?;
            let (status, headers) = (answer.status(), answer.headers().clone());
            let mut body = body(answer).await.map_err(|_| Fault::NoAnswer)?;
            if !status.is_success() {
                // Who asks for patience has not looked.
                let looked = status.is_client_error()
                    && ![StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS]
                        .contains(&status);
                let said = looked.then(|| refusal(body)).flatten();
                body = said.ok_or(Fault::Status(status.as_u16()))?;
            }
            let mut answer = HttpResponse::new(body);
            *answer.status_mut() = status;
            *answer.headers_mut() = headers;
            Ok(answer)
        })
    }
}
