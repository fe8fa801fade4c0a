//! Integrations against fakes: their requests, and every operation with every fault.
mod cal_com;
mod faults;
mod grants;
mod sheets;
mod slack;

use std::sync::Arc;

use offhook_domain::ports::{Application, FunctionCall, FunctionError, Grant};
use offhook_domain::{ConversationId, Json, Timestamp};
use offhook_providers::{ApplicationSettings, application, applications};
use offhook_testkit::fakes::calendar::{API_PATH, EVENTS_PATH, FakeCalendar, TIME_ZONE};
use offhook_testkit::fakes::crm::FakeCrm;
use offhook_testkit::fakes::oauth::{
    AUTHORIZE_PATH, Authority, CLIENT_ID, CLIENT_SECRET, REVOKE_PATH, TOKEN_PATH,
};
use offhook_testkit::upstream::Fault;
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

/// A conversation; the calendar's event ids derive from it.
const CONVERSATION: &str = "0190163d-8694-739b-aea5-966c26f8ad91";

/// Half an hour from 2026-12-01T16:00:00Z.
const EVENT: &str = "0190163d8694739baea5966c26f8ad91t1796140800m30";

/// A calendar with a consent, and its tokens.
async fn calendar() -> (FakeCalendar, Arc<dyn Application>, Grant) {
    let fake = FakeCalendar::start().await;
    let application = calendar_at(&fake.upstream.base_url());
    let granted = granted(&*application, &fake.authority).await;
    (fake, application, granted)
}

async fn crm() -> (FakeCrm, Arc<dyn Application>, Grant) {
    let fake = FakeCrm::start().await;
    let application = crm_at(&fake.upstream.base_url());
    let granted = granted(&*application, &fake.authority).await;
    (fake, application, granted)
}

async fn granted(application: &dyn Application, authority: &Authority) -> Grant {
    let (code, verifier) = consent(application, authority);
    let granted = application.consents().exchange(&code, &verifier, BACK);
    granted.await.unwrap()
}

/// A member's consent: the code and the verifier.
fn consent(application: &dyn Application, authority: &Authority) -> (String, String) {
    let asked = application.consents().authorize(BACK, "the-state").unwrap();
    let back = authority.consent(&asked.url);
    let code = back.split_once("code=").unwrap().1;
    (code.to_owned(), asked.verifier)
}

async fn call(
    application: &dyn Application,
    grant: &Grant,
    function: &str,
    arguments: &Value,
) -> Result<Value, String> {
    call_in(CONVERSATION, application, grant, function, arguments).await
}

async fn call_in(
    conversation: &str,
    application: &dyn Application,
    grant: &Grant,
    function: &str,
    arguments: &Value,
) -> Result<Value, String> {
    let conversation: ConversationId = conversation.parse().unwrap();
    let arguments = arguments.to_string();
    let called = application.call(FunctionCall {
        function,
        access_token: &grant.access_token,
        arguments: &arguments,
        conversation,
        now: NOW,
    });
    match called.await {
        Ok(answer) => Ok(serde_json::from_str(&answer).unwrap()),
        Err(FunctionError::Said(said)) => Err(said),
        Err(FunctionError::Unauthorized) => Err("unauthorized".to_owned()),
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
            "There is no such time zone: give an IANA name such as America/Mexico_City.",
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
        "event_id": EVENT,
    });
    assert_eq!(booked, Ok(expected));
    let event = json!({
        "id": EVENT,
        "summary": "Zoe: first visit",
        "start": {"dateTime": "2026-12-01T10:00:00-06:00", "timeZone": TIME_ZONE},
        "end": {"dateTime": "2026-12-01T10:30:00-06:00", "timeZone": TIME_ZONE},
        "attendees": [{"email": "zoe@example.com"}],
    });
    assert_eq!(fake.events(), [event]);
    let posted = fake.upstream.asked_of("POST", EVENTS_PATH);
    assert_eq!(posted[0].parameter("sendUpdates").as_deref(), Some("all"));
    // Local time of the zone, without an offset.
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
async fn a_conversation_that_asks_again_has_one_appointment() {
    let (fake, application, granted) = calendar().await;
    let asked = json!({"start": "2026-12-01T10:00", "title": "Zoe"});
    let book = async || call(&*application, &granted, "book", &asked).await;
    let first = book().await.unwrap();
    assert_eq!(first["booked"], true);
    assert_eq!(first["event_id"], json!(EVENT));
    let mut again = book().await.unwrap();
    let note = again["note"].take();
    assert!(
        note.as_str().unwrap().contains("nothing new was made"),
        "{note}"
    );
    again.as_object_mut().unwrap().remove("note");
    assert_eq!(again, first, "it is told again");
    assert_eq!(fake.upstream.asked_of("POST", EVENTS_PATH).len(), 1);
    let another = "0190163d-8694-739b-aea5-966c26f8ad92";
    let taken = call_in(another, &*application, &granted, "book", &asked).await;
    assert!(taken.unwrap_err().starts_with("That time is taken"));
    // The time is taken, and it is unknown whether by this conversation.
    let event = format!("{EVENTS_PATH}/{EVENT}");
    fake.upstream.fail("GET", &event, Fault::Status(500), 1);
    let unclear = book().await.unwrap_err();
    assert!(
        unclear.contains("may have been booked, or not"),
        "{unclear}"
    );
    // The same id, although the calendar reports the time as free: a cancelled event is not booked again.
    fake.cancel_all();
    let gone = book().await.unwrap_err();
    assert!(
        gone.contains("has been cancelled since: nothing was booked"),
        "{gone}"
    );
    assert!(fake.events().is_empty());
    let other = call_in(another, &*application, &granted, "book", &asked).await;
    assert_eq!(other.unwrap()["booked"], true);
    assert_eq!(fake.events().len(), 1);
}

#[tokio::test]
async fn what_a_calendar_accepts_and_forgets_can_be_booked_again() {
    let (fake, application, granted) = calendar().await;
    let asked = json!({"start": "2026-12-01T10:00", "title": "Zoe"});
    let book = async || call(&*application, &granted, "book", &asked).await;
    fake.forget(true);
    assert_eq!(
        book().await.unwrap()["event_id"],
        EVENT,
        "as the calendar said"
    );
    // The calendar forgets the event and its response is lost: the result is unknown.
    fake.upstream
        .fail("POST", EVENTS_PATH, Fault::LoseAnswer, 1);
    let unclear = book().await.unwrap_err();
    assert!(
        unclear.contains("may have been booked, or not"),
        "{unclear}"
    );
    assert!(fake.events().is_empty());
    fake.forget(false);
    assert_eq!(book().await.unwrap()["event_id"], EVENT);
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
    assert_eq!(many["total"], 7);
    assert_eq!(many["contacts"].as_array().unwrap().len(), 5);
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
    for toolkit in applications() {
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
    let unknown = application("unknown", &settings("http://127.0.0.1:9"));
    assert!(unknown.is_err());
}
