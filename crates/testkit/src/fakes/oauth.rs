//! An authorization server: authorization code with PKCE, refresh with rotation, revocation; as the standards have it,
//! or as Slack does.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;

use crate::upstream::{Answer, ReceivedRequest, Upstream};

/// The id of its only client.
pub const CLIENT_ID: &str = "the-client";

/// That client's secret.
pub const CLIENT_SECRET: &str = "the-client-s3cret";

/// The path where members give their consent.
pub const AUTHORIZE_PATH: &str = "/oauth/authorize";

/// The path of the token endpoint.
pub const TOKEN_PATH: &str = "/oauth/token";

/// The path of the revocation endpoint.
pub const REVOKE_PATH: &str = "/oauth/revoke";

#[derive(Default)]
struct State {
    made: usize,
    /// The scopes that the client may ask for; any, if empty.
    registered: &'static [&'static str],
    /// The scopes of the last consent.
    scopes: Vec<String>,
    is_slack: bool,
    /// Codes, each with its challenge and redirect URI.
    codes: HashMap<String, (String, String)>,
    access: Vec<String>,
    refresh: Vec<String>,
    rotates: bool,
    expires_in: Option<u64>,
    allowed: Option<String>,
}

/// A running fake of an application, with this state.
pub struct Fake<S> {
    /// Its HTTP server, for its address and faults.
    pub upstream: Upstream,
    /// The authorization server that issues its tokens.
    pub authority: Authority,
    pub(super) state: Arc<Mutex<S>>,
}

/// The state of an authorization server; the fake of an application checks access tokens with it.
#[derive(Clone)]
pub struct Authority(Arc<Mutex<State>>);

impl Default for Authority {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(State {
            expires_in: Some(3_600),
            ..State::default()
        })))
    }
}

impl Authority {
    /// One whose client may ask for these scopes, and whose responses name those that were granted.
    pub fn of(registered: &'static [&'static str]) -> Self {
        let authority = Self::default();
        authority.0.lock().registered = registered;
        authority
    }

    /// Slack's: it refuses with status 200 and reasons of its own, takes no PKCE from a client with a secret, and its
    /// tokens do not expire unless they rotate (<https://docs.slack.dev/authentication/installing-with-oauth>).
    pub fn slack(registered: &'static [&'static str]) -> Self {
        let authority = Self::of(registered);
        authority.0.lock().is_slack = true;
        authority.expire_in(None);
        authority
    }

    /// Whether the last consent included a scope.
    pub fn may(&self, scope: &str) -> bool {
        self.0.lock().scopes.iter().any(|granted| granted == scope)
    }

    /// The member consents on the page at `authorize_url`. Returns the query of the redirect.
    ///
    /// # Panics
    /// If the URL lacks a parameter that is required, or asks for what the client may not have.
    pub fn consent(&self, authorize_url: &str) -> String {
        let asked = asked(authorize_url);
        let of = |name: &str| {
            let value = asked.parameter(name);
            value.unwrap_or_else(|| panic!("no {name} in {authorize_url}"))
        };
        assert_eq!(of("response_type"), "code");
        assert_eq!(of("client_id"), CLIENT_ID);
        let mut state = self.0.lock();
        let challenge = match state.is_slack {
            true => {
                assert_eq!(asked.parameter("code_challenge"), None, "pkce_not_allowed");
                String::new()
            }
            false => {
                assert_eq!(of("code_challenge_method"), "S256");
                of("code_challenge")
            }
        };
        let separator = if state.is_slack { ',' } else { ' ' };
        state.scopes = of("scope").split(separator).map(str::to_owned).collect();
        let is_known = |scope: &String| state.registered.contains(&scope.as_str());
        assert!(
            state.registered.is_empty() || state.scopes.iter().all(is_known),
            "invalid_scope: {:?}",
            state.scopes
        );
        state.made += 1;
        let code = format!("code-{}", state.made);
        let kept = (challenge, of("redirect_uri"));
        state.codes.insert(code.clone(), kept);
        format!("state={}&code={code}", of("state"))
    }

    /// The member refuses, or another error occurs. Returns the query of the redirect.
    ///
    /// # Panics
    /// If the URL has no state.
    pub fn refuse(&self, authorize_url: &str, error: &str) -> String {
        let state = asked(authorize_url).parameter("state");
        let state = state.unwrap_or_else(|| panic!("no state in {authorize_url}"));
        format!("state={state}&error={error}")
    }

    /// From now on each refresh token works once.
    pub fn rotate(&self) {
        self.0.lock().rotates = true;
    }

    /// From now on access tokens expire after `seconds`; `None`: the response omits the lifetime.
    pub fn expire_in(&self, seconds: Option<u64>) {
        self.0.lock().expires_in = seconds;
    }

    /// From now on members grant these scopes, separated by spaces, and the response names them. `None`: it omits
    /// them.
    pub fn allow(&self, scopes: Option<&str>) {
        self.0.lock().allowed = scopes.map(str::to_owned);
    }

    /// The member revokes all their consents.
    pub fn withdraw(&self) {
        let mut state = self.0.lock();
        state.access.clear();
        state.refresh.clear();
    }

    /// Invalidates all access tokens; refresh tokens stay valid.
    pub fn lapse(&self) {
        self.0.lock().access.clear();
    }

    /// The valid access and refresh tokens.
    pub fn good(&self) -> (Vec<String>, Vec<String>) {
        let state = self.0.lock();
        (state.access.clone(), state.refresh.clone())
    }

    /// Whether a request carries a valid access token.
    pub fn lets_in(&self, asked: &ReceivedRequest) -> bool {
        let bearer = asked.header("authorization").unwrap_or_default();
        let token = bearer.strip_prefix("Bearer ").unwrap_or_default();
        self.0.lock().access.iter().any(|good| good == token)
    }

    /// Starts an application that requires an access token; requests without one get the answer `stranger`.
    pub(super) async fn guard<S: Send + 'static>(
        self,
        state: S,
        stranger: Answer,
        answer: fn(&ReceivedRequest, &mut S, &Self) -> Answer,
    ) -> Fake<S> {
        let state = Arc::new(Mutex::new(state));
        let (doors, inside) = (self.clone(), state.clone());
        let upstream = Upstream::start(move |asked| {
            if let Some(answer) = doors.answer(asked) {
                return answer;
            }
            if !doors.lets_in(asked) {
                return stranger.clone();
            }
            answer(asked, &mut inside.lock(), &doors)
        });
        Fake {
            upstream: upstream.await,
            authority: self,
            state,
        }
    }

    /// Answers requests to its own paths; `None` for all others.
    pub fn answer(&self, asked: &ReceivedRequest) -> Option<Answer> {
        match (asked.method.as_str(), asked.path.as_str()) {
            ("GET", AUTHORIZE_PATH) => Some(self.page(asked)),
            ("POST", TOKEN_PATH) => Some(self.token(asked)),
            ("POST", REVOKE_PATH) => Some(self.revoke(asked)),
            _ => None,
        }
    }

    /// Its own page, with one link to consent and one to refuse.
    fn page(&self, asked: &ReceivedRequest) -> Answer {
        let url = format!("http://authority.example{AUTHORIZE_PATH}?{}", asked.query);
        let back = asked.parameter("redirect_uri").unwrap_or_default();
        let link = |query: String, name: &str| {
            let href = format!("{back}?{query}").replace('&', "&amp;");
            format!("<p><a href=\"{href}\">{name}</a></p>")
        };
        let html = format!(
            "<!doctype html><html lang=\"en\"><title>Consent</title><link rel=\"icon\" href=\"data:,\">{}{}</html>",
            link(self.consent(&url), "Allow"),
            link(self.refuse(&url, "access_denied"), "Deny"),
        );
        Answer::bytes(200, "text/html; charset=utf-8", html.into_bytes())
    }

    fn token(&self, asked: &ReceivedRequest) -> Answer {
        let form = asked.form();
        let of = |name: &str| {
            let found = form.iter().find(|(known, _)| known == name);
            found.map_or("", |(_, value)| value.as_str())
        };
        let mut state = self.0.lock();
        let is_slack = state.is_slack;
        let refusal = |status, error, slacks| match is_slack {
            true => Answer::json(200, &json!({"ok": false, "error": slacks})),
            false => refusal(status, error),
        };
        if (of("client_id"), of("client_secret")) != (CLIENT_ID, CLIENT_SECRET) {
            return refusal(401, "invalid_client", "bad_client_secret");
        }
        match of("grant_type") {
            "authorization_code" => {
                // A code works once, for any client.
                let Some((challenge, redirect_uri)) = state.codes.remove(of("code")) else {
                    return refusal(400, "invalid_grant", "invalid_code");
                };
                let proved = match is_slack {
                    true => of("code_verifier").is_empty(),
                    false => challenge_of(of("code_verifier")) == challenge,
                };
                if !proved || of("redirect_uri") != redirect_uri {
                    return refusal(400, "invalid_grant", "bad_redirect_uri");
                }
                let with_refresh = !is_slack || state.rotates;
                state.granted(with_refresh)
            }
            "refresh_token" => {
                let token = of("refresh_token").to_owned();
                if !state.refresh.contains(&token) {
                    return refusal(400, "invalid_grant", "invalid_refresh_token");
                }
                let rotates = state.rotates;
                if rotates {
                    state.refresh.retain(|good| *good != token);
                }
                state.granted(rotates)
            }
            _ => refusal(400, "unsupported_grant_type", "invalid_grant_type"),
        }
    }

    fn revoke(&self, asked: &ReceivedRequest) -> Answer {
        let form = asked.form();
        let token = form.iter().find(|(name, _)| name == "token");
        let mut token = token.map_or("", |(_, value)| value.as_str());
        let mut state = self.0.lock();
        if state.is_slack {
            let bearer = asked.header("authorization").unwrap_or_default();
            token = bearer.strip_prefix("Bearer ").unwrap_or_default();
        }
        if state.refresh.iter().any(|good| good == token) {
            state.refresh.clear();
            state.access.clear();
        }
        state.access.retain(|good| good != token);
        match state.is_slack {
            true => Answer::json(200, &json!({"ok": true, "revoked": true})),
            false => Answer::empty(200),
        }
    }
}

impl State {
    fn granted(&mut self, with_refresh: bool) -> Answer {
        self.made += 1;
        let access = format!("access-{}", self.made);
        self.access.push(access.clone());
        let mut granted = json!({"access_token": access, "token_type": "Bearer"});
        if let Some(seconds) = self.expires_in {
            granted["expires_in"] = seconds.into();
        }
        if let Some(allowed) = &self.allowed {
            granted["scope"] = allowed.as_str().into();
        } else if !self.registered.is_empty() {
            granted["scope"] = self
                .scopes
                .join(if self.is_slack { "," } else { " " })
                .into();
        }
        if self.is_slack {
            granted["ok"] = true.into();
            granted["token_type"] = "bot".into();
        }
        if with_refresh {
            let refresh = format!("refresh-{}", self.made);
            granted["refresh_token"] = refresh.clone().into();
            self.refresh.push(refresh);
        }
        Answer::json(200, &granted)
    }
}

fn refusal(status: u16, error: &str) -> Answer {
    let words = crate::upstream::UPSTREAM_WORDS;
    Answer::json(status, &json!({"error": error, "error_description": words}))
}

/// A request for this URL, as the application's page receives it.
fn asked(url: &str) -> ReceivedRequest {
    let (place, query) = url.split_once('?').unwrap_or((url, ""));
    ReceivedRequest {
        method: "GET".to_owned(),
        path: place.to_owned(),
        query: query.to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
    }
}

/// RFC 7636, 4.2: BASE64URL(SHA256(ASCII(code_verifier))).
fn challenge_of(verifier: &str) -> String {
    use base64::Engine as _;
    let digest = ring::digest::digest(&ring::digest::SHA256, verifier.as_bytes());
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(digest.as_ref())
}
