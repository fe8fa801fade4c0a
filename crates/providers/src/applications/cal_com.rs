//! Cal.com (API v2): the account's event types, their free times, and bookings.
//!
//! Each endpoint has a version of its own; without its header Cal.com answers in an older form
//! (<https://cal.com/docs/api-reference/v2/bookings/create-a-booking>). Anybody may book any event type there, so
//! its id is looked up with the account's token first. A booking carries its conversation as metadata, by which a
//! repeated request finds it. Refresh tokens are good once; tokens cannot be revoked
//! (<https://cal.com/docs/api-reference/v2/oauth>).

use std::collections::BTreeMap;

use futures_util::FutureExt as _;
use jiff::civil::Date;
use jiff::{Timestamp as Moment, ToSpan as _, Zoned};
use offhook_domain::ConversationId;
use offhook_domain::tool::HttpMethod;
use serde::Deserialize;
use serde_json::{Value, json};

use super::api::{Api, Fault, Result, message, read};
use super::oauth::OAuth;
use super::slots::{BOOKED_BEFORE, MAX_SLOTS, moment, rfc3339, start_of, zone_of};
use super::{Definition, Function, cut};

const VERSION: &str = "cal-api-version";

const EVENT_TYPES: &str = "event_types";
const FREE_SLOTS: &str = "free_slots";
const BOOK: &str = "book";

const EVENT_TYPES_PATH: &str = "v2/event-types";
const SLOTS_PATH: &str = "v2/slots";
const BOOKINGS_PATH: &str = "v2/bookings";

pub(super) const DEFINITION: Definition = Definition {
    toolkit: "cal_com",
    name: "booking calendar",
    oauth: OAuth {
        authorize_url: "https://app.cal.com/auth/oauth2/authorize",
        token_url: "https://api.cal.com/v2/auth/oauth2/token",
        scopes: &["EVENT_TYPE_READ", "BOOKING_READ", "BOOKING_WRITE"],
        ..OAuth::STANDARD
    },
    api_url: "https://api.cal.com",
    functions: &[
        Function {
            name: EVENT_TYPES,
            description: "Lists the kinds of appointments that can be booked, each with its id and duration.",
            parameters: r#"{"type":"object","properties":{},"additionalProperties":false}"#,
            method: HttpMethod::Get,
            path: EVENT_TYPES_PATH,
        },
        Function {
            name: FREE_SLOTS,
            description: "Looks up when an event type can be booked. Use it before you offer a time.",
            parameters: FREE_SLOTS_SCHEMA,
            method: HttpMethod::Get,
            path: SLOTS_PATH,
        },
        Function {
            name: BOOK,
            description: "Books an event type for a customer. Use it once, after the customer has agreed to one of the \
                          free times.",
            parameters: BOOK_SCHEMA,
            method: HttpMethod::Post,
            path: BOOKINGS_PATH,
        },
    ],
    call: |api, call| {
        async move {
            match call.function {
                EVENT_TYPES => event_types(api).await,
                FREE_SLOTS => free_slots(api, read(call)?).await,
                BOOK => book(api, read(call)?, call.conversation, moment(call.now)).await,
                _ => Err(api.no_such_function()),
            }
        }
        .boxed()
    },
};

const FREE_SLOTS_SCHEMA: &str = r#"{"type":"object","properties":{
"event_type_id":{"type":"integer","minimum":1,"description":"The event type's id, as it was listed"},
"date":{"type":"string","pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}$","description":"The first day to look at, YYYY-MM-DD"},
"days":{"type":"integer","minimum":1,"maximum":14,"description":"How many days to look at; 1 if left out"},
"time_zone":{"type":"string","maxLength":64,"description":"The customer's, an IANA name such as America/Mexico_City"}},
"required":["event_type_id","date","time_zone"],"additionalProperties":false}"#;

const BOOK_SCHEMA: &str = r#"{"type":"object","properties":{
"event_type_id":{"type":"integer","minimum":1,"description":"The event type's id, as it was listed"},
"start":{"type":"string","maxLength":40,"description":"When it begins: one of the free times as it was told"},
"name":{"type":"string","minLength":1,"maxLength":200,"description":"The customer's name"},
"email":{"type":"string","maxLength":254,"pattern":"^[^@\\s]+@[^@\\s]+$","description":"The customer's e-mail address; this or the phone is needed"},
"phone":{"type":"string","pattern":"^\\+[1-9][0-9]{6,14}$","description":"The customer's phone number with + and country code"},
"notes":{"type":"string","maxLength":2000,"description":"What it is about"},
"time_zone":{"type":"string","maxLength":64,"description":"The customer's, an IANA name such as America/Mexico_City"}},
"required":["event_type_id","start","name","time_zone"],"additionalProperties":false}"#;

/// Event types in an answer at most.
const TYPES: usize = 30;

/// Characters of each title or id at most.
const TEXT: usize = 120;

#[derive(Deserialize)]
struct Free {
    event_type_id: u64,
    date: String,
    days: Option<i64>,
    time_zone: String,
}

#[derive(Deserialize)]
struct Wish {
    event_type_id: u64,
    start: String,
    name: String,
    email: Option<String>,
    phone: Option<String>,
    notes: Option<String>,
    time_zone: String,
}

#[derive(Deserialize)]
struct Answer<T> {
    data: T,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EventType {
    id: u64,
    title: String,
    length_in_minutes: u64,
    #[serde(default)]
    locations: Vec<Value>,
}

#[derive(Deserialize)]
struct Slot {
    start: String,
}

#[derive(Deserialize)]
struct Booking {
    uid: String,
    status: String,
    start: String,
    end: String,
    #[serde(default)]
    metadata: Value,
}

async fn event_types(api: Api<'_>) -> Result<String> {
    let api = api.with(VERSION, "2024-06-14");
    let found: Result<Answer<Vec<EventType>>, Fault> = api.get(EVENT_TYPES_PATH, &[]).await;
    let found = found.map_err(|fault| api.not_read(fault))?.data;
    let told = |event_type: &EventType| {
        json!({
            "event_type_id": event_type.id,
            "title": cut(&event_type.title, TEXT),
            "duration_minutes": event_type.length_in_minutes,
        })
    };
    let told: Vec<_> = found.iter().take(TYPES).map(told).collect();
    Ok(json!({"total": found.len(), "event_types": told}).to_string())
}

async fn free_slots(api: Api<'_>, free: Free) -> Result<String> {
    let zone = zone_of(&free.time_zone)?;
    let days = free.date.parse::<Date>().ok().and_then(|from| {
        let to = from.checked_add(free.days.unwrap_or(1).days()).ok()?;
        let midnight = |date: Date| {
            let midnight = zone.to_zoned(date.to_datetime(jiff::civil::Time::midnight()));
            Some(midnight.ok()?.timestamp().to_string())
        };
        Some((midnight(from)?, midnight(to)?))
    });
    let (from, to) = days.ok_or_else(|| message("There is no such `date`."))?;
    let id = free.event_type_id.to_string();
    let query = [
        ("eventTypeId", id.as_str()),
        ("start", &from),
        ("end", &to),
        ("timeZone", &free.time_zone),
    ];
    let api = api.with(VERSION, "2024-09-04");
    let found: Result<Answer<BTreeMap<String, Vec<Slot>>>, Fault> =
        api.get(SLOTS_PATH, &query).await;
    let found = found.map_err(|fault| api.not_read(fault))?.data;
    let all: Vec<&Slot> = found.values().flatten().collect();
    let slots = all.iter().take(MAX_SLOTS);
    let slots: Vec<_> = slots.map(|slot| cut(&slot.start, TEXT)).collect();
    let more = all.len() > MAX_SLOTS;
    Ok(json!({"time_zone": free.time_zone, "free_slots": slots, "more": more}).to_string())
}

async fn book(
    api: Api<'_>,
    wish: Wish,
    conversation: ConversationId,
    now: Moment,
) -> Result<String> {
    if wish.email.is_none() && wish.phone.is_none() {
        return Err(message(
            "Ask for the customer's `email` or `phone`: nothing was booked.",
        ));
    }
    let start = start_of(&wish.start, &zone_of(&wish.time_zone)?, now)?;
    let path = format!("{EVENT_TYPES_PATH}/{}", wish.event_type_id);
    let event_type: Result<Answer<EventType>, Fault> =
        api.with(VERSION, "2024-06-14").get(&path, &[]).await;
    let event_type = match event_type {
        Ok(found) => found.data,
        Err(Fault::Status(404, _)) => {
            return Err(message(
                "The account has no such event type: nothing was booked. List the event types.",
            ));
        }
        Err(fault) => return Err(api.not_read(fault)),
    };
    let api = api.with(VERSION, "2024-08-13");
    let standing = || ours(api, event_type.id, &start, conversation);
    let before = standing().await.map_err(|fault| api.not_read(fault))?;
    if let Some(booking) = before {
        let mut told = booked(&booking, &start, &wish.time_zone);
        told["note"] = BOOKED_BEFORE.into();
        return Ok(told.to_string());
    }
    let mut asked = json!({
        "eventTypeId": event_type.id,
        "start": start.timestamp().to_string(),
        "attendee": {"name": wish.name, "timeZone": wish.time_zone},
        "metadata": {"conversation": conversation.to_string()},
    });
    if let Some(email) = wish.email {
        asked["attendee"]["email"] = email.into();
    }
    if let Some(notes) = wish.notes {
        asked["bookingFieldsResponses"] = json!({"notes": notes});
    }
    if let Some(phone) = wish.phone {
        // Where the host calls the customer, the number is the place.
        let place = event_type.locations.first();
        if place.is_some_and(|place| place["type"] == "attendeePhone") {
            asked["location"] = json!({"type": "attendeePhone", "phone": phone});
        }
        asked["attendee"]["phoneNumber"] = phone.into();
    }
    let made: Result<Answer<Booking>, Fault> = api.post(BOOKINGS_PATH, &[], &asked).await;
    let booking = match made {
        Ok(made) => made.data,
        Err(Fault::Status(400 | 409, _)) => {
            return Err(message(
                "The booking calendar refused: the time may be taken, or it wants more about the customer, such as an \
                 e-mail address or a phone number; nothing was booked. Look for free times again and offer another one.",
            ));
        }
        Err(fault) => {
            let made = match fault.is_unclear() {
                true => standing().await.ok().flatten(),
                false => None,
            };
            made.ok_or_else(|| api.not_done("booked", &fault))?
        }
    };
    Ok(booked(&booking, &start, &wish.time_zone).to_string())
}

/// The booking that this conversation has made of an event type for a time.
async fn ours(
    api: Api<'_>,
    event_type: u64,
    start: &Zoned,
    conversation: ConversationId,
) -> Result<Option<Booking>, Fault> {
    let id = event_type.to_string();
    let after = start.timestamp() - 1.minute();
    let query = [
        ("eventTypeId", id.as_str()),
        ("afterStart", &after.to_string()),
        ("sortStart", "asc"),
        ("take", "20"),
    ];
    let found: Answer<Vec<Booking>> = api.get(BOOKINGS_PATH, &query).await?;
    let is_ours = |booking: &Booking| {
        booking.metadata["conversation"] == conversation.to_string()
            && booking.start.parse().ok() == Some(start.timestamp())
            && ["accepted", "pending"].contains(&booking.status.as_str())
    };
    Ok(found.data.into_iter().find(is_ours))
}

fn booked(booking: &Booking, start: &Zoned, time_zone: &str) -> Value {
    let end = booking.end.parse::<Moment>();
    json!({
        "booked": true,
        // Some event types wait for the host.
        "confirmed": booking.status == "accepted",
        "start": rfc3339(start),
        "end": end.ok().map(|end| rfc3339(&end.to_zoned(start.time_zone().clone()))),
        "time_zone": time_zone,
        "booking_id": cut(&booking.uid, TEXT),
    })
}
