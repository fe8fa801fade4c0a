//! The portal without a browser, as an attacker's program uses it.

use offhook_tests::{Answer, Client, Request, must};
use url::form_urlencoded::Serializer;

/// The session cookie.
pub(crate) const COOKIE: &str = "offhook_session";

/// The form field that proves that a form belongs to its session.
pub(crate) const TOKEN: &str = "_token";

/// A signed-in person, without a browser.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    client: Client,
    pub(crate) cookie: String,
    pub(crate) token: String,
}

impl Session {
    /// Signs in.
    pub(crate) async fn begin(client: Client, email: &str, password: &str) -> Self {
        let answer = sign_in(&client, email, password).await;
        assert_eq!(answer.status, 303, "{}", answer.text());
        let cookie = cookie_of(&answer);
        Self::of(client, cookie).await
    }

    /// Uses the cookie of an existing session.
    pub(crate) async fn of(client: Client, cookie: String) -> Self {
        let mut session = Self {
            client,
            cookie,
            token: String::new(),
        };
        let page = session.get("/portal/").await;
        assert_eq!(page.status, 200, "{}", page.text());
        session.token = token_in(&page.text());
        session
    }

    /// A GET of a page.
    pub(crate) fn get(&self, path: &str) -> Request {
        let cookie = format!("{COOKIE}={}", self.cookie);
        self.client.get(path).header("Cookie", cookie)
    }

    /// A form as the page would send it.
    pub(crate) fn post(&self, path: &str, fields: &[(&str, &str)]) -> Request {
        let token = (TOKEN, self.token.as_str());
        self.forged(path, &[fields, &[token]].concat())
    }

    /// A form without the token, as this person's browser would send it for another site's page.
    pub(crate) fn forged(&self, path: &str, fields: &[(&str, &str)]) -> Request {
        let cookie = format!("{COOKIE}={}", self.cookie);
        form(&self.client, path, fields).header("Cookie", cookie)
    }
}

/// The sign-in form.
pub(crate) fn sign_in(client: &Client, email: &str, password: &str) -> Request {
    let fields = [("email", email), ("password", password)];
    form(client, "/portal/sign-in", &fields)
}

pub(crate) fn form(client: &Client, path: &str, fields: &[(&str, &str)]) -> Request {
    let body = Serializer::new(String::new()).extend_pairs(fields).finish();
    client
        .request("POST", path)
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body(body)
}

/// The value that a response sets a cookie to.
pub(crate) fn set_cookie(answer: &Answer, name: &str) -> Option<String> {
    let lines = answer
        .headers
        .iter()
        .filter(|(header, _)| header == "set-cookie");
    lines
        .filter_map(|(_, line)| line.split(';').next()?.split_once('='))
        .find(|(found, _)| *found == name)
        .map(|(_, value)| value.to_owned())
}

/// The session that a response begins.
pub(crate) fn cookie_of(answer: &Answer) -> String {
    must("a session", set_cookie(answer, COOKIE).ok_or(answer))
}

/// The form token of a page.
fn token_in(page: &str) -> String {
    let field = format!("name=\"{TOKEN}\" value=\"");
    let rest = page.split_once(&field).map(|(_, rest)| rest);
    let token = rest
        .and_then(|rest| rest.split_once('"'))
        .map(|(token, _)| token);
    must("a form with a token", token.ok_or(page)).to_owned()
}
