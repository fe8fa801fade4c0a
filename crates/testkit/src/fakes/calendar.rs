//! Google Calendar, API v3: free times and appointments of the primary calendar.

use serde_json::{Value, json};

use super::oauth::{Authority, Fake};
use crate::upstream::{Answer, ReceivedRequest};

/// The path of its API.
pub const API_PATH: &str = "/calendar/v3";

/// The path of its events.
pub const EVENTS_PATH: &str = "/calendar/v3/calendars/primary/events";

/// The path of its busy times.
pub const BUSY_PATH: &str = "/calendar/v3/freeBusy";

pub const TIME_ZONE: &str = "America/Mexico_City";

#[derive(Default)]
pub struct State {
    /// With their `id` and `status`. A deleted event stays, as `cancelled`.
    events: Vec<Value>,
    forgets: bool,
}

/// A running fake calendar.
pub type FakeCalendar = Fake<State>;

impl FakeCalendar {
    /// An empty calendar.
    pub async fn start() -> Self {
        let stranger = json!({"error": {"code": 401, "status": "UNAUTHENTICATED"}});
        let stranger = Answer::json(401, &stranger);
        let state = State::default();
        Authority::default().guard(state, stranger, answered).await
    }

    /// Every event that is not cancelled, as it was written.
    pub fn events(&self) -> Vec<Value> {
        let mut events = self.state.lock().events.clone();
        events.retain(is_standing);
        for event in &mut events {
            event
                .as_object_mut()
                .and_then(|members| members.remove("status"));
        }
        events
    }

    /// Adds an event between these instants (RFC 3339).
    pub fn put(&self, start: &str, end: &str) {
        let event = json!({"start": {"dateTime": start}, "end": {"dateTime": end}});
        keep(&mut self.state.lock().events, event);
    }

    /// Cancels every event; their ids stay known.
    pub fn cancel_all(&self) {
        for event in &mut self.state.lock().events {
            event["status"] = "cancelled".into();
        }
    }

    /// From now on accepts events without storing them, or stores them again.
    pub fn forget(&self, forgets: bool) {
        self.state.lock().forgets = forgets;
    }
}

fn answered(asked: &ReceivedRequest, state: &mut State, _: &Authority) -> Answer {
    let absent = Answer::json(404, &json!({"error": {"code": 404}}));
    let id = asked.path.strip_prefix(EVENTS_PATH);
    let id = id.and_then(|rest| rest.strip_prefix('/'));
    match (asked.method.as_str(), asked.path.as_str(), id) {
        ("GET", EVENTS_PATH, _) => {
            let page = json!({"kind": "calendar#events", "timeZone": TIME_ZONE, "items": []});
            Answer::json(200, &page)
        }
        ("GET", _, Some(id)) => {
            let found = state.events.iter().find(|event| event["id"] == id);
            found.map_or(absent, |event| Answer::json(200, event))
        }
        ("POST", EVENTS_PATH, _) => insert(asked.json(), state),
        ("POST", BUSY_PATH, _) => {
            let standing = state.events.iter().filter(|event| is_standing(event));
            let busy = standing.map(|event| {
                json!({"start": event["start"]["dateTime"], "end": event["end"]["dateTime"]})
            });
            let query = asked.json();
            let calendar =
                json!({"busy": busy.filter(|busy| overlaps(busy, &query)).collect::<Vec<_>>()});
            let answer = json!({
                "kind": "calendar#freeBusy",
                "timeMin": query["timeMin"],
                "timeMax": query["timeMax"],
                "calendars": {"primary": calendar},
            });
            Answer::json(200, &answer)
        }
        _ => absent,
    }
}

fn insert(event: Value, state: &mut State) -> Answer {
    if let Some(id) = event["id"].as_str() {
        let is_plain = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'v');
        if !(5..=1_024).contains(&id.len()) || !id.bytes().all(is_plain) {
            return Answer::json(400, &json!({"error": {"code": 400}}));
        }
        if state.events.iter().any(|known| known["id"] == id) {
            return Answer::json(409, &json!({"error": {"code": 409}}));
        }
    }
    match state.forgets {
        true => Answer::json(200, &keep(&mut Vec::new(), event)),
        false => Answer::json(200, &keep(&mut state.events, event)),
    }
}

/// Stores the event and returns it as stored.
fn keep(events: &mut Vec<Value>, mut event: Value) -> Value {
    if event["id"].is_null() {
        event["id"] = format!("event{}", events.len() + 1).into();
    }
    event["status"] = "confirmed".into();
    events.push(event.clone());
    event
}

fn is_standing(event: &Value) -> bool {
    event["status"] != "cancelled"
}

fn overlaps(busy: &Value, query: &Value) -> bool {
    let at = |value: &Value| {
        value
            .as_str()
            .unwrap_or_default()
            .parse::<jiff::Timestamp>()
    };
    match (
        at(&busy["start"]),
        at(&busy["end"]),
        at(&query["timeMin"]),
        at(&query["timeMax"]),
    ) {
        (Ok(start), Ok(end), Ok(from), Ok(to)) => start < to && from < end,
        _ => false,
    }
}
