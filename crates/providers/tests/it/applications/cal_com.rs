//! Cal.com: event types, free times and bookings.

use offhook_domain::ports::GrantError;
use offhook_providers::ApplicationSettings;
use offhook_testkit::fakes::cal_com::{BOOKINGS_PATH, FakeCalCom};
use offhook_testkit::upstream::Fault;
use serde_json::{Value, json};

use super::{
    Application, Arc, CONVERSATION, Grant, application_of, call, call_in, granted, settings,
};

pub(super) const EVENT_TYPE_PATH: &str = "/v2/event-types/42";

/// A free time.
pub(super) const SLOT: &str = "2026-12-01T09:00:00.000-06:00";

/// The arguments of a booking.
pub(super) fn wish() -> Value {
    json!({
        "event_type_id": 42,
        "start": SLOT,
        "name": "Zoe",
        "phone": "+5215512345678",
        "time_zone": "America/Mexico_City",
    })
}

async fn cal_com() -> (FakeCalCom, Arc<dyn Application>, Grant) {
    let fake = FakeCalCom::start(&[SLOT, "2026-12-02T09:00:00.000-06:00"]).await;
    let settings = ApplicationSettings {
        revoke_url: None,
        ..settings(&fake.upstream.base_url())
    };
    let application = application_of("cal_com", &settings);
    let granted = granted(&*application, &fake.authority).await;
    (fake, application, granted)
}

#[tokio::test]
async fn an_event_type_is_booked_at_a_time_that_is_free() {
    let (fake, application, granted) = cal_com().await;
    let listed = call(&*application, &granted, "event_types", &json!({})).await;
    let first = json!({"event_type_id": 42, "title": "First visit", "duration_minutes": 30});
    assert_eq!(listed, Ok(json!({"total": 1, "event_types": [first]})));

    let zone = "America/Mexico_City";
    let asked = json!({"event_type_id": 42, "date": "2026-12-01", "time_zone": zone});
    let free = async || call(&*application, &granted, "free_slots", &asked).await;
    let expected = json!({"time_zone": zone, "free_slots": [SLOT], "more": false});
    assert_eq!(free().await, Ok(expected));

    fake.by_phone();
    let booked = call(&*application, &granted, "book", &wish()).await;
    let expected = json!({
        "booked": true,
        "confirmed": true,
        "start": "2026-12-01T09:00:00-06:00",
        "end": "2026-12-01T09:30:00-06:00",
        "time_zone": zone,
        "booking_id": "uid1",
    });
    assert_eq!(booked, Ok(expected));
    let expected = json!({
        "eventTypeId": 42,
        "start": "2026-12-01T15:00:00Z",
        "attendee": {"name": "Zoe", "timeZone": zone, "phoneNumber": "+5215512345678"},
        "location": {"type": "attendeePhone", "phone": "+5215512345678"},
        "metadata": {"conversation": CONVERSATION},
    });
    assert_eq!(fake.bookings(), [expected]);
    assert_eq!(free().await.unwrap()["free_slots"], json!([]));
}

#[tokio::test]
async fn a_booking_that_is_repeated_is_made_once_and_a_taken_time_is_refused() {
    let (fake, application, granted) = cal_com().await;
    let book = async || call(&*application, &granted, "book", &wish()).await;
    fake.upstream
        .fail("POST", BOOKINGS_PATH, Fault::LoseAnswer, 1);
    let first = book().await.unwrap();
    let mut again = book().await.unwrap();
    let note = again["note"].take();
    assert!(note.as_str().unwrap().contains("nothing new was made"));
    again.as_object_mut().unwrap().remove("note");
    assert_eq!(again, first);
    assert_eq!(fake.upstream.asked_of("POST", BOOKINGS_PATH).len(), 1);

    let another = "0190163d-8694-739b-aea5-966c26f8ad92";
    let taken = call_in(another, &*application, &granted, "book", &wish()).await;
    assert!(taken.unwrap_err().contains("the time may be taken"));
    fake.cancel_all();
    assert_eq!(book().await.unwrap()["booking_id"], "uid2");
    assert_eq!(fake.bookings().len(), 1);
}

#[tokio::test]
async fn an_event_type_of_somebody_else_is_not_booked() {
    let (fake, application, granted) = cal_com().await;
    for (change, said) in [
        (
            json!({"event_type_id": 7}),
            "The account has no such event type",
        ),
        (
            json!({"phone": null}),
            "Ask for the customer's `email` or `phone`",
        ),
        (
            json!({"start": "2026-11-20T05:59"}),
            "`start` is in the past",
        ),
        (
            json!({"time_zone": "Mars/Base"}),
            "There is no such time zone",
        ),
    ] {
        let mut asked = wish();
        for (name, value) in change.as_object().unwrap() {
            asked[name] = value.clone();
        }
        let refused = call(&*application, &granted, "book", &asked).await;
        assert!(refused.unwrap_err().starts_with(said), "{change}");
    }
    assert!(fake.upstream.asked_of("POST", BOOKINGS_PATH).is_empty());
}

#[tokio::test]
async fn what_cannot_be_revoked_there_is_not_asked_for() {
    let (fake, application, granted) = cal_com().await;
    let before = fake.upstream.asked().len();
    let revoked = application.consents().revoke(&granted.access_token);
    assert_eq!(revoked.await, Err(GrantError::NoRevocation));
    assert_eq!(fake.upstream.asked().len(), before);
}
