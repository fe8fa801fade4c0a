//! WhatsApp's webhooks (Cloud API, field `messages`). Unknown members and kinds are ignored, and an unreadable item
//! does not block the others.

use offhook_domain::json::read_foreign;
use offhook_domain::ports::whatsapp::{MESSAGE_CHARS, Refusal};
use offhook_domain::{E164, SentStatus, Timestamp, WhatsAppMessageId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// Bytes of a WhatsApp id.
const ID_BYTES: usize = 512;

/// Bytes of the name of a message's kind.
const KIND_BYTES: usize = 32;

#[derive(Default)]
pub(crate) struct Webhook {
    pub(crate) messages: Vec<ToldMessage>,
    pub(crate) statuses: Vec<ToldStatus>,
    /// How many items could not be read.
    pub(crate) unread: usize,
}

/// A message from a customer.
pub(crate) struct ToldMessage {
    pub(crate) phone_number_id: String,
    pub(crate) wamid: String,
    pub(crate) from: E164,
    pub(crate) sent_at: Option<Timestamp>,
    pub(crate) kind: String,
    pub(crate) text: Option<String>,
}

/// A status change of a sent message.
pub(crate) struct ToldStatus {
    pub(crate) wamid: String,
    pub(crate) reference: Option<WhatsAppMessageId>,
    pub(crate) status: SentStatus,
    pub(crate) failure: Option<Refusal>,
}

#[derive(Deserialize)]
struct Notice {
    #[serde(default, deserialize_with = "list")]
    entry: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default, deserialize_with = "list")]
    changes: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Change {
    #[serde(default)]
    field: Value,
    value: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct ChangeValue {
    metadata: Metadata,
    #[serde(default, deserialize_with = "list")]
    messages: Vec<Box<RawValue>>,
    #[serde(default, deserialize_with = "list")]
    statuses: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Metadata {
    phone_number_id: String,
}

#[derive(Deserialize)]
struct Message {
    id: String,
    from: String,
    #[serde(default)]
    timestamp: Value,
    #[serde(rename = "type")]
    kind: String,
    text: Option<Box<RawValue>>,
    button: Option<Box<RawValue>>,
    interactive: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Status {
    id: String,
    status: String,
    #[serde(default)]
    biz_opaque_callback_data: Value,
    #[serde(default)]
    errors: Value,
}

/// A list of unparsed items; anything but a list counts as empty.
fn list<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Box<RawValue>>, D::Error> {
    let list = Box::<RawValue>::deserialize(from)?;
    Ok(part(Some(&list)).unwrap_or_default())
}

fn part<T: DeserializeOwned>(raw: Option<&RawValue>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}

/// Parses a webhook's body; `None` if it does not have the documented form at all.
pub(crate) fn read(body: &[u8]) -> Option<Webhook> {
    let notice: Notice = read_foreign(body).ok()?;
    let mut webhook = Webhook::default();
    let mut changes = Vec::new();
    for entry in notice.entry {
        match part(Some(&entry)) {
            Some(Entry { changes: more }) => changes.extend(more),
            None => webhook.unread += 1,
        }
    }
    for change in changes {
        let change: Option<Change> = part(Some(&change));
        // Other fields are about templates, the account and so on.
        let is_other = |change: &Change| change.field != "messages";
        if change.as_ref().is_some_and(is_other) {
            continue;
        }
        let value = change.and_then(|change| part::<ChangeValue>(change.value.as_deref()));
        let Some(value) = value else {
            webhook.unread += 1;
            continue;
        };
        let number = &value.metadata.phone_number_id;
        for item in value.messages {
            match message(&item, number) {
                Some(message) => webhook.messages.push(message),
                None => webhook.unread += 1,
            }
        }
        for item in value.statuses {
            match part(Some(&item)).and_then(status) {
                Some(Some(status)) => webhook.statuses.push(status),
                // A status of no interest here.
                Some(None) => {}
                None => webhook.unread += 1,
            }
        }
    }
    Some(webhook)
}

fn message(item: &RawValue, phone_number_id: &str) -> Option<ToldMessage> {
    let message: Message = part(Some(item))?;
    let is_id = (1..=ID_BYTES).contains(&message.id.len());
    let is_kind = (1..=KIND_BYTES).contains(&message.kind.len());
    if !is_id || !is_kind || phone_number_id.len() > ID_BYTES {
        return None;
    }
    let from = message.from.strip_prefix('+').unwrap_or(&message.from);
    let (place, within): (_, &[&str]) = match message.kind.as_str() {
        "text" => (message.text, &["/body"]),
        // A customer's choice has the text of its button or list row.
        "button" => (message.button, &["/text"]),
        "interactive" => (
            message.interactive,
            &["/button_reply/title", "/list_reply/title"],
        ),
        _ => (None, &[]),
    };
    let place: Value = part(place.as_deref()).unwrap_or_default();
    let text = within.iter().find_map(|path| place.pointer(path));
    let text = text.and_then(Value::as_str).map(str::to_owned);
    let plain = |text: String| -> String {
        // No database holds U+0000.
        let kept = text.chars().filter(|character| *character != '\0');
        kept.take(MESSAGE_CHARS).collect()
    };
    Some(ToldMessage {
        phone_number_id: phone_number_id.to_owned(),
        wamid: plain(message.id),
        from: format!("+{from}").parse().ok()?,
        sent_at: instant(&message.timestamp),
        kind: plain(message.kind),
        text: text.map(plain).filter(|text| !text.trim().is_empty()),
    })
}

/// Unix seconds, in a string.
fn instant(value: &Value) -> Option<Timestamp> {
    let seconds = match value {
        Value::String(text) => text.parse().ok()?,
        Value::Number(number) => number.as_i64()?,
        _ => return None,
    };
    let micros = i64::checked_mul(seconds, 1_000_000)?;
    (seconds > 0).then(|| Timestamp::from_micros(micros))
}

/// `None` if it cannot be read, `Some(None)` for a status of no interest here.
fn status(status: Status) -> Option<Option<ToldStatus>> {
    if !(1..=ID_BYTES).contains(&status.id.len()) || status.id.contains('\0') {
        return None;
    }
    let word = match status.status.as_str() {
        "sent" => SentStatus::Sent,
        "delivered" => SentStatus::Delivered,
        "read" | "played" => SentStatus::Read,
        "failed" => SentStatus::Failed,
        _ => return Some(None),
    };
    let failure = (word == SentStatus::Failed).then(|| {
        let code = status.errors.pointer("/0/code").and_then(Value::as_i64);
        code.map_or(Refusal::Unexplained, Refusal::of_code)
    });
    let reference = status.biz_opaque_callback_data.as_str();
    Some(Some(ToldStatus {
        wamid: status.id,
        reference: reference.and_then(|reference| reference.parse().ok()),
        status: word,
        failure,
    }))
}
