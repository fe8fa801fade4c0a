//! Attacks on the portal session of a signed-in person.

use offhook_tests::{Answer, both};

use super::session::{COOKIE, Session, cookie_of, form, set_cookie, sign_in};
use super::stage::{OWNER, PASSWORD, Stage};

/// The form that an attacker wants to send: it creates a key with every scope.
const KEY: (&str, &[(&str, &str)]) = (
    "/portal/developers",
    &[("name", "theirs"), ("scopes", "all")],
);

/// The names of the account's keys.
async fn keys(stage: &Stage) -> Vec<String> {
    let listed = stage
        .server
        .cli(&["key", "list", "--account", &stage.account.id])
        .await;
    let keys = listed.as_array().cloned().unwrap_or_default();
    keys.iter()
        .filter_map(|key| key["name"].as_str().map(str::to_owned))
        .collect()
}

/// Checks the security headers that every portal response carries.
fn is_guarded(answer: &Answer) {
    let policy = answer.header("content-security-policy").unwrap_or_default();
    for rule in [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'self'",
    ] {
        assert!(policy.contains(rule), "{rule} is missing in {policy:?}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(answer.header("x-frame-options"), Some("DENY"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert!(matches!(
        answer.header("referrer-policy"),
        Some("same-origin" | "no-referrer")
    ));
}

both! {
    async fn a_form_of_somebody_elses_page_changes_nothing(database: Database) {
        let stage = Stage::open(database).await;
        let owner = stage.signed_in().await;
        let other = stage.signed_in().await;
        let before = keys(&stage).await;
        let (path, fields) = KEY;

        // Another site's form, sent by the owner's browser: with the cookie but without a token.
        let refused = owner.forged(path, fields).await;
        assert_eq!(refused.status, 403, "{}", refused.text());
        is_guarded(&refused);
        // With a token from another session, even one of the same person.
        let stolen = [fields, &[("_token", other.token.as_str())]].concat();
        assert_eq!(owner.forged(path, &stolen).await.status, 403);
        // A form from our own page with a stale token is not executed either: the member has to confirm it.
        let ours = owner.forged(path, &stolen).header("Sec-Fetch-Site", "same-origin");
        let asked = ours.await;
        assert_eq!(asked.status, 422, "{}", asked.text());
        is_guarded(&asked);
        // With everything right except the origin headers of the browser.
        for (header, value) in [
            ("Origin", "https://evil.example"),
            ("Origin", "null"),
            ("Sec-Fetch-Site", "cross-site"),
            ("Sec-Fetch-Site", "same-site"),
        ] {
            let forged = owner.post(path, fields).header(header, value).await;
            assert_eq!(forged.status, 403, "{header}: {value}: {}", forged.text());
        }
        // A cross-site sign-in, which would make the victim work in the attacker's account.
        let foreign = sign_in(&stage.server.client(), OWNER, PASSWORD);
        let foreign = foreign.header("Origin", "https://evil.example").await;
        assert_eq!(foreign.status, 403);
        assert_eq!(set_cookie(&foreign, COOKIE), None);
        assert_eq!(keys(&stage).await, before);
    }

    async fn a_session_that_was_planted_is_never_the_one_that_is_signed_in(database: Database) {
        let stage = Stage::open(database).await;
        let planted = "planted-by-somebody-else-0000000000000000000";
        let answer = sign_in(&stage.server.client(), OWNER, PASSWORD)
            .header("Cookie", format!("{COOKIE}={planted}"))
            .await;
        assert_eq!(answer.status, 303, "{}", answer.text());
        let given = cookie_of(&answer);
        assert_ne!(given, planted);
        let with = async |cookie: &str| {
            let cookie = format!("{COOKIE}={cookie}");
            let page = stage.server.client().get("/portal/agents").header("Cookie", cookie);
            page.await.status
        };
        assert_eq!((with(planted).await, with(&given).await), (401, 200));

        // Signing in again ends nothing; signing out ends this session for good.
        let session = Session::of(stage.server.client(), given.clone()).await;
        let again = stage.signed_in().await;
        assert_ne!(again.cookie, given);
        assert_eq!(session.post("/portal/sign-out", &[]).await.status, 303);
        assert_eq!((with(&given).await, with(&again.cookie).await), (401, 200));
    }

    async fn signing_in_leads_nowhere_but_into_the_portal(database: Database) {
        let stage = Stage::open(database).await;
        for next in [
            "//evil.example", "///evil.example", "https://evil.example", "https:evil.example", "/\\evil.example",
            "\\\\evil.example", "/portal/..//evil.example", "/portal//evil.example", "/portal\r\nLocation: https://evil.example",
            "javascript:alert(1)", "/%2f%2fevil.example", "/portal@evil.example", "/v1/me", "",
        ] {
            let fields = [("email", OWNER), ("password", PASSWORD), ("next", next)];
            let answer = form(&stage.server.client(), "/portal/sign-in", &fields).await;
            let to = answer.header("location").unwrap_or_default();
            assert_eq!((answer.status, to), (303, "/portal/"), "{next:?}");
        }
        let fields = [("email", OWNER), ("password", PASSWORD), ("next", "/portal/agents?q=a")];
        let answer = form(&stage.server.client(), "/portal/sign-in", &fields).await;
        assert_eq!(answer.header("location"), Some("/portal/agents?q=a"));
    }

    async fn every_page_is_guarded_against_frames_and_scripts_and_kept_by_nobody(database: Database) {
        let stage = Stage::open(database).await;
        let owner = stage.signed_in().await;
        let lost = ["/portal/nothing-here", "/portal/profile/password", "/portal/agents/x"];
        for path in ["/portal/", "/portal/agents", "/portal/developers"].iter().chain(&lost) {
            let answer = owner.get(path).await;
            is_guarded(&answer);
            let page = answer.text();
            for inline in ["<style", " style=", "onclick=", "onload=", "javascript:", "hx-on"] {
                assert!(!page.contains(inline), "{path} has {inline}");
            }
        }
        is_guarded(&stage.server.client().get("/portal/sign-in").await);
        is_guarded(&stage.server.client().get("/portal/agents").await);
    }

    async fn whether_somebody_is_a_member_is_not_told(database: Database) {
        let stage = Stage::open(database).await;
        let client = stage.server.client();
        let mut pages = Vec::new();
        for email in [OWNER, "nobody@example.com"] {
            let answer = sign_in(&client, email, "wrong password").await;
            pages.push((answer.status, answer.text().replace(email, "somebody")));
        }
        assert_eq!(pages[0], pages[1]);
    }
}
