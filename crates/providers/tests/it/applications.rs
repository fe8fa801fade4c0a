//! Applications that accounts connect, against fakes: what they are asked, and every operation with every fault.
#![expect(clippy::unwrap_used, reason = "what surrounds the tests fails loudly")]

use std::sync::Arc;
use std::time::Duration;

use offhook_domain::{Json, Timestamp};
use offhook_engine::ports::{Application, FunctionError, Grant, GrantError};
use offhook_providers::{APPLICATIONS, ApplicationSettings, application, application_within};
use offhook_testkit::fakes::calendar::{API_PATH, BUSY_PATH, EVENTS_PATH, FakeCalendar, TIME_ZONE};
use offhook_testkit::fakes::crm::{CALLS_PATH, FakeCrm, SEARCH_PATH};
use offhook_testkit::fakes::oauth::{
    AUTHORIZE_PATH, CLIENT_ID, CLIENT_SECRET, REVOKE_PATH, TOKEN_PATH,
};
use offhook_testkit::upstream::{Fault, UPSTREAM_WORDS};
use serde_json::{Value, json};

const BACK: &str = "https://offhook.example/portal/integrations/callback";

/// 2026-11-20T12:00:00Z.
const NOW: Timestamp = Timestamp::from_micros(1_795_176_000_000_000);

fn settings(base: &str) -> ApplicationSettings {
    ApplicationSettings {
        client_id: CLIENT_ID.to_owned(),
        client_secret: CLIENT_SECRET.to_owned(),
        authorize_url: Some(format!("{base}{AUTHORIZE_PATH}")),
        token_url: Some(format!("{base}{TOKEN_PATH}")),
        revoke_url: Some(format!("{base}{REVOKE_PATH}")),
        api_url: Some(base.to_owned()),
    }
}

fn calendar_at(base: &str) -> Arc<dyn Application> {
    let settings = ApplicationSettings {
        api_url: Some(format!("{base}{API_PATH}")),
        ..settings(base)
    };
    application("google_calendar", &settings).unwrap()
}

fn crm_at(base: &str) -> Arc<dyn Application> {
    application("hubspot", &settings(base)).unwrap()
}

/// A calendar that let somebody in, and their tokens.
async fn calendar() -> (FakeCalendar, Arc<dyn Application>, Grant) {
    let fake = FakeCalendar::start().await;
    let application = calendar_at(&fake.upstream.base_url());
    let asked = application.authorize(BACK, "the-state").unwrap();
    let back = fake.authority.consent(&asked.url);
    let code = back.split_once("code=").unwrap().1.to_owned();
    let granted = application.exchange(&code, &asked.verifier, BACK).await;
    (fake, application, granted.unwrap())
}

async fn crm() -> (FakeCrm, Arc<dyn Application>, Grant) {
    let fake = FakeCrm::start().await;
    let application = crm_at(&fake.upstream.base_url());
    let asked = application.authorize(BACK, "the-state").unwrap();
    let back = fake.authority.consent(&asked.url);
    let code = back.split_once("code=").unwrap().1.to_owned();
    let granted = application.exchange(&code, &asked.verifier, BACK).await;
    (fake, application, granted.unwrap())
}

async fn call(
    application: &dyn Application,
    grant: &Grant,
    function: &str,
    arguments: &Value,
) -> Result<Value, String> {
    let token = &grant.access_token;
    let arguments = arguments.to_string();
    let called = application.call(function, token, &arguments, NOW);
    match called.await {
        Ok(answer) => Ok(serde_json::from_str(&answer).unwrap()),
        Err(FunctionError::Said(said)) => Err(said),
        Err(FunctionError::Unauthorized) => Err("unauthorized".to_owned()),
    }
}

#[tokio::test]
async fn a_consent_is_asked_for_with_a_challenge_and_its_code_is_good_once() {
    let fake = FakeCalendar::start().await;
    let application = calendar_at(&fake.upstream.base_url());
    let asked = application.authorize(BACK, "the-state").unwrap();
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
    let again = application.authorize(BACK, "the-state").unwrap();
    assert_ne!(again.verifier, asked.verifier);
    let code = |url: &str| {
        let back = fake.authority.consent(url);
        back.split_once("code=").unwrap().1.to_owned()
    };
    let exchange = async |code: &str, verifier: &str, back: &str| {
        application.exchange(code, verifier, back).await
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
    let renewed = application.refresh(&refresh).await.unwrap();
    assert_ne!(renewed.access_token, granted.access_token);
    assert_eq!(renewed.refresh_token, None, "the old one stays");
    fake.authority.rotate();
    let rotated = application.refresh(&refresh).await.unwrap();
    let next = rotated.refresh_token.unwrap();
    assert_eq!(
        application.refresh(&refresh).await,
        Err(GrantError::Refused)
    );
    application.refresh(&next).await.unwrap();
    let (_, good) = fake.authority.good();
    application.revoke(&good[0]).await.unwrap();
    assert_eq!(fake.authority.good(), (Vec::new(), Vec::new()));
    let asked = fake.upstream.asked_of("POST", REVOKE_PATH);
    assert_eq!(asked.len(), 1);
    let wrong = ApplicationSettings {
        client_secret: "another".to_owned(),
        ..settings(&fake.upstream.base_url())
    };
    let stranger = application_of("google_calendar", &wrong);
    assert_eq!(stranger.refresh(&next).await, Err(GrantError::Client));
}

#[tokio::test]
async fn a_consent_to_a_part_is_given_back() {
    let fake = FakeCalendar::start().await;
    let application = calendar_at(&fake.upstream.base_url());
    let events = "https://www.googleapis.com/auth/calendar.events";
    let busy = "https://www.googleapis.com/auth/calendar.freebusy";
    for (allowed, is_whole) in [
        (events.to_owned(), false),
        (format!("{busy} openid"), false),
        (format!("{busy} openid {events}"), true),
    ] {
        fake.authority.allow(Some(&allowed));
        let asked = application.authorize(BACK, "the-state").unwrap();
        let back = fake.authority.consent(&asked.url);
        let code = back.split_once("code=").unwrap().1;
        let granted = application.exchange(code, &asked.verifier, BACK).await;
        assert_eq!(granted.is_ok(), is_whole, "{allowed}");
        let (access, refresh) = fake.authority.good();
        assert_eq!(
            (access.is_empty(), refresh.is_empty()),
            (!is_whole, !is_whole)
        );
        if !is_whole {
            assert_eq!(granted, Err(GrantError::Partial));
        }
    }
}

fn application_of(toolkit: &str, settings: &ApplicationSettings) -> Arc<dyn Application> {
    application(toolkit, settings).unwrap()
}

#[tokio::test]
async fn free_times_are_those_of_the_calendars_zone_between_what_is_taken() {
    let (fake, application, granted) = calendar().await;
    fake.put("2026-12-01T09:30:00-06:00", "2026-12-01T10:30:00-06:00");
    let asked = json!({"date": "2026-12-01", "to_time": "12:00", "duration_minutes": 60});
    let free = call(&*application, &granted, "free_slots", &asked).await;
    let expected = json!({
        "time_zone": TIME_ZONE,
        "duration_minutes": 60,
        "free_slots": ["2026-12-01T10:30:00-06:00", "2026-12-01T11:00:00-06:00"],
        "more": false,
    });
    assert_eq!(free, Ok(expected));
    let asked = json!({"date": "2026-12-01", "days": 2, "time_zone": "Europe/Madrid"});
    let free = call(&*application, &granted, "free_slots", &asked)
        .await
        .unwrap();
    assert_eq!(free["time_zone"], "Europe/Madrid");
    assert_eq!(free["free_slots"][0], "2026-12-01T09:00:00+01:00");
    for (asked, said) in [
        (json!({"date": "2026-13-01"}), "There is no such `date`."),
        (
            json!({"date": "2026-12-01", "time_zone": "Mars/Base"}),
            "There is no such time zone: give an IANA name such as America/Mexico_City, or none.",
        ),
        (
            json!({"date": "2026-12-01", "from_time": "18:00"}),
            "`to_time` must be later in the day than `from_time`.",
        ),
    ] {
        let free = call(&*application, &granted, "free_slots", &asked).await;
        assert_eq!(free, Err(said.to_owned()));
    }
}

#[tokio::test]
async fn an_appointment_is_booked_where_it_is_free() {
    let (fake, application, granted) = calendar().await;
    let asked = json!({
        "start": "2026-12-01T10:00:00-06:00",
        "title": "Zoe: first visit",
        "attendee_email": "zoe@example.com",
    });
    let booked = call(&*application, &granted, "book", &asked).await;
    let expected = json!({
        "booked": true,
        "start": "2026-12-01T10:00:00-06:00",
        "end": "2026-12-01T10:30:00-06:00",
        "time_zone": TIME_ZONE,
        "event_id": "event1",
    });
    assert_eq!(booked, Ok(expected));
    let event = json!({
        "summary": "Zoe: first visit",
        "start": {"dateTime": "2026-12-01T10:00:00-06:00", "timeZone": TIME_ZONE},
        "end": {"dateTime": "2026-12-01T10:30:00-06:00", "timeZone": TIME_ZONE},
        "attendees": [{"email": "zoe@example.com"}],
    });
    assert_eq!(fake.events(), [event]);
    let posted = fake.upstream.asked_of("POST", EVENTS_PATH);
    assert_eq!(posted[0].parameter("sendUpdates").as_deref(), Some("all"));
    // As the clock of the zone shows it, without an offset.
    let local = json!({"start": "2026-12-01T10:15", "title": "Max"});
    let taken = call(&*application, &granted, "book", &local).await;
    let said =
        "That time is taken: nothing was booked. Look for free times again and offer another one.";
    assert_eq!(taken, Err(said.to_owned()));
    for (start, said) in [
        (
            "2026-11-20T05:59",
            "`start` is in the past: nothing was booked.",
        ),
        (
            "tomorrow",
            "`start` is no time: give it as 2026-12-01T09:00.",
        ),
    ] {
        let asked = json!({"start": start, "title": "Max"});
        let refused = call(&*application, &granted, "book", &asked).await;
        assert_eq!(refused, Err(said.to_owned()));
    }
    assert_eq!(fake.events().len(), 1);
}

#[tokio::test]
async fn a_contact_is_found_and_a_call_is_logged_with_it() {
    let (fake, application, granted) = crm().await;
    fake.put("501", "Zoé", &"x".repeat(300), "+5215512345678");
    for n in 0..7 {
        fake.put(&n.to_string(), "Max", "Moe", "+5215500000000");
    }
    let asked = json!({"query": "+5215512345678"});
    let zoe = call(&*application, &granted, "find_contact", &asked);
    let expected = json!({"total": 1, "contacts": [{
        "contact_id": "501",
        "name": format!("Zoé {}", "x".repeat(120)),
        "email": null,
        "phone": "+5215512345678",
        "company": null,
    }]});
    assert_eq!(zoe.await, Ok(expected));
    let many = call(
        &*application,
        &granted,
        "find_contact",
        &json!({"query": "moe"}),
    )
    .await;
    let many = many.unwrap();
    assert_eq!(
        (&many["total"], many["contacts"].as_array().unwrap().len()),
        (&json!(7), 5)
    );
    let call_made = json!({
        "contact_id": "501",
        "summary": "She wants a table.",
        "direction": "inbound",
        "duration_minutes": 3,
    });
    let logged = call(&*application, &granted, "log_call", &call_made).await;
    assert_eq!(logged, Ok(json!({"logged": true, "call_id": "9001"})));
    let expected = json!({
        "properties": {
            "hs_timestamp": "2026-11-20T12:00:00.000Z",
            "hs_call_title": "Call",
            "hs_call_body": "She wants a table.",
            "hs_call_status": "COMPLETED",
            "hs_call_direction": "INBOUND",
            "hs_call_duration": "180000",
        },
        "associations": [{
            "to": {"id": "501"},
            "types": [{"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": 194}],
        }],
    });
    assert_eq!(fake.calls(), [expected]);
}

#[test]
fn every_function_has_a_schema_and_a_description_that_a_tool_may_have() {
    for toolkit in APPLICATIONS {
        let application = application_of(toolkit, &settings("http://127.0.0.1:9"));
        assert_eq!(application.toolkit(), toolkit);
        for function in application.functions() {
            let schema = Json::parse(function.parameters.as_bytes()).unwrap();
            assert_eq!(schema.get("type").and_then(Json::as_str), Some("object"));
            assert!((1..=1_024).contains(&function.description.chars().count()));
            assert!(
                function.url.starts_with("http://127.0.0.1:9/"),
                "{}",
                function.url
            );
        }
    }
    let unknown = application("slack", &settings("http://127.0.0.1:9"));
    assert!(unknown.is_err());
}

/// Faults of a whole answer, and what a model is told of each where it looked something up and where something was to be
/// done.
const FAULTS: [(Fault, Word, Word); 13] = [
    (Fault::Close, Word::Silent, Word::NobodyKnows),
    (Fault::LoseAnswer, Word::Silent, Word::NobodyKnows),
    (Fault::CutBody, Word::Silent, Word::NobodyKnows),
    (Fault::Malformed, Word::Form, Word::NobodyKnows),
    (Fault::Unknown, Word::Form, Word::NobodyKnows),
    (Fault::Status(401), Word::Unauthorized, Word::Unauthorized),
    (Fault::Status(403), Word::Status(403), Word::Status(403)),
    (Fault::Status(404), Word::Status(404), Word::Status(404)),
    (Fault::Status(409), Word::Status(409), Word::Status(409)),
    (Fault::Status(422), Word::Status(422), Word::Status(422)),
    (Fault::Status(429), Word::Often, Word::Often),
    (Fault::RetryAfter(429, 7), Word::Pause, Word::Pause),
    (Fault::Status(500), Word::Status(500), Word::NobodyKnows),
];

#[derive(Clone, Copy)]
enum Word {
    Silent,
    Form,
    NobodyKnows,
    Unauthorized,
    Status(u16),
    Often,
    Pause,
}

impl Word {
    fn is_said(self, said: &str) -> bool {
        match self {
            Self::Silent => said.contains("did not answer"),
            Self::Form => said.contains("in a form that cannot be read"),
            Self::NobodyKnows => said.contains("or not. Do not try again"),
            Self::Unauthorized => said == "unauthorized",
            Self::Status(status) => said.contains(&format!("refused with HTTP status {status}.")),
            Self::Often => said.contains("asked too often at the moment."),
            Self::Pause => said.contains("it wants a pause of 7 s."),
        }
    }
}

/// What is done, where it goes, and whether something is to be done there.
fn operations() -> Vec<(&'static str, &'static str, Value, bool)> {
    vec![
        (
            "free_slots",
            BUSY_PATH,
            json!({"date": "2026-12-01"}),
            false,
        ),
        (
            "book",
            EVENTS_PATH,
            json!({"start": "2026-12-01T10:00Z", "title": "Max", "time_zone": "UTC"}),
            true,
        ),
        ("find_contact", SEARCH_PATH, json!({"query": "moe"}), false),
        (
            "log_call",
            CALLS_PATH,
            json!({"contact_id": "1", "summary": "Hello"}),
            true,
        ),
    ]
}

#[tokio::test]
async fn whatever_a_function_meets_is_a_sentence_and_nothing_is_done_twice() {
    for (function, path, arguments, does) in operations() {
        for (fault, looked, done) in FAULTS {
            let ((said, asked), left) = if function == "free_slots" || function == "book" {
                let (fake, application, granted) = calendar().await;
                fake.upstream.fail("POST", path, fault, 1);
                let said = call(&*application, &granted, function, &arguments).await;
                (
                    (said, fake.upstream.asked_of("POST", path).len()),
                    fake.events().len(),
                )
            } else {
                let (fake, application, granted) = crm().await;
                fake.upstream.fail("POST", path, fault, 1);
                let said = call(&*application, &granted, function, &arguments).await;
                (
                    (said, fake.upstream.asked_of("POST", path).len()),
                    fake.calls().len(),
                )
            };
            let said = said.unwrap_err();
            let expected = if does { done } else { looked };
            assert!(expected.is_said(&said), "{function}, {fault:?}: {said}");
            assert!(!said.contains(UPSTREAM_WORDS), "{said}");
            assert_eq!(asked, 1, "{function}, {fault:?}");
            assert!(left <= 1, "{function}, {fault:?}");
        }
    }
}

#[tokio::test]
async fn where_no_connection_opens_nothing_is_done_and_that_is_said() {
    let (fake, _, granted) = calendar().await;
    let base = fake.upstream.base_url();
    fake.upstream.stop();
    // With connections of their own: none is left open from before.
    let (application, crm) = (calendar_at(&base), crm_at(&base));
    let secure = FakeCalendar::start().await;
    let secure = secure.upstream.base_url().replace("http://", "https://");
    let secure = calendar_at(&secure);
    for (function, _, arguments, does) in operations() {
        let refused = match function {
            "free_slots" | "book" => call(&*application, &granted, function, &arguments).await,
            _ => call(&*crm, &granted, function, &arguments).await,
        };
        let said = refused.unwrap_err();
        let expected = match (does, function) {
            (false, _) => "did not answer",
            // What is taken is looked up first.
            (true, "book") => "did not answer",
            (true, _) => "cannot be reached: nothing was logged.",
        };
        assert!(said.contains(expected), "{function}: {said}");
    }
    assert_eq!(application.refresh("r").await, Err(GrantError::Unreachable));
    assert_eq!(
        secure.refresh("r").await,
        Err(GrantError::Unreachable),
        "no TLS"
    );
    assert_eq!(application.revoke("r").await, Err(GrantError::Unreachable));
    let exchanged = application.exchange("c", "v", BACK).await;
    assert_eq!(exchanged, Err(GrantError::Unreachable));
}

#[tokio::test]
async fn whatever_the_token_endpoint_does_is_told_apart_and_asked_once() {
    use GrantError::{Answered, Malformed, Unreachable};
    for (fault, expected) in [
        (Fault::Close, Unreachable),
        (Fault::LoseAnswer, Unreachable),
        (Fault::CutBody, Unreachable),
        (Fault::Malformed, Malformed),
        (Fault::Unknown, Malformed),
        (Fault::Status(401), Answered(401)),
        (Fault::Status(404), Answered(404)),
        (Fault::Status(409), Answered(409)),
        (Fault::Status(422), Answered(422)),
        (Fault::Status(429), Answered(429)),
        (Fault::RetryAfter(429, 7), Answered(429)),
        (Fault::Status(500), Answered(500)),
    ] {
        let (fake, application, granted) = calendar().await;
        let refresh = granted.refresh_token.clone().unwrap();
        let asked = application.authorize(BACK, "s").unwrap();
        let back = fake.authority.consent(&asked.url);
        let code = back.split_once("code=").unwrap().1;
        let before = fake.upstream.asked_of("POST", TOKEN_PATH).len();
        fake.upstream.fail("POST", TOKEN_PATH, fault, 2);
        let exchanged = application.exchange(code, &asked.verifier, BACK).await;
        assert_eq!(exchanged, Err(expected), "{fault:?}");
        let renewed = application.refresh(&refresh).await;
        assert_eq!(renewed, Err(expected), "{fault:?}");
        let after = fake.upstream.asked_of("POST", TOKEN_PATH).len();
        assert_eq!(after - before, 2, "{fault:?}");
        assert!(!format!("{expected}").contains(UPSTREAM_WORDS));
        application.refresh(&refresh).await.unwrap();
    }
}

#[tokio::test]
async fn who_takes_too_long_is_not_waited_for() {
    let (calendar, _, calendar_grant) = calendar().await;
    let (crm, _, crm_grant) = crm().await;
    let long = Fault::Slow(Duration::from_secs(600));
    for fake in [&calendar.upstream, &crm.upstream] {
        fake.fail("POST", "/", long, 4);
    }
    let limit = Duration::from_secs(2);
    let within = |toolkit, base: &str| application_within(toolkit, &settings(base), limit);
    let calendar_base = calendar.upstream.base_url();
    let slow_calendar = within("google_calendar", &calendar_base).unwrap();
    let slow_crm = within("hubspot", &crm.upstream.base_url()).unwrap();
    let free = json!({"date": "2026-12-01", "time_zone": "UTC"});
    let logged = json!({"contact_id": "1", "summary": "Hello"});
    let (free, logged, renewed, revoked) = tokio::join!(
        call(&*slow_calendar, &calendar_grant, "free_slots", &free),
        call(&*slow_crm, &crm_grant, "log_call", &logged),
        slow_calendar.refresh("r"),
        slow_calendar.revoke("r"),
    );
    assert!(Word::Silent.is_said(&free.unwrap_err()));
    assert!(Word::NobodyKnows.is_said(&logged.unwrap_err()));
    assert_eq!(renewed, Err(GrantError::Unreachable));
    assert_eq!(revoked, Err(GrantError::Unreachable));
}
