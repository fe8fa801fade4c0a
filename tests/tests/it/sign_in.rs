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
        self.with_cookie(self.client.get(path)).send().await
    }

    /// Sends a form as a page of the portal does.
    async fn send(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.send_from(path, fields, "http://test").await
    }

    async fn send_from(&self, path: &str, fields: &[(&str, &str)], origin: &str) -> Answer {
        let request = self.client.request("POST", path);
        let request = request
            .header("Content-Type", "application/x-www-form-urlencoded")
            .header("Origin", origin)
            .body(encoded(fields));
        self.with_cookie(request).send().await
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
        // Nobody is led elsewhere.
        for next in ["https://evil.example/", "//evil.example", "/portal//evil.example", "/v1/me", "/\\evil.example"] {
            let fields = [("email", "ana@example.com"), ("password", PASSWORD), ("next", next)];
            let answer = Visitor::new(&server).send("/portal/sign-in", &fields).await;
            assert_eq!((answer.status, location(&answer)), (303, "/portal/"), "{next}");
        }
        let out = ana.send_with_token("/portal/profile", "/portal/sign-out", &[]).await;
        assert_eq!((out.status, location(&out)), (303, "/portal/sign-in"));
        assert_eq!(ana.get("/portal/").await.status, 401);
    }

    async fn a_form_is_taken_from_its_own_session_and_origin_alone(database: Database) {
        let server = start(database).await;
        let (_, ana) = owner(&server, "ana@example.com").await;
        let (_, eve) = owner(&server, "eve@example.com").await;
        let page = eve.get("/portal/profile").await.text();
        let hers = between(&page, "name=\"_token\" value=\"", "\"");
        for token in ["", "x", hers.as_str()] {
            let forged = ana.send("/portal/profile/sessions", &[("_token", token)]).await;
            assert_eq!(forged.status, 403, "{token}");
        }
        let page = ana.get("/portal/profile").await.text();
        let own = between(&page, "name=\"_token\" value=\"", "\"");
        let elsewhere = ana.send_from("/portal/profile/sessions", &[("_token", &own)], "https://evil.example").await;
        assert_eq!(elsewhere.status, 403);
        let sign_in = [("email", "ana@example.com"), ("password", PASSWORD)];
        let elsewhere = ana.send_from("/portal/sign-in", &sign_in, "https://evil.example").await;
        assert_eq!((elsewhere.status, session_of(&elsewhere)), (403, None));
        let own = ana.send("/portal/profile/sessions", &[("_token", &own)]).await;
        assert_eq!(own.status, 303);
    }

    async fn a_hundred_guesses_are_turned_away_after_five(database: Database) {
        let server = start(database).await;
        let (_, _) = owner(&server, "ana@example.com").await;
        let visitor = Visitor::new(&server);
        let mut statuses = Vec::new();
        for guess in 0..100 {
            let guess = format!("guess number {guess}");
            let answer = visitor.send("/portal/sign-in", &[("email", "ana@example.com"), ("password", &guess)]).await;
            assert!(session_of(&answer).is_none());
            assert!(!answer.text().contains(&guess));
            statuses.push(answer.status);
        }
        assert_eq!(statuses[..5], [422; 5]);
        assert_eq!(statuses[5..], [429; 95]);
        let right = visitor.send("/portal/sign-in", &[("email", "ana@example.com"), ("password", PASSWORD)]).await;
        assert_eq!(right.status, 429);
        assert!((1..=60).contains(&right.number("retry-after")));
        assert!(!server.log().contains("ana@example.com"), "no address is logged");
    }

    async fn what_was_typed_into_an_ended_session_is_sent_after_signing_in(database: Database) {
        let server = start(database).await;
        let (_, mut ana) = owner(&server, "ana@example.com").await;
        ana.session = None;
        let typed = [("email", "eva@example.com"), ("name", "Eva <b>Luz</b>"), ("role", "viewer")];
        let kept = ana.send("/portal/team/invitations", &typed).await;
        assert_eq!(kept.status, 401);
        let body = between(&kept.text(), "name=\"resume_body\" value=\"", "\"").replace("&amp;", "&");
        let path = between(&kept.text(), "name=\"resume_path\" value=\"", "\"");
        assert_eq!(path, "/portal/team/invitations");
        let fields = [
            ("email", "ana@example.com"), ("password", PASSWORD), ("resume_path", &path), ("resume_body", &body),
        ];
        let again = ana.send("/portal/sign-in", &fields).await;
        assert_eq!(again.status, 200, "{}", again.text());
        assert!(!again.text().contains("<b>"), "{}", again.text());
        ana.keep(&again);
        let token = between(&again.text(), "name=\"_token\" value=\"", "\"");
        let sent = [&[("_token", token.as_str())], &typed[..]].concat();
        let invited = ana.send(&path, &sent).await;
        assert_eq!(invited.status, 200);
        assert!(invited.text().contains("/portal/join/"), "{}", invited.text());
    }

    async fn the_largest_form_is_kept_too(database: Database) {
        let server = start(database).await;
        let (_, mut ana) = owner(&server, "ana@example.com").await;
        ana.session = None;
        // Nearly as long as a form may be, of characters that grow each time that they are encoded.
        let text = "año + 5 % & más ".repeat(20_000);
        let kept = ana.send("/portal/knowledge/text", &[("name", "Largo"), ("text", &text)]).await;
        assert_eq!(kept.status, 401);
        let body = between(&kept.text(), "name=\"resume_body\" value=\"", "\"").replace("&amp;", "&");
        let fields = [
            ("email", "ana@example.com"), ("password", PASSWORD), ("resume_path", "/portal/knowledge/text"),
            ("resume_body", &body),
        ];
        let again = ana.send("/portal/sign-in", &fields).await;
        assert_eq!(again.status, 200);
        let shown = text.replace('&', "&amp;");
        assert!(again.text().contains(&format!("name=\"text\" value=\"{shown}\"")), "it was cut short");
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

    async fn a_viewer_looks_and_an_owners_form_is_refused(database: Database) {
        let server = start(database).await;
        let (_, ana) = owner(&server, "ana@example.com").await;
        let invite = [("email", "eva@example.com"), ("name", "Eva Luz"), ("role", "viewer")];
        let invited = ana.send_with_token("/portal/team", "/portal/team/invitations", &invite).await;
        assert_eq!(invited.status, 200, "{}", invited.text());
        let token = between(&invited.text(), "/portal/join/", "<");
        let join = format!("/portal/join/{token}");
        assert!(!ana.get("/portal/team").await.text().contains(&token), "the link is shown once");
        let mut eva = Visitor::new(&server);
        let page = eva.get(&join).await;
        assert_eq!(page.status, 200);
        assert!(page.text().contains("Eva Luz"));
        let short = eva.send(&join, &[("name", "Eva Luz"), ("new_password", "short")]).await;
        assert_eq!(short.status, 422);
        let joined = eva.send(&join, &[("name", "Eva Luz"), ("new_password", PASSWORD)]).await;
        assert_eq!(joined.status, 303, "{}", joined.text());
        eva.keep(&joined);
        assert_eq!(eva.get(&join).await.status, 404, "it was used");
        let team = eva.get("/portal/team").await;
        assert_eq!(team.status, 200);
        assert!(!team.text().contains("/portal/team/invitations"), "{}", team.text());
        let mine = between(&ana.get("/portal/team").await.text(), "action=\"/portal/team/", "/");
        for (path, fields) in [
            ("/portal/team/invitations".to_owned(), &invite[..]),
            (format!("/portal/team/{mine}/role"), &[("role", "owner")][..]),
            (format!("/portal/team/{mine}/remove"), &[][..]),
            ("/portal/developers".to_owned(), &[("name", "stolen"), ("scope", "agents:read")][..]),
        ] {
            let refused = eva.send_with_token("/portal/profile", &path, fields).await;
            assert_eq!(refused.status, 403, "{path}");
        }
        // Made a developer, she has to sign in again, and may make a key.
        let members = ana.get("/portal/team").await.text();
        let ids: Vec<_> = members.split("action=\"/portal/team/").skip(1).filter_map(|rest| rest.split('/').next()).collect();
        let hers = ids.iter().find(|id| **id != mine).copied().unwrap_or_default().to_owned();
        let raised = format!("/portal/team/{hers}/role");
        let raised = ana.send_with_token("/portal/team", &raised, &[("role", "developer")]).await;
        assert_eq!(raised.status, 303, "{}", raised.text());
        assert_eq!(eva.get("/portal/").await.status, 401);
        let signed_in = eva.send("/portal/sign-in", &[("email", "eva@example.com"), ("password", PASSWORD)]).await;
        eva.keep(&signed_in);
        // The last owner stays.
        let last = format!("/portal/team/{mine}/remove");
        let last = ana.send_with_token("/portal/team", &last, &[]).await;
        assert_eq!(last.status, 422);
        assert!(last.text().contains("needs an owner"), "{}", last.text());
    }

    async fn a_changed_password_ends_other_sessions_and_the_page_is_in_spanish_too(database: Database) {
        let server = start(database).await;
        let (_, mut ana) = owner(&server, "ana@example.com").await;
        let mut elsewhere = Visitor::new(&server);
        let signed_in = elsewhere.send("/portal/sign-in", &[("email", "ana@example.com"), ("password", PASSWORD)]).await;
        elsewhere.keep(&signed_in);
        let change = |old: &'static str, new: &'static str| [("password", old), ("new_password", new)];
        let path = "/portal/profile/password";
        let wrong = ana.send_with_token("/portal/profile", path, &change("wrong horse battery", "staple correct")).await;
        assert_eq!(wrong.status, 422);
        let changed = ana.send_with_token("/portal/profile", path, &change(PASSWORD, "staple correct")).await;
        assert_eq!(changed.status, 303, "{}", changed.text());
        // This session as well, which somebody may have copied: its browser has another one.
        assert_eq!((elsewhere.get("/portal/").await.status, ana.get("/portal/").await.status), (401, 401));
        ana.keep(&changed);
        assert_eq!(ana.get("/portal/").await.status, 200);
        let spanish = server.client().get("/portal/sign-in").header("Accept-Language", "es-MX,es;q=0.9");
        let spanish = spanish.send().await.text();
        assert!(spanish.contains("Contraseña") && spanish.contains("lang=\"es-MX\""), "{spanish}");
        for (wished, lang) in [("es;q=0.1,en;q=0.9", "en"), ("fr-FR,es-MX;q=0.8,en;q=0.5", "es-MX"), ("fr", "en"), ("?", "en")] {
            let page = server.client().get("/portal/sign-in").header("Accept-Language", wished).send().await.text();
            assert!(page.contains(&format!("<html lang=\"{lang}\"")), "{wished}: {page}");
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
