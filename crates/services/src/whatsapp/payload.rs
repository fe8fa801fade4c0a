//! What WhatsApp's webhooks tell (Cloud API, field `messages`). Unknown members and kinds are left alone, and one that cannot
//! be read keeps nothing from the others.

use offhook_domain::{E164, SentStatus, Timestamp, WhatsAppMessageId};
use offhook_engine::whatsapp::{MESSAGE_CHARS, Refusal};
use serde::Deserialize;
use serde_json::Value;

/// Bytes that an id of WhatsApp's may have.
const ID_BYTES: usize = 512;

/// Bytes that the name of a message's kind may have.
const KIND_BYTES: usize = 32;

/// What is told.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) messages: Vec<ToldMessage>,
    pub(crate) statuses: Vec<ToldStatus>,
    /// What could not be read.
    pub(crate) unread: usize,
}

/// A customer sent something.
pub(crate) struct ToldMessage {
    pub(crate) phone_number_id: String,
    pub(crate) wamid: String,
    pub(crate) from: E164,
    pub(crate) sent_at: Option<Timestamp>,
    pub(crate) kind: String,
    pub(crate) text: Option<String>,
}

/// Something became of a message that was sent.
pub(crate) struct ToldStatus {
    pub(crate) wamid: String,
    pub(crate) reference: Option<WhatsAppMessageId>,
    pub(crate) status: SentStatus,
    pub(crate) failure: Option<Refusal>,
}

#[derive(Deserialize)]
struct Notice {
    #[serde(default)]
    entry: Vec<Value>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    changes: Vec<Value>,
}

#[derive(Deserialize)]
struct Change {
    value: ChangeValue,
}

#[derive(Deserialize)]
struct ChangeValue {
    metadata: Metadata,
    #[serde(default)]
    messages: Vec<Value>,
    #[serde(default)]
    statuses: Vec<Value>,
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
    text: Option<Text>,
    button: Option<Button>,
    interactive: Option<Interactive>,
}

#[derive(Deserialize)]
struct Text {
    body: String,
}

#[derive(Deserialize)]
struct Button {
    text: String,
}

#[derive(Deserialize)]
struct Interactive {
    button_reply: Option<Choice>,
    list_reply: Option<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    title: String,
}

#[derive(Deserialize)]
struct Status {
    id: String,
    status: String,
    biz_opaque_callback_data: Option<String>,
    #[serde(default)]
    errors: Value,
}

/// Reads a webhook's body; `None` if it is not of the documented form at all.
pub(crate) fn read(body: &[u8]) -> Option<Told> {
    let notice: Notice = serde_json::from_slice(body).ok()?;
    let mut told = Told::default();
    let mut changes = Vec::new();
    for entry in notice.entry {
        match serde_json::from_value(entry) {
            Ok(Entry { changes: more }) => changes.extend(more),
            Err(_) => told.unread += 1,
        }
    }
    for change in changes {
        // Other fields tell of templates, of the account and the like.
        if change.get("field").and_then(Value::as_str) != Some("messages") {
            continue;
        }
        let Ok(Change { value, .. }) = serde_json::from_value(change) else {
            told.unread += 1;
            continue;
        };
        let number = &value.metadata.phone_number_id;
        for item in value.messages {
            match message(item, number) {
                Some(message) => told.messages.push(message),
                None => told.unread += 1,
            }
        }
        for item in value.statuses {
            match serde_json::from_value(item).ok().and_then(status) {
                Some(Some(status)) => told.statuses.push(status),
                // One of no interest here.
                Some(None) => {}
                None => told.unread += 1,
            }
        }
    }
    Some(told)
}

fn message(item: Value, phone_number_id: &str) -> Option<ToldMessage> {
    let message: Message = serde_json::from_value(item).ok()?;
    let is_id = (1..=ID_BYTES).contains(&message.id.len());
    let is_kind = (1..=KIND_BYTES).contains(&message.kind.len());
    if !is_id || !is_kind || phone_number_id.len() > ID_BYTES {
        return None;
    }
    let from = message.from.strip_prefix('+').unwrap_or(&message.from);
    let text = match message.kind.as_str() {
        "text" => message.text.map(|text| text.body),
        // What a customer picked says what its button or line says.
        "button" => message.button.map(|button| button.text),
        "interactive" => message
            .interactive
            .and_then(|picked| picked.button_reply.or(picked.list_reply))
            .map(|choice| choice.title),
        _ => None,
    };
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

/// `None` if it cannot be read, `Some(None)` for a status that says nothing here.
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
    let reference = status.biz_opaque_callback_data;
    Some(Some(ToldStatus {
        wamid: status.id,
        reference: reference.and_then(|reference| reference.parse().ok()),
        status: word,
        failure,
    }))
}
