//! Consents and tokens: requested, exchanged, renewed, rotated and revoked.

use std::time::Duration;

use offhook_domain::ports::GrantError;
use offhook_providers::ApplicationSettings;
use offhook_testkit::fakes::calendar::FakeCalendar;
use offhook_testkit::fakes::oauth::{CLIENT_SECRET, REVOKE_PATH, TOKEN_PATH};
use offhook_testkit::upstream::{Answer, Upstream};
use serde_json::{Value, json};

use super::{BACK, application_of, calendar, calendar_at, consent, crm_at, settings};

#[tokio::test]
async fn a_consent_is_asked_for_with_a_challenge_and_its_code_is_good_once() {
    let fake = FakeCalendar::start().await;
    let application = calendar_at(&fake.upstream.base_url());
    let asked = application.consents().authorize(BACK, "the-state").unwrap();
    for part in [
        "state=the-state",
        "code_challenge_method=S256",
        "access_type=offline",
        "prompt=consent",
        "auth%2Fcalendar.events+",
        "redirect_uri=https%3A%2F%2Foffhook.example%2Fportal%2Fintegrations%2Fcallback",
    ] {
        assert!(asked.url.contains(part), "{part} in {}", asked.url);
    }
    assert!(!asked.url.contains(&asked.verifier) && !asked.url.contains(CLIENT_SECRET));
    let again = application.consents().authorize(BACK, "the-state").unwrap();
    assert_ne!(again.verifier, asked.verifier);
    let code = |url: &str| {
        let back = fake.authority.consent(url);
        back.split_once("code=").unwrap().1.to_owned()
    };
    let exchange = async |code: &str, verifier: &str, back: &str| {
        application.consents().exchange(code, verifier, back).await
    };
    let refused = Err(GrantError::Refused);
    let first = code(&asked.url);
    assert_eq!(
        exchange(&first, &again.verifier, BACK).await,
        refused,
        "another verifier"
    );
    assert_eq!(
        exchange(&first, &asked.verifier, BACK).await,
        refused,
        "used up"
    );
    let second = code(&asked.url);
    let elsewhere = "https://offhook.example/portal/";
    assert_eq!(exchange(&second, &asked.verifier, elsewhere).await, refused);
    let third = code(&asked.url);
    let granted = exchange(&third, &asked.verifier, BACK).await.unwrap();
    assert_eq!(granted.expires_in, Some(Duration::from_secs(3_600)));
    assert!(granted.refresh_token.is_some());
    assert!(!format!("{granted:?}{asked:?}").contains(&granted.access_token));
}

#[tokio::test]
async fn tokens_are_renewed_rotated_withdrawn_and_revoked() {
    let (fake, application, granted) = calendar().await;
    let refresh = granted.refresh_token.unwrap();
    let renewed = application.consents().refresh(&refresh).await.unwrap();
    assert_ne!(renewed.access_token, granted.access_token);
    assert_eq!(renewed.refresh_token, None, "the old one stays");
    fake.authority.rotate();
    let rotated = application.consents().refresh(&refresh).await.unwrap();
    let next = rotated.refresh_token.unwrap();
    let expected = Err(GrantError::Refused);
    assert_eq!(application.consents().refresh(&refresh).await, expected);
    application.consents().refresh(&next).await.unwrap();
    let (_, good) = fake.authority.good();
    application.consents().revoke(&good[0]).await.unwrap();
    assert_eq!(fake.authority.good(), (Vec::new(), Vec::new()));
    let asked = fake.upstream.asked_of("POST", REVOKE_PATH);
    assert_eq!(asked.len(), 1);
    let wrong = ApplicationSettings {
        client_secret: "another".to_owned(),
        ..settings(&fake.upstream.base_url())
    };
    let stranger = application_of("google_calendar", &wrong);
    let expected = Err(GrantError::Client);
    assert_eq!(stranger.consents().refresh(&next).await, expected);
}

#[tokio::test]
async fn a_consent_to_a_part_is_none_and_ends_no_other_that_was_given() {
    let fake = FakeCalendar::start().await;
    let application = calendar_at(&fake.upstream.base_url());
    // Revoking a token ends all that the person has granted to this client.
    let (code, verifier) = consent(&*application, &fake.authority);
    let whole = application.consents().exchange(&code, &verifier, BACK);
    let refresh = whole.await.unwrap().refresh_token.unwrap();
    let events = "https://www.googleapis.com/auth/calendar.events";
    let busy = "https://www.googleapis.com/auth/calendar.freebusy";
    for (allowed, is_whole) in [
        (events.to_owned(), false),
        (format!("{busy} openid"), false),
        (format!("{busy} openid {events}"), true),
    ] {
        fake.authority.allow(Some(&allowed));
        let (code, verifier) = consent(&*application, &fake.authority);
        let granted = application.consents().exchange(&code, &verifier, BACK);
        let granted = granted.await;
        assert_eq!(granted.is_ok(), is_whole, "{allowed}");
        if !is_whole {
            assert_eq!(granted, Err(GrantError::Partial));
        }
        application.consents().refresh(&refresh).await.unwrap();
    }
}

/// Responses of a token endpoint that grant nothing, whatever their status code.
fn no_grants() -> Vec<(Answer, GrantError)> {
    use GrantError::{Answered, Client, Malformed, Refused};
    let granted = |change: Value| {
        let mut granted = json!({"access_token": "a", "token_type": "Bearer", "expires_in": 3_600});
        for (name, value) in change.as_object().into_iter().flatten() {
            granted[name] = value.clone();
        }
        Answer::json(200, &granted)
    };
    let refusal = |status, error: &str| Answer::json(status, &json!({"error": error}));
    let hubspots = |status: &str| {
        let said = json!({"status": status, "message": "missing or invalid", "correlationId": "c"});
        Answer::json(400, &said)
    };
    vec![
        (granted(json!({"token_type": "mac"})), Malformed),
        (granted(json!({"token_type": null})), Malformed),
        (granted(json!({"access_token": ""})), Malformed),
        (
            granted(json!({"access_token": "a\r\nX-Evil: 1"})),
            Malformed,
        ),
        (granted(json!({"access_token": 7})), Malformed),
        (granted(json!({"refresh_token": "\u{e9}"})), Malformed),
        (granted(json!({"expires_in": -1})), Malformed),
        (
            granted(json!({"more": "x".repeat(1_024 * 1_024)})),
            Malformed,
        ),
        (
            Answer::text(200, "text/html", "<html>Sign in</html>"),
            Malformed,
        ),
        (Answer::empty(204), Malformed),
        (
            Answer::empty(302).with("location", "http://127.0.0.1:9/"),
            Answered(302),
        ),
        (refusal(400, "invalid_grant"), Refused),
        (hubspots("BAD_REFRESH_TOKEN"), Refused),
        (hubspots("BAD_AUTH_CODE"), Refused),
        (hubspots("BAD_CLIENT_SECRET"), Client),
        (hubspots("BAD_REDIRECT_URI"), Answered(400)),
        (refusal(401, "invalid_client"), Client),
        (refusal(400, "unauthorized_client"), Client),
        (refusal(400, "invalid_scope"), Answered(400)),
        (refusal(400, "slow_down"), Answered(400)),
        (refusal(500, "invalid_grant"), Answered(500)),
        (refusal(403, "access_denied"), Answered(403)),
        (refusal(429, "rate_limit_exceeded"), Answered(429)),
        (refusal(429, "invalid_grant"), Answered(429)),
        (
            Answer::text(400, "text/html", "<html>No</html>"),
            Answered(400),
        ),
        (refusal(429, &"x".repeat(1_024 * 1_024)), Answered(429)),
    ]
}

#[tokio::test]
async fn an_answer_that_grants_nothing_is_none_whatever_it_says() {
    for (at, (answer, expected)) in no_grants().into_iter().enumerate() {
        let upstream = Upstream::start(move |_| answer.clone()).await;
        for application in [
            calendar_at(&upstream.base_url()),
            crm_at(&upstream.base_url()),
        ] {
            let consents = application.consents();
            assert_eq!(
                consents.exchange("c", "v", BACK).await,
                Err(expected),
                "{at}"
            );
            assert_eq!(consents.refresh("r").await, Err(expected), "{at}");
        }
        assert_eq!(
            upstream.asked_of("POST", TOKEN_PATH).len(),
            4,
            "{at}: each asked once"
        );
    }
}
