//! Cal.com, API v2: event types, free times and bookings. It follows <https://cal.com/docs/api-reference/v2>.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::oauth::{Authority, Fake};
use crate::upstream::{Answer, ReceivedRequest};

/// The path of the event types.
pub const EVENT_TYPES_PATH: &str = "/v2/event-types";

/// The path of the free times.
pub const SLOTS_PATH: &str = "/v2/slots";

/// The path of the bookings.
pub const BOOKINGS_PATH: &str = "/v2/bookings";

/// The id of its event type, which takes half an hour.
pub const EVENT_TYPE: u64 = 42;

const SCOPES: [&str; 4] = [
    "EVENT_TYPE_READ",
    "BOOKING_READ",
    "BOOKING_WRITE",
    "PROFILE_READ",
];

pub struct State {
    location: &'static str,
    /// The free times.
    slots: Vec<String>,
    bookings: Vec<Value>,
}

/// A running fake Cal.com.
pub type FakeCalCom = Fake<State>;

impl FakeCalCom {
    /// One without bookings, that is free at these times (RFC 3339).
    pub async fn start(slots: &[&str]) -> Self {
        let authority = Authority::of(&SCOPES);
        authority.rotate();
        authority.expire_in(Some(1_800));
        let state = State {
            location: "integration",
            slots: slots.iter().map(|&slot| slot.to_owned()).collect(),
            bookings: Vec::new(),
        };
        let stranger = error(401, "UnauthorizedException");
        authority.guard(state, stranger, answered).await
    }

    /// From now on the host calls the customers.
    pub fn by_phone(&self) {
        self.state.lock().location = "attendeePhone";
    }

    /// Every booking that stands, as it was requested.
    pub fn bookings(&self) -> Vec<Value> {
        let bookings = &self.state.lock().bookings;
        let standing = bookings.iter().filter(|one| one["status"] == "accepted");
        standing.map(|one| one["asked"].clone()).collect()
    }

    /// Cancels every booking, which frees its time.
    pub fn cancel_all(&self) {
        let state = &mut *self.state.lock();
        for booking in &mut state.bookings {
            booking["status"] = "cancelled".into();
            state
                .slots
                .push(booking["start"].as_str().unwrap_or_default().to_owned());
        }
    }
}

fn answered(asked: &ReceivedRequest, state: &mut State, authority: &Authority) -> Answer {
    let (path, method) = (asked.path.as_str(), asked.method.as_str());
    let (version, scope) = match (method, path) {
        (_, path) if path.starts_with(EVENT_TYPES_PATH) => ("2024-06-14", "EVENT_TYPE_READ"),
        (_, SLOTS_PATH) => ("2024-09-04", ""),
        ("GET", _) => ("2024-08-13", "BOOKING_READ"),
        _ => ("2024-08-13", ""),
    };
    // Other versions have other forms.
    if asked.header("cal-api-version") != Some(version) {
        return error(404, "NotFoundException");
    }
    if !scope.is_empty() && !authority.may(scope) {
        return error(403, "ForbiddenException");
    }
    match (method, path) {
        ("GET", EVENT_TYPES_PATH) => good(200, &json!([event_type(state)])),
        ("GET", SLOTS_PATH) => slots(asked, state),
        ("GET", BOOKINGS_PATH) => {
            let id = asked
                .parameter("eventTypeId")
                .and_then(|id| id.parse().ok());
            let after = at(&asked.parameter("afterStart").into());
            let is_asked =
                |one: &&Value| one["eventTypeId"].as_u64() == id && at(&one["start"]) > after;
            let found: Vec<_> = state.bookings.iter().filter(is_asked).collect();
            good(200, &json!(found))
        }
        ("POST", BOOKINGS_PATH) => book(asked.json(), state),
        ("GET", path) if path == format!("{EVENT_TYPES_PATH}/{EVENT_TYPE}") => {
            good(200, &event_type(state))
        }
        _ => error(404, "NotFoundException"),
    }
}

fn event_type(state: &State) -> Value {
    json!({
        "id": EVENT_TYPE,
        "title": "First visit",
        "lengthInMinutes": 30,
        "locations": [{"type": state.location}],
    })
}

fn slots(asked: &ReceivedRequest, state: &State) -> Answer {
    let of = |name: &str| Value::from(asked.parameter(name));
    if of("eventTypeId") != "42" {
        return error(404, "NotFoundException");
    }
    let asked = at(&of("start"))..at(&of("end"));
    let mut days = json!({});
    for slot in state.slots.iter().map(|slot| json!({"start": slot})) {
        if let Some(day) = slot["start"]
            .as_str()
            .filter(|_| asked.contains(&at(&slot["start"])))
        {
            let day = day[..10].to_owned();
            let mut slots = days[&day].as_array().cloned().unwrap_or_default();
            slots.push(slot);
            days[&day] = slots.into();
        }
    }
    good(200, &days)
}

fn book(asked: Value, state: &mut State) -> Answer {
    if asked["eventTypeId"] != EVENT_TYPE {
        return error(404, "NotFoundException");
    }
    let (attendee, start) = (&asked["attendee"], at(&asked["start"]));
    let is_whole = attendee["name"].is_string()
        && attendee["timeZone"].is_string()
        && (attendee["email"].is_string() || attendee["phoneNumber"].is_string())
        && asked["start"]
            .as_str()
            .is_some_and(|start| start.ends_with('Z'))
        && (state.location != "attendeePhone" || asked["location"]["phone"].is_string());
    let mut slots = state.slots.iter();
    let free = slots.position(|slot| at(&slot.as_str().into()) == start);
    let Some(free) = free.filter(|_| is_whole) else {
        return error(400, "BadRequestException");
    };
    state.slots.remove(free);
    let end = start.map(|start| (start + jiff::SignedDuration::from_mins(30)).to_string());
    let mut booking = json!({
        "uid": format!("uid{}", state.bookings.len() + 1),
        "status": "accepted",
        "start": asked["start"],
        "end": end,
        "eventTypeId": EVENT_TYPE,
        "metadata": asked["metadata"],
    });
    let answer = good(201, &booking);
    booking["asked"] = asked;
    state.bookings.push(booking);
    answer
}

fn at(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

fn good(status: u16, data: &Value) -> Answer {
    Answer::json(status, &json!({"status": "success", "data": data}))
}

fn error(status: u16, code: &str) -> Answer {
    let words = crate::upstream::UPSTREAM_WORDS;
    Answer::json(
        status,
        &json!({"status": "error", "error": {"code": code, "message": words}}),
    )
}
