//! Google Calendar (API v3): the primary calendar of the member who connected it.

use futures_util::FutureExt as _;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp as Moment, Zoned};
use offhook_domain::ConversationId;
use offhook_domain::tool::HttpMethod;
use serde::Deserialize;
use serde_json::{Value, json};

use super::api::{Api, Fault, Result, message, read};
use super::oauth::OAuth;
use super::slots::{BOOKED_BEFORE, SlotSearch, moment, rfc3339, start_of, zone_of};
use super::{Definition, Function};

/// Google issues a refresh token only for an authorization with these parameters.
pub(super) const GOOGLE: OAuth = OAuth {
    authorize_url: "https://accounts.google.com/o/oauth2/v2/auth",
    token_url: "https://oauth2.googleapis.com/token",
    revoke_url: Some("https://oauth2.googleapis.com/revoke"),
    extras: &[("access_type", "offline"), ("prompt", "consent")],
    ..OAuth::STANDARD
};

pub(super) const DEFINITION: Definition = Definition {
    toolkit: "google_calendar",
    name: "calendar",
    oauth: OAuth {
        // Read and write events, and read busy times.
        scopes: &[
            "https://www.googleapis.com/auth/calendar.events",
            "https://www.googleapis.com/auth/calendar.freebusy",
        ],
        ..GOOGLE
    },
    api_url: "https://www.googleapis.com/calendar/v3",
    functions: &[
        Function {
            name: FREE_SLOTS,
            description: "Looks up which times are free in the calendar. Use it before you offer a time.",
            parameters: FREE_SLOTS_SCHEMA,
            method: HttpMethod::Post,
            path: BUSY_PATH,
        },
        Function {
            name: BOOK,
            description: "Books an appointment in the calendar. Use it once, after the customer has agreed to one of \
                          the free times.",
            parameters: BOOK_SCHEMA,
            method: HttpMethod::Post,
            path: EVENTS_PATH,
        },
    ],
    call: |api, call| {
        async move {
            let now = moment(call.now);
            match call.function {
                FREE_SLOTS => free_slots(api, read(call)?, now).await,
                BOOK => book(api, read(call)?, call.conversation, now).await,
                _ => Err(api.no_such_function()),
            }
        }
        .boxed()
    },
};

const FREE_SLOTS: &str = "free_slots";
const BOOK: &str = "book";

const BUSY_PATH: &str = "freeBusy";
const EVENTS_PATH: &str = "calendars/primary/events";

const DAY_BEGINS: Time = Time::constant(9, 0, 0, 0);
const DAY_ENDS: Time = Time::constant(18, 0, 0, 0);
const MINUTES: i64 = 30;

const FREE_SLOTS_SCHEMA: &str = r#"{"type":"object","properties":{
"date":{"type":"string","pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}$","description":"The first day to look at, YYYY-MM-DD"},
"days":{"type":"integer","minimum":1,"maximum":14,"description":"How many days to look at; 1 if left out"},
"duration_minutes":{"type":"integer","minimum":5,"maximum":480,"description":"How long the appointment takes; 30 if left out"},
"from_time":{"type":"string","pattern":"^[0-9]{2}:[0-9]{2}$","description":"Not before this time of day, HH:MM; 09:00 if left out"},
"to_time":{"type":"string","pattern":"^[0-9]{2}:[0-9]{2}$","description":"To end by this time of day, HH:MM; 18:00 if left out"},
"time_zone":{"type":"string","maxLength":64,"description":"IANA name, such as America/Mexico_City; the calendar's own if left out"}},
"required":["date"],"additionalProperties":false}"#;

const BOOK_SCHEMA: &str = r#"{"type":"object","properties":{
"start":{"type":"string","maxLength":40,"description":"When it begins: one of the free times as it was told, or YYYY-MM-DDTHH:MM in the time zone"},
"duration_minutes":{"type":"integer","minimum":5,"maximum":480,"description":"How long it takes; 30 if left out"},
"title":{"type":"string","minLength":1,"maxLength":200,"description":"What stands in the calendar, such as the customer's name and what it is about"},
"description":{"type":"string","maxLength":2000,"description":"More about it"},
"attendee_email":{"type":"string","maxLength":254,"pattern":"^[^@\\s]+@[^@\\s]+$","description":"Who is invited by e-mail, if the customer wants that"},
"time_zone":{"type":"string","maxLength":64,"description":"IANA name, such as America/Mexico_City; the calendar's own if left out"}},
"required":["start","title"],"additionalProperties":false}"#;

#[derive(Deserialize)]
struct Free {
    date: String,
    days: Option<i64>,
    duration_minutes: Option<i64>,
    from_time: Option<String>,
    to_time: Option<String>,
    time_zone: Option<String>,
}

#[derive(Deserialize)]
struct Booking {
    start: String,
    duration_minutes: Option<i64>,
    title: String,
    description: Option<String>,
    attendee_email: Option<String>,
    time_zone: Option<String>,
}

/// The answer of `GET calendars/primary/events`.
#[derive(Deserialize)]
struct Events {
    #[serde(rename = "timeZone")]
    time_zone: String,
}

/// The answer of `POST freeBusy`.
#[derive(Deserialize)]
struct FreeBusy {
    calendars: Calendars,
}

#[derive(Deserialize)]
struct Calendars {
    primary: Calendar,
}

#[derive(Deserialize)]
struct Calendar {
    #[serde(default)]
    errors: Vec<Value>,
    busy: Vec<Period>,
}

#[derive(Deserialize)]
struct Period {
    start: String,
    end: String,
}

/// The answer of `POST calendars/primary/events`, and of `GET calendars/primary/events/{id}`.
#[derive(Deserialize)]
struct Event {
    id: String,
    status: String,
}

/// The requested time zone, or the calendar's own, with its name.
async fn zone(api: Api<'_>, asked: Option<String>) -> Result<(TimeZone, String)> {
    if let Some(name) = asked {
        return Ok((zone_of(&name)?, name));
    }
    let query = [("maxResults", "1"), ("fields", "timeZone")];
    let events: Events = api
        .get(EVENTS_PATH, &query)
        .await
        .map_err(|fault| api.not_read(fault))?;
    let zone = TimeZone::get(&events.time_zone);
    let zone = zone.map_err(|_| api.not_read(Fault::Malformed))?;
    Ok((zone, events.time_zone))
}

async fn busy(api: Api<'_>, from: Moment, to: Moment) -> Result<Vec<(Moment, Moment)>> {
    let asked = json!({
        "timeMin": from.to_string(),
        "timeMax": to.to_string(),
        "items": [{"id": "primary"}],
    });
    let found: Result<FreeBusy, Fault> = api.post(BUSY_PATH, &[], &asked).await;
    let found = found.map_err(|fault| api.not_read(fault))?;
    let calendar = found.calendars.primary;
    if !calendar.errors.is_empty() {
        return Err(message(
            "The calendar does not say what is taken: say that it cannot be looked up now.",
        ));
    }
    let moments = |period: &Period| {
        let (start, end) = (period.start.parse().ok()?, period.end.parse().ok()?);
        Some((start, end))
    };
    let busy: Option<Vec<_>> = calendar.busy.iter().map(moments).collect();
    busy.ok_or_else(|| api.not_read(Fault::Malformed))
}

async fn free_slots(api: Api<'_>, free: Free, now: Moment) -> Result<String> {
    let date: Date = free
        .date
        .parse()
        .map_err(|_| message("There is no such `date`."))?;
    let time = |text: Option<String>, usual: Time| match text {
        None => Ok(usual),
        Some(text) => text
            .parse()
            .map_err(|_| message("There is no such time of day.")),
    };
    let minutes = free.duration_minutes.unwrap_or(MINUTES);
    let search = SlotSearch {
        date,
        days: free.days.unwrap_or(1),
        from: time(free.from_time, DAY_BEGINS)?,
        to: time(free.to_time, DAY_ENDS)?,
        length: SignedDuration::from_mins(minutes),
    };
    let (zone, name) = zone(api, free.time_zone).await?;
    let windows = search.windows(&zone);
    let Some(((from, _), (_, to))) = windows.first().zip(windows.last()) else {
        return Err(message(
            "`to_time` must be later in the day than `from_time`.",
        ));
    };
    let busy = busy(api, from.timestamp(), to.timestamp()).await?;
    let (free, more) = search.free(&windows, &busy, now);
    let slots: Vec<String> = free.iter().map(rfc3339).collect();
    let answer = json!({
        "time_zone": name,
        "duration_minutes": minutes,
        "free_slots": slots,
        "more": more,
    });
    Ok(answer.to_string())
}

async fn book(
    api: Api<'_>,
    booking: Booking,
    conversation: ConversationId,
    now: Moment,
) -> Result<String> {
    let (zone, name) = zone(api, booking.time_zone).await?;
    let start = start_of(&booking.start, &zone, now)?;
    let minutes = booking.duration_minutes.unwrap_or(MINUTES);
    let end = start
        .checked_add(SignedDuration::from_mins(minutes))
        .map_err(|_| message("`start` is too far away: nothing was booked."))?;
    let id = event_id(conversation, &start, minutes);
    let mut booked = json!({
        "booked": true,
        "start": rfc3339(&start),
        "end": rfc3339(&end),
        "time_zone": name,
        "event_id": id,
    });
    let busy = busy(api, start.timestamp(), end.timestamp()).await?;
    if !busy.is_empty() {
        // Perhaps this conversation made the booking, and its answer was lost.
        return match stands(api, &id).await {
            Some(true) => {
                booked["note"] = BOOKED_BEFORE.into();
                Ok(booked.to_string())
            }
            Some(false) => Err(message(
                "That time is taken: nothing was booked. Look for free times again and offer another one.",
            )),
            // An earlier request may have had an effect.
            None => Err(api.not_done("booked", &Fault::NoAnswer)),
        };
    }
    let mut event = json!({
        "id": id,
        "summary": booking.title,
        "start": {"dateTime": rfc3339(&start), "timeZone": name},
        "end": {"dateTime": rfc3339(&end), "timeZone": name},
    });
    if let Some(description) = booking.description {
        event["description"] = description.into();
    }
    let mut query = Vec::new();
    if let Some(email) = booking.attendee_email {
        event["attendees"] = json!([{"email": email}]);
        query.push(("sendUpdates", "all"));
    }
    let made: Result<Event, Fault> = api.post(EVENTS_PATH, &query, &event).await;
    if let Err(fault) = made {
        settle(api, &id, &fault).await?;
    }
    Ok(booked.to_string())
}

/// Finds out whether an event exists although the calendar did not confirm it.
async fn settle(api: Api<'_>, id: &str, fault: &Fault) -> Result<()> {
    let is_known = matches!(fault, Fault::Status(409, _));
    if !is_known && !fault.is_unclear() {
        return Err(api.not_done("booked", fault));
    }
    match stands(api, id).await {
        Some(true) => Ok(()),
        // The id of a deleted event stays reserved.
        Some(false) if is_known => Err(message(
            "What was booked for that time in this conversation has been cancelled since: nothing was booked. Offer \
             another time.",
        )),
        None if is_known => Err(api.not_done("booked", &Fault::NoAnswer)),
        _ => Err(api.not_done("booked", fault)),
    }
}

/// Whether an event exists in the calendar; `None` if unknown.
async fn stands(api: Api<'_>, id: &str) -> Option<bool> {
    let path = format!("{EVENTS_PATH}/{id}");
    let query = [("fields", "id,status")];
    match api.get::<Event>(&path, &query).await {
        Ok(event) => Some(event.id == id && event.status != "cancelled"),
        Err(Fault::Status(404 | 410, _)) => Some(false),
        Err(_) => None,
    }
}

/// The id of the event that a conversation books for a time. It is deterministic, so that repeated requests book once.
/// Google's ids consist of 0–9 and a–v (base32hex).
fn event_id(conversation: ConversationId, start: &Zoned, minutes: i64) -> String {
    let conversation = conversation.uuid().simple();
    format!("{conversation}t{}m{minutes}", start.timestamp().as_second())
}
