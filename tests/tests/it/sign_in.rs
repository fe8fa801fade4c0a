//! Signing in to the portal, from outside: what a browser sends and gets, without one.

use std::time::Duration;

use offhook_testkit::fakes::calendar::FakeCalendar;
use offhook_testkit::fakes::oauth::REVOKE_PATH;
use offhook_testkit::upstream::Fault;
use offhook_tests::{Answer, Client, Database, Options, Request, Server, both, eventually};
use serde_json::Value;

const PASSWORD: &str = "correct horse battery";

async fn start(database: Database) -> Server {
    Server::start(Options::on(database)).await
}

/// `name=value` as a form's body.
fn encoded(fields: &[(&str, &str)]) -> String {
    let escaped = |text: &str| -> String {
        let bytes = text.bytes().map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        });
        bytes.collect()
    };
    let pairs = fields
        .iter()
        .map(|(name, value)| format!("{}={}", escaped(name), escaped(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// Somebody's browser: a session, once there is one.
struct Visitor {
    client: Client,
    session: Option<String>,
}

impl Visitor {
    fn new(server: &Server) -> Self {
        Self {
            client: server.client(),
            session: None,
        }
    }

    fn with_cookie(&self, request: Request) -> Request {
        let request = request.header("Accept", "text/html,*/*;q=0.8");
        match &self.session {
            Some(session) => request.header("Cookie", format!("offhook_session={session}")),
            None => request,
        }
    }

    async fn get(&self, path: &str) -> Answer {
        self.with_cookie(self.client.get(path)).await
    }

    /// Sends a form as a page of the portal does.
    async fn send(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let request = self.client.request("POST", path);
        let request = request
            .header("Content-Type", "application/x-www-form-urlencoded")
            .header("Origin", "http://test")
            .body(encoded(fields));
        self.with_cookie(request).await
    }

    /// Sends a form with the token that the page at `on` carries.
    async fn send_with_token(&self, on: &str, path: &str, fields: &[(&str, &str)]) -> Answer {
        let page = self.get(on).await;
        assert_eq!(page.status, 200, "{}", page.text());
        let token = between(&page.text(), "name=\"_token\" value=\"", "\"");
        self.send(path, &[&[("_token", token.as_str())], fields].concat())
            .await
    }

    /// Keeps the session that an answer begins.
    fn keep(&mut self, answer: &Answer) {
        self.session = session_of(answer).map(|cookie| between(&cookie, "offhook_session=", ";"));
        assert!(self.session.is_some(), "{answer:?}");
    }
}

fn between(text: &str, before: &str, behind: &str) -> String {
    let found = text
        .split_once(before)
        .and_then(|(_, rest)| rest.split_once(behind));
    let (found, _) = found.unwrap_or_else(|| panic!("no {before} in {text}"));
    found.to_owned()
}

/// The cookie of a session as an answer sets it.
fn session_of(answer: &Answer) -> Option<String> {
    let cookies = answer
        .headers
        .iter()
        .filter(|(name, _)| name == "set-cookie");
    let cookie = cookies
        .map(|(_, value)| value)
        .find(|value| value.starts_with("offhook_session="));
    cookie.cloned()
}

fn location(answer: &Answer) -> &str {
    answer.header("location").unwrap_or_default()
}

/// The path of a link that the command line printed.
fn path_of(value: &Value, name: &str) -> String {
    let url = value[name]
        .as_str()
        .unwrap_or_else(|| panic!("no {name} in {value}"));
    let at = url.find("/portal/").unwrap_or_else(|| panic!("{url}"));
    url[at..].to_owned()
}

/// An account whose owner is signed in; its id and the owner's browser.
async fn owner(server: &Server, email: &str) -> (String, Visitor) {
    let create = [
        "account",
        "create",
        "--name",
        "Acme",
        "--plan",
        "pro",
        "--owner-email",
        email,
    ];
    let account = server.cli(&create).await;
    let mut visitor = Visitor::new(server);
    let welcome = path_of(&account, "sign_in_url");
    let set = visitor.send(&welcome, &[("new_password", PASSWORD)]).await;
    assert_eq!(
        (set.status, location(&set)),
        (303, "/portal/"),
        "{}",
        set.text()
    );
    visitor.keep(&set);
    (
        account["id"].as_str().unwrap_or_default().to_owned(),
        visitor,
    )
}

/// The code with which the first account is made: four groups of four characters in the server's log.
pub(crate) fn first_code(server: &Server) -> String {
    let log = server.log();
    let line = log
        .lines()
        .find(|line| line.contains("there is no account yet"));
    let line = line.unwrap_or_else(|| panic!("no code in {log}"));
    let groups = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let mut codes =
        groups.filter(|word| word.len() == 19 && word.split('-').all(|group| group.len() == 4));
    let code = codes.next().unwrap_or_else(|| panic!("no code in {line}"));
    code.to_owned()
}

both! {
    async fn an_owner_sets_a_password_by_the_link_and_signs_in(database: Database) {
        let server = start(database).await;
        let root = Visitor::new(&server).get("/").await;
        assert_eq!((root.status, location(&root)), (303, "/portal/"));
        let (_, mut ana) = owner(&server, "ana@example.com").await;
        let home = ana.get("/portal/").await;
        assert_eq!(home.status, 200);
        let policy = home.header("content-security-policy").unwrap_or_default();
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
        assert_eq!(home.header("cache-control"), Some("no-store"));
        // A session begins anew with each sign-in, and is a cookie that no script reads.
        let before = ana.session.clone();
        let fields = [("email", "ANA@example.com"), ("password", PASSWORD), ("next", "/portal/team")];
        let signed_in = ana.send("/portal/sign-in", &fields).await;
        assert_eq!((signed_in.status, location(&signed_in)), (303, "/portal/team"));
        let cookie = session_of(&signed_in).unwrap_or_default();
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
        assert!(cookie.contains("Path=/portal") && !cookie.contains("Secure"), "{cookie}");
        let stale = Visitor { client: server.client(), session: before.clone() };
        ana.keep(&signed_in);
        assert_ne!(ana.session, before);
        assert_eq!(stale.get("/portal/").await.status, 401, "the old one has ended");
        let out = ana.send_with_token("/portal/profile", "/portal/sign-out", &[]).await;
        assert_eq!((out.status, location(&out)), (303, "/portal/sign-in"));
        assert_eq!(ana.get("/portal/").await.status, 401);
    }

    async fn what_was_typed_is_shown_to_members_of_its_account_alone(database: Database) {
        let server = start(database).await;
        let (account, mut ana) = owner(&server, "ana@example.com").await;
        let (_, mut eve) = owner(&server, "eve@example.com").await;
        let plan = "our plan for the summer";
        for (visitor, email, is_member) in [(&mut eve, "eve@example.com", false), (&mut ana, "ana@example.com", true)] {
            visitor.session = None;
            let body = format!("name=Plans&text={}", plan.replace(' ', "+"));
            let fields = [
                ("email", email), ("password", PASSWORD), ("resume_path", "/portal/knowledge/text"),
                ("resume_body", &body), ("resume_account", &account),
            ];
            let answer = visitor.send("/portal/sign-in", &fields).await;
            visitor.keep(&answer);
            assert_eq!(answer.text().contains(plan), is_member, "{}", answer.text());
            assert!(!answer.text().contains("Plans</"), "names of fields and short words are the form's");
            if !is_member {
                assert_eq!((answer.status, location(&answer)), (303, "/portal/"));
            }
        }
    }

    async fn everybody_changes_their_own_name_and_nobody_elses(database: Database) {
        let server = start(database).await;
        let (_, ana) = owner(&server, "ana@example.com").await;
        let path = "/portal/profile/name";
        let long = "ñ".repeat(121);
        for wrong in ["", "  ", "a\nb", &long] {
            let refused = ana.send_with_token("/portal/profile", path, &[("name", wrong)]).await;
            assert_eq!(refused.status, 422, "{wrong:?}");
            assert!(refused.text().contains("must have 1 to 120 characters"), "{}", refused.text());
        }
        assert_eq!(ana.send(path, &[("name", "Mallory")]).await.status, 403, "without the form's token");
        let renamed = ana.send_with_token("/portal/profile", path, &[("name", " Ana <b>Luz</b> ")]).await;
        assert_eq!((renamed.status, location(&renamed)), (303, "/portal/profile"), "{}", renamed.text());
        let team = ana.get("/portal/team").await.text();
        assert!(team.contains("Ana &lt;b&gt;Luz&lt;/b&gt;"), "{team}");
        let log = ana.get("/portal/settings/audit").await.text();
        assert_eq!(log.matches("member.rename").count(), 1, "{log}");
    }

    async fn what_a_form_changed_is_in_the_audit_log_though_its_browser_went_away(database: Database) {
        let calendar = FakeCalendar::start().await;
        let options = Options::on(database).with_calendar(&calendar);
        let server = Server::start(options).await;
        let (_, ana) = owner(&server, "ana@example.com").await;
        let list = "/portal/integrations";
        let connect = format!("{list}/google_calendar/connect");
        let begun = ana.send_with_token(list, &connect, &[]).await.text();
        let url = between(&begun, "class=\"button primary\" href=\"", "\"").replace("&amp;", "&");
        let consent = calendar.authority.consent(&url);
        let back = ana.get(&format!("{list}/callback?{consent}")).await;
        assert_eq!((back.status, location(&back)), (303, list), "{}", back.text());

        calendar.upstream.fail("POST", REVOKE_PATH, Fault::Slow(Duration::from_secs(2)), 1);
        let path = format!("{list}/google_calendar/disconnect");
        let ana = std::sync::Arc::new(ana);
        let sent = tokio::spawn({
            let ana = ana.clone();
            async move { ana.send_with_token(list, &path, &[]).await }
        });
        eventually("the provider is asked", Duration::from_secs(20), async || {
            (!calendar.upstream.asked_of("POST", REVOKE_PATH).is_empty()).then_some(())
        })
        .await;
        sent.abort();
        assert!(sent.await.is_err_and(|error| error.is_cancelled()));
        eventually("the line of the log", Duration::from_secs(20), async || {
            let log = ana.get("/portal/settings/audit").await.text();
            log.contains("integration.disconnect").then_some(())
        })
        .await;
    }

    async fn the_first_account_is_made_with_the_code_of_the_log(database: Database) {
        let server = start(database).await;
        let sign_in = Visitor::new(&server).get("/portal/sign-in").await;
        assert_eq!((sign_in.status, location(&sign_in)), (303, "/portal/first"));
        let code = &first_code(&server);
        let mut ana = Visitor::new(&server);
        let ask = async |ana: &Visitor, code: &str, plan: &str, password: &str| {
            let fields = [
                ("code", code), ("account_name", "Mine"), ("plan", plan), ("name", "Ana"),
                ("email", "ana@example.com"), ("new_password", password),
            ];
            ana.send("/portal/first", &fields).await
        };
        let send = async |ana: &Visitor, code: &str, password: &str| ask(ana, code, "pro", password).await;
        let guessed = send(&ana, "0000-0000-0000-0000", PASSWORD).await;
        assert_eq!((guessed.status, session_of(&guessed)), (422, None));
        assert_eq!(send(&ana, code, "short").await.status, 422);
        let unknown = ask(&ana, code, "platinum", PASSWORD).await;
        assert_eq!((unknown.status, session_of(&unknown)), (422, None));
        assert!(unknown.text().contains("There is no such plan"), "{}", unknown.text());
        let begun = send(&ana, &code.to_lowercase().replace('-', " "), PASSWORD).await;
        assert_eq!((begun.status, location(&begun)), (303, "/portal/"), "{}", begun.text());
        ana.keep(&begun);
        assert_eq!(ana.get("/portal/").await.status, 200);
        let accounts = server.cli(&["account", "list"]).await;
        assert_eq!(accounts.as_array().map(Vec::len), Some(1));
        assert_eq!((&accounts[0]["name"], &accounts[0]["plan"]), (&Value::from("Mine"), &Value::from("pro")));
        let again = send(&Visitor::new(&server), code, PASSWORD).await;
        assert_eq!((again.status, location(&again)), (303, "/portal/sign-in"));
    }
}
