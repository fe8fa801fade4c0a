//! Google Calendar, API v3: the primary calendar, as far as free times and appointments go.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::oauth::Authority;
use crate::upstream::{Answer, Asked, Upstream};

/// Where its interface is.
pub const API_PATH: &str = "/calendar/v3";

/// What it calls its events.
pub const EVENTS_PATH: &str = "/calendar/v3/calendars/primary/events";

/// Where it says what is taken.
pub const BUSY_PATH: &str = "/calendar/v3/freeBusy";

/// Its time zone.
pub const TIME_ZONE: &str = "America/Mexico_City";

/// A calendar that listens.
pub struct FakeCalendar {
    /// Where it listens, and how it misbehaves.
    pub upstream: Upstream,
    /// Who may come in.
    pub authority: Authority,
    events: Arc<Mutex<Vec<Value>>>,
}

impl FakeCalendar {
    /// An empty one.
    pub async fn start() -> Self {
        let authority = Authority::default();
        let events = Arc::<Mutex<Vec<Value>>>::default();
        let (doors, kept) = (authority.clone(), events.clone());
        let upstream = Upstream::start(move |asked| {
            let answer = doors.answer(asked);
            answer.unwrap_or_else(|| answered(asked, &doors, &kept))
        })
        .await;
        Self {
            upstream,
            authority,
            events,
        }
    }

    /// Every event that stands in it, as it was written.
    #[must_use]
    pub fn events(&self) -> Vec<Value> {
        locked(&self.events).clone()
    }

    /// Puts an event into it, from and to these instants (RFC 3339).
    pub fn put(&self, start: &str, end: &str) {
        let event = json!({"start": {"dateTime": start}, "end": {"dateTime": end}});
        locked(&self.events).push(event);
    }
}

fn answered(asked: &Asked, authority: &Authority, events: &Mutex<Vec<Value>>) -> Answer {
    if !authority.lets_in(asked) {
        let error = json!({"error": {"code": 401, "status": "UNAUTHENTICATED"}});
        return Answer::json(401, &error);
    }
    let mut events = locked(events);
    match (asked.method.as_str(), asked.path.as_str()) {
        ("GET", EVENTS_PATH) => {
            let page = json!({"kind": "calendar#events", "timeZone": TIME_ZONE, "items": []});
            Answer::json(200, &page)
        }
        ("POST", EVENTS_PATH) => {
            events.push(asked.json());
            let mut made = asked.json();
            made["id"] = format!("event{}", events.len()).into();
            made["status"] = "confirmed".into();
            Answer::json(200, &made)
        }
        ("POST", BUSY_PATH) => {
            let busy = events.iter().map(|event| {
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
        _ => Answer::json(404, &json!({"error": {"code": 404}})),
    }
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

fn locked(events: &Mutex<Vec<Value>>) -> MutexGuard<'_, Vec<Value>> {
    events.lock().unwrap_or_else(PoisonError::into_inner)
}
