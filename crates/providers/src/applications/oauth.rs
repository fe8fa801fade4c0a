//! The deployment's OAuth client at an application: authorization code with PKCE (RFC 6749, RFC 7636), refresh, and
//! revocation (RFC 7009). The client secret is sent in the body, which both applications accept.

use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use offhook_domain::ports::{Authorization, Consents, Grant, GrantError};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Client, Response, StatusCode, Url};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::Deserialize;
use serde_json::Value;
use url::form_urlencoded::Serializer;

use super::{ApplicationError, ApplicationSettings, Places, body};

pub(super) struct OAuthClient {
    client: Client,
    client_id: String,
    client_secret: String,
    authorize_url: Url,
    token_url: Url,
    revoke_url: Url,
    scopes: &'static [&'static str],
    extras: &'static [(&'static str, &'static str)],
}

impl OAuthClient {
    pub(super) fn new(
        client: Client,
        places: &Places,
        settings: &ApplicationSettings,
        scopes: &'static [&'static str],
        extras: &'static [(&'static str, &'static str)],
    ) -> Result<Self, ApplicationError> {
        let url = |name, given: &Option<String>, usual| places.url(name, given.as_deref(), usual);
        Ok(Self {
            client,
            client_id: settings.client_id.clone(),
            client_secret: settings.client_secret.clone(),
            authorize_url: url(
                "authorize_url",
                &settings.authorize_url,
                places.authorize_url,
            )?,
            token_url: url("token_url", &settings.token_url, places.token_url)?,
            revoke_url: url("revoke_url", &settings.revoke_url, places.revoke_url)?,
            scopes,
            extras,
        })
    }

    /// Sends a form with the client's credentials.
    async fn post(&self, url: &Url, form: &[(&str, &str)]) -> Result<Response, GrantError> {
        let form = Serializer::new(String::new())
            .extend_pairs(form)
            .append_pair("client_id", &self.client_id)
            .append_pair("client_secret", &self.client_secret)
            .finish();
        let request = self
            .client
            .post(url.clone())
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form);
        request.send().await.map_err(|_| GrantError::Unreachable)
    }

    /// Requests tokens.
    async fn tokens(&self, form: &[(&str, &str)]) -> Result<Granted, GrantError> {
        let answer = self.post(&self.token_url, form).await?;
        let status = answer.status();
        let body = body(answer).await.map_err(|_| GrantError::Unreachable)?;
        if status.is_success() {
            return serde_json::from_slice(&body).map_err(|_| GrantError::Malformed);
        }
        // A 408 or 429 says nothing about the request itself.
        let looked = status.is_client_error()
            && ![StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS].contains(&status);
        let said = looked.then(|| refusal(&body)).flatten();
        Err(said.unwrap_or(GrantError::Answered(status.as_u16())))
    }

    /// Whether all requested scopes were granted. An answer without scopes means yes (RFC 6749, 5.1).
    fn is_whole(&self, granted: &Granted) -> bool {
        let Some(granted) = &granted.scope else {
            return true;
        };
        let has = |asked: &&str| granted.split(' ').any(|scope| scope == *asked);
        self.scopes.iter().all(has)
    }
}

#[async_trait]
impl Consents for OAuthClient {
    fn authorize(&self, redirect_uri: &str, state: &str) -> Result<Authorization, GrantError> {
        let mut random = [0; 32];
        let filled = SystemRandom::new().fill(&mut random);
        filled.map_err(|_| GrantError::Unreachable)?;
        let verifier = URL_SAFE_NO_PAD.encode(random);
        let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
        let mut url = self.authorize_url.clone();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.client_id)
            .append_pair("state", state)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("scope", &self.scopes.join(" "))
            .extend_pairs(self.extras);
        Ok(Authorization {
            url: url.into(),
            verifier,
        })
    }

    async fn exchange(
        &self,
        code: &str,
        verifier: &str,
        redirect_uri: &str,
    ) -> Result<Grant, GrantError> {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("code_verifier", verifier),
            ("redirect_uri", redirect_uri),
        ];
        let granted = self.tokens(&form).await?;
        let is_whole = self.is_whole(&granted);
        let grant = grant(granted)?;
        // A partial grant is useless, but is not revoked: applications revoke everything that a person has granted to
        // this client, including a working connection.
        is_whole.then_some(grant).ok_or(GrantError::Partial)
    }

    async fn refresh(&self, refresh_token: &str) -> Result<Grant, GrantError> {
        let form = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh_token),
        ];
        grant(self.tokens(&form).await?)
    }

    async fn revoke(&self, token: &str) -> Result<(), GrantError> {
        let answer = self.post(&self.revoke_url, &[("token", token)]).await?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            status => Err(GrantError::Answered(status.as_u16())),
        }
    }
}

/// A successful token response (RFC 6749, 5.1).
#[derive(Deserialize)]
struct Granted {
    access_token: String,
    token_type: String,
    expires_in: Option<u64>,
    refresh_token: Option<String>,
    scope: Option<String>,
}

/// A token of an unknown type must not be used (RFC 6749, 7.1), and tokens have printable characters only (appendix A).
fn grant(granted: Granted) -> Result<Grant, GrantError> {
    let is_token =
        |text: &String| !text.is_empty() && text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let is_bearer = granted.token_type.eq_ignore_ascii_case("bearer");
    let are_tokens = is_token(&granted.access_token) && granted.refresh_token.iter().all(is_token);
    let grant = Grant {
        access_token: granted.access_token,
        refresh_token: granted.refresh_token,
        expires_in: granted.expires_in.map(Duration::from_secs),
    };
    (is_bearer && are_tokens)
        .then_some(grant)
        .ok_or(GrantError::Malformed)
}

/// A refusal with a reason: its `error` (RFC 6749, 5.2), or HubSpot's equivalent.
fn refusal(body: &[u8]) -> Option<GrantError> {
    let said: Value = serde_json::from_slice(body).ok()?;
    match said.get("error").or_else(|| said.get("status"))?.as_str()? {
        "invalid_grant" | "BAD_REFRESH_TOKEN" | "BAD_AUTH_CODE" => Some(GrantError::Refused),
        "invalid_client" | "unauthorized_client" | "BAD_CLIENT_ID" | "BAD_CLIENT_SECRET" => {
            Some(GrantError::Client)
        }
        _ => None,
    }
}
