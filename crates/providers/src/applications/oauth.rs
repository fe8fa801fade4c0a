//! The deployment's OAuth client at an application: authorization code with PKCE (RFC 6749, RFC 7636), refresh, and
//! revocation (RFC 7009). The client secret is sent in the body, which all applications accept.

use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use offhook_domain::ports::{Authorization, Consents, Grant, GrantError};
use offhook_egress::http_url;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Client, Response, StatusCode, Url};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::Deserialize;
use serde_json::Value;
use url::form_urlencoded::Serializer;

use super::{ApplicationError, ApplicationSettings, Definition, body};

/// An application's endpoints, and how it differs from the standards.
pub(super) struct OAuth {
    pub(super) authorize_url: &'static str,
    pub(super) token_url: &'static str,
    /// `None`: it revokes no tokens.
    pub(super) revoke_url: Option<&'static str>,
    /// Whether a token revokes itself, as that of an API request, instead of being named in a form.
    pub(super) revokes_itself: bool,
    pub(super) scopes: &'static [&'static str],
    /// Separates the scopes of a request.
    pub(super) separator: &'static str,
    /// Further parameters of an authorization request.
    pub(super) extras: &'static [(&'static str, &'static str)],
    pub(super) has_pkce: bool,
    pub(super) token_type: &'static str,
}

impl OAuth {
    pub(super) const STANDARD: Self = Self {
        authorize_url: "",
        token_url: "",
        revoke_url: None,
        revokes_itself: false,
        scopes: &[],
        separator: " ",
        extras: &[],
        has_pkce: true,
        token_type: "bearer",
    };
}

pub(super) struct OAuthClient {
    client: Client,
    client_id: String,
    client_secret: String,
    authorize_url: Url,
    token_url: Url,
    revoke_url: Option<Url>,
    of: &'static OAuth,
}

impl OAuthClient {
    pub(super) fn new(
        client: Client,
        definition: &'static Definition,
        settings: &ApplicationSettings,
    ) -> Result<Self, ApplicationError> {
        let of = &definition.oauth;
        let url = |name, given: &Option<String>, usual| {
            let url = http_url(given.as_deref().unwrap_or(usual));
            url.ok_or(ApplicationError::Url(definition.toolkit, name))
        };
        let revoke_url = match (&settings.revoke_url, of.revoke_url) {
            (None, None) => None,
            (given, usual) => Some(url("revoke_url", given, usual.unwrap_or_default())?),
        };
        Ok(Self {
            client,
            client_id: settings.client_id.clone(),
            client_secret: settings.client_secret.clone(),
            authorize_url: url("authorize_url", &settings.authorize_url, of.authorize_url)?,
            token_url: url("token_url", &settings.token_url, of.token_url)?,
            revoke_url,
            of,
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
        let said = || token_refusal(&serde_json::from_slice(&body).unwrap_or_default());
        if status.is_success() {
            // Slack refuses with status 200.
            let granted = serde_json::from_slice(&body);
            return granted.map_err(|_| said().unwrap_or(GrantError::Malformed));
        }
        // A 408 or 429 says nothing about the request itself.
        let looked = status.is_client_error()
            && ![StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS].contains(&status);
        let said = looked.then(said).flatten();
        Err(said.unwrap_or(GrantError::Answered(status.as_u16())))
    }

    /// Whether all requested scopes were granted. An answer without scopes means yes (RFC 6749, 5.1).
    fn is_whole(&self, granted: &Granted) -> bool {
        let Some(granted) = &granted.scope else {
            return true;
        };
        // Slack separates them by commas, which no scope contains.
        let has = |asked: &&str| granted.split([' ', ',']).any(|scope| scope == *asked);
        self.of.scopes.iter().all(has)
    }

    /// A token of an unknown type must not be used (RFC 6749, 7.1), and tokens have printable characters only
    /// (appendix A).
    fn grant(&self, granted: Granted) -> Result<Grant, GrantError> {
        let is_token = |text: &String| {
            !text.is_empty() && text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        };
        let is_known = granted.token_type.eq_ignore_ascii_case(self.of.token_type);
        let are_tokens =
            is_token(&granted.access_token) && granted.refresh_token.iter().all(is_token);
        let grant = Grant {
            access_token: granted.access_token,
            refresh_token: granted.refresh_token,
            expires_in: granted.expires_in.map(Duration::from_secs),
        };
        (is_known && are_tokens)
            .then_some(grant)
            .ok_or(GrantError::Malformed)
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
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("scope", &self.of.scopes.join(self.of.separator))
            .extend_pairs(self.of.extras);
        if self.of.has_pkce {
            url.query_pairs_mut()
                .append_pair("code_challenge", &challenge)
                .append_pair("code_challenge_method", "S256");
        }
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
            ("redirect_uri", redirect_uri),
            ("code_verifier", verifier),
        ];
        let sent = form.len() - usize::from(!self.of.has_pkce);
        let granted = self.tokens(&form[..sent]).await?;
        let is_whole = self.is_whole(&granted);
        let grant = self.grant(granted)?;
        // A partial grant is useless, but is not revoked: applications revoke everything that a person has granted to
        // this client, including a working connection.
        is_whole.then_some(grant).ok_or(GrantError::Partial)
    }

    async fn refresh(&self, refresh_token: &str) -> Result<Grant, GrantError> {
        let form = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh_token),
        ];
        self.grant(self.tokens(&form).await?)
    }

    async fn revoke(&self, token: &str) -> Result<(), GrantError> {
        let url = self.revoke_url.as_ref().ok_or(GrantError::NoRevocation)?;
        if !self.of.revokes_itself {
            let answer = self.post(url, &[("token", token)]).await?;
            return match answer.status() {
                status if status.is_success() => Ok(()),
                status => Err(GrantError::Answered(status.as_u16())),
            };
        }
        let request = self.client.post(url.clone()).bearer_auth(token);
        let answer = request.send().await.map_err(|_| GrantError::Unreachable)?;
        let status = answer.status().as_u16();
        let body = body(answer).await.map_err(|_| GrantError::Unreachable)?;
        let said: Value = serde_json::from_slice(&body).unwrap_or_default();
        match said["revoked"] == true {
            true => Ok(()),
            false => Err(GrantError::Answered(status)),
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

/// What the body of a token endpoint's refusal means: its `error` (RFC 6749, 5.2), or an equivalent of HubSpot or
/// Slack. `None` if it names no reason that is known.
pub fn token_refusal(body: &Value) -> Option<GrantError> {
    ["error", "status"].into_iter().find_map(|name| {
        let word = body[name].as_str()?.to_ascii_lowercase();
        match word.as_str() {
            "invalid_grant"
            | "bad_refresh_token"
            | "bad_auth_code"
            | "invalid_refresh_token"
            | "invalid_code"
            | "code_already_used"
            | "code_expired"
            | "token_expired"
            | "token_revoked"
            | "invalid_auth"
            | "account_inactive" => Some(GrantError::Refused),
            "invalid_client"
            | "unauthorized_client"
            | "invalid_client_id"
            | "bad_client_id"
            | "bad_client_secret" => Some(GrantError::Client),
            _ => None,
        }
    })
}
