//! Signing in to the portal, at the HTTP level without a browser.

use std::time::Duration;

use offhook_testkit::fakes::calendar::FakeCalendar;
use offhook_testkit::fakes::oauth::REVOKE_PATH;
use offhook_testkit::upstream::Fault;
use offhook_tests::{Answer, Options, Server, both, eventually, text};
use serde_json::json;

use crate::portal::session::{COOKIE, Session, cookie_of, form, set_cookie, sign_in};
use crate::portal::stage::{OWNER, PASSWORD, Stage, page};

fn between<'a>(text: &'a str, before: &str, behind: &str) -> &'a str {
    let found = text
        .split_once(before)
        .and_then(|(_, rest)| rest.split_once(behind));
    let (found, _) = found.unwrap_or_else(|| panic!("no {before} in {text}"));
    found
}

fn location(answer: &Answer) -> &str {
    answer.header("location").unwrap_or_default()
}

/// The code that creates the first account: four groups of four characters in the server's log.
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
    async fn a_session_begins_anew_with_each_sign_in_and_is_a_cookie_that_no_script_reads(database: Database) {
        let stage = Stage::open(database).await;
        let client = stage.server.client();
        let root = client.get("/").header("Accept", "text/html").await;
        assert_eq!((root.status, location(&root)), (303, "/portal/"));
        let before = stage.signed_in().await;
        let again = sign_in(&client, &OWNER.to_uppercase(), PASSWORD)
            .header("Cookie", format!("{COOKIE}={}", before.cookie))
            .await;
        let cookies = again.headers.iter().filter(|(name, _)| name == "set-cookie");
        let cookie = cookies.map(|(_, value)| value.as_str()).find(|value| value.starts_with(COOKIE));
        let cookie = cookie.unwrap_or_default();
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{again:?}");
        assert!(cookie.contains("Path=/portal") && !cookie.contains("Secure"), "{cookie}");
        assert_eq!(before.get("/portal/").await.status, 401, "the old one has ended");
        let ana = Session::of(client, cookie_of(&again)).await;
        let out = ana.post("/portal/sign-out", &[]).await;
        assert_eq!((out.status, location(&out)), (303, "/portal/sign-in"));
        assert_eq!(ana.get("/portal/").await.status, 401);
    }

    async fn what_was_typed_is_shown_to_members_of_its_account_alone(database: Database) {
        const EVE: &str = "eve@example.com";
        let stage = Stage::open(database).await;
        let client = stage.server.client();
        let make = ["account", "create", "--name", "Beta", "--plan", "pro", "--owner-email", EVE];
        let made = stage.server.cli(&make).await;
        let welcome = page(text(&made["sign_in_url"]));
        assert_eq!(form(&client, welcome, &[("new_password", PASSWORD)]).await.status, 303);
        let plan = "our plan for the summer";
        let body = format!("name=Plans&text={}", plan.replace(' ', "+"));
        for (email, is_member) in [(EVE, false), (OWNER, true)] {
            let fields = [
                ("email", email), ("password", PASSWORD), ("resume_path", "/portal/knowledge/text"),
                ("resume_body", &body), ("resume_account", &stage.account.id),
            ];
            let answer = form(&client, "/portal/sign-in", &fields).await;
            cookie_of(&answer);
            assert_eq!(answer.text().contains(plan), is_member, "{}", answer.text());
            assert!(!answer.text().contains("Plans</"), "names of fields and short words are the form's");
            if !is_member {
                assert_eq!((answer.status, location(&answer)), (303, "/portal/"));
            }
        }
    }

    async fn everybody_changes_their_own_name_and_nobody_elses(database: Database) {
        let stage = Stage::open(database).await;
        let ana = stage.signed_in().await;
        let path = "/portal/profile/name";
        let long = "ñ".repeat(121);
        for wrong in ["", "  ", "a\nb", &long] {
            let refused = ana.post(path, &[("name", wrong)]).await;
            assert_eq!(refused.status, 422, "{wrong:?}");
            assert!(refused.text().contains("must have 1 to 120 characters"), "{}", refused.text());
        }
        assert_eq!(ana.forged(path, &[("name", "Mallory")]).await.status, 403, "without the form's token");
        let renamed = ana.post(path, &[("name", " Ana <b>Luz</b> ")]).await;
        assert_eq!((renamed.status, location(&renamed)), (303, "/portal/profile"), "{}", renamed.text());
        let team = ana.get("/portal/team").await.text();
        assert!(team.contains("Ana &lt;b&gt;Luz&lt;/b&gt;"), "{team}");
        let log = ana.get("/portal/settings/audit").await.text();
        assert_eq!(log.matches("member.rename").count(), 1, "{log}");
    }

    async fn what_a_form_changed_is_in_the_audit_log_though_its_browser_went_away(database: Database) {
        let calendar = FakeCalendar::start().await;
        let stage = Stage::with(Options::on(database).with_calendar(&calendar)).await;
        let ana = stage.signed_in().await;
        let list = "/portal/integrations";
        let begun = ana.post(&format!("{list}/google_calendar/connect"), &[]).await.text();
        let url = between(&begun, "class=\"button primary\" href=\"", "\"").replace("&amp;", "&");
        let consent = calendar.authority.consent(&url);
        let back = ana.get(&format!("{list}/callback?{consent}")).await;
        assert_eq!((back.status, location(&back)), (303, list), "{}", back.text());

        calendar.upstream.fail("POST", REVOKE_PATH, Fault::Slow(Duration::from_secs(2)), 1);
        let disconnect = ana.post(&format!("{list}/google_calendar/disconnect"), &[]);
        let sent = tokio::spawn(disconnect.send());
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
        let server = Server::start(Options::on(database)).await;
        let client = server.client();
        let sign_in = client.get("/portal/sign-in").await;
        assert_eq!((sign_in.status, location(&sign_in)), (303, "/portal/first"));
        let code = &first_code(&server);
        let ask = async |code: &str, plan: &str, password: &str| {
            let fields = [
                ("code", code), ("account_name", "Mine"), ("plan", plan), ("name", "Ana"),
                ("email", OWNER), ("new_password", password),
            ];
            form(&client, "/portal/first", &fields).await
        };
        for (code, plan, password) in [
            ("0000-0000-0000-0000", "pro", PASSWORD), (code, "pro", "short"), (code, "platinum", PASSWORD),
        ] {
            let refused = ask(code, plan, password).await;
            assert_eq!((refused.status, set_cookie(&refused, COOKIE)), (422, None), "{code} {plan} {password}");
            assert_eq!(refused.text().contains("Unknown plan."), plan == "platinum", "{}", refused.text());
        }
        let begun = ask(&code.to_lowercase().replace('-', " "), "pro", PASSWORD).await;
        assert_eq!((begun.status, location(&begun)), (303, "/portal/"), "{}", begun.text());
        Session::of(client.clone(), cookie_of(&begun)).await;
        let accounts = server.cli(&["account", "list"]).await;
        assert_eq!(accounts.as_array().map(Vec::len), Some(1));
        assert_eq!((&accounts[0]["name"], &accounts[0]["plan"]), (&json!("Mine"), &json!("pro")));
        let again = ask(code, "pro", PASSWORD).await;
        assert_eq!((again.status, location(&again)), (303, "/portal/sign-in"));
    }
}
