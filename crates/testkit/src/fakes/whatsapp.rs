//! WhatsApp's Cloud API: it accepts messages, and its webhooks carry customers' messages and delivery statuses.

use std::sync::Arc;

use parking_lot::Mutex;
use ring::hmac;
use serde_json::{Value, json};

use crate::upstream::{Answer, ReceivedRequest, Upstream};

/// The access token of its API.
pub const ACCESS_TOKEN: &str = "EAAB-access";

/// The secret that signs webhooks.
pub const APP_SECRET: &str = "app-s3cret";

/// The token that verifies the webhook's address.
pub const VERIFY_TOKEN: &str = "v3rify";

/// WhatsApp's id of the business's number.
pub const PHONE_NUMBER_ID: &str = "106540352242922";

/// An accepted message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenText {
    /// The id that WhatsApp assigned.
    pub wamid: String,
    /// The recipient.
    pub to: String,
    /// The text.
    pub text: String,
    /// `biz_opaque_callback_data`.
    pub reference: String,
}

/// A running fake.
pub struct FakeWhatsApp {
    upstream: Upstream,
    taken: Arc<Mutex<Vec<TakenText>>>,
}

impl FakeWhatsApp {
    /// Starts without messages.
    pub async fn start() -> Self {
        let taken = Arc::<Mutex<Vec<TakenText>>>::default();
        let state = taken.clone();
        let upstream = Upstream::start(move |asked| take(asked, &state)).await;
        Self { upstream, taken }
    }

    /// Its HTTP server, for faults.
    pub const fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    /// Every accepted message, oldest first.
    #[must_use]
    pub fn taken(&self) -> Vec<TakenText> {
        self.taken.lock().clone()
    }
}

/// An error in the Graph API's format.
fn fault(status: u16, code: i64) -> Answer {
    let error = json!({
        "message": format!("(#{code}) told by the fake"), "type": "OAuthException", "code": code,
        "error_data": {"messaging_product": "whatsapp", "details": "told by the fake"}, "fbtrace_id": "Az8",
    });
    Answer::json(status, &json!({ "error": error }))
}

fn take(asked: &ReceivedRequest, taken: &Mutex<Vec<TakenText>>) -> Answer {
    let path = format!("/v24.0/{PHONE_NUMBER_ID}/messages");
    if asked.method != "POST" || asked.path != path {
        return fault(400, 100);
    }
    if asked.header("authorization") != Some(&format!("Bearer {ACCESS_TOKEN}")) {
        return fault(401, 190);
    }
    let body = asked.json();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let words = text(&body["text"]["body"]);
    let is_good = body["messaging_product"] == "whatsapp"
        && body["type"] == "text"
        && (1..=4_096).contains(&words.encode_utf16().count());
    if !is_good {
        return fault(400, 100);
    }
    let mut taken = taken.lock();
    let wamid = format!("wamid.HBgLOUT{:04}", taken.len() + 1);
    let to = text(&body["to"]);
    taken.push(TakenText {
        wamid: wamid.clone(),
        to: to.clone(),
        text: words,
        reference: text(&body["biz_opaque_callback_data"]),
    });
    Answer::json(
        200,
        &json!({
            "messaging_product": "whatsapp",
            "contacts": [{"input": to, "wa_id": to.trim_start_matches('+')}],
            "messages": [{"id": wamid}],
        }),
    )
}

/// The secret that an account stores for WhatsApp, with `number` as its number.
pub fn credential(number: &str) -> String {
    json!({
        "access_token": ACCESS_TOKEN, "app_secret": APP_SECRET, "verify_token": VERIFY_TOKEN,
        "phone_numbers": {PHONE_NUMBER_ID: number},
    })
    .to_string()
}

/// A customer's text, as an item of `messages`; `at` in Unix seconds.
pub fn text(wamid: &str, from: &str, at: i64, words: &str) -> Value {
    json!({
        "from": from, "id": wamid, "timestamp": at.to_string(), "type": "text", "text": {"body": words},
    })
}

/// A customer's message of another kind, with its content.
pub fn of_kind(wamid: &str, from: &str, at: i64, kind: &str, content: Value) -> Value {
    json!({"from": from, "id": wamid, "timestamp": at.to_string(), "type": kind, kind: content})
}

/// An item of `statuses`.
pub fn status(wamid: &str, status: &str, reference: Option<&str>) -> Value {
    let mut told = json!({
        "id": wamid, "status": status, "timestamp": "1777573940", "recipient_id": "5215512345678",
        "pricing": {"billable": false, "pricing_model": "PMP", "category": "service"},
    });
    if let Some(reference) = reference {
        told["biz_opaque_callback_data"] = json!(reference);
    }
    told
}

/// An item of `statuses` for a failure with this code.
pub fn failure(wamid: &str, code: i64) -> Value {
    let mut told = status(wamid, "failed", None);
    told["errors"] =
        json!([{"code": code, "title": "told by the fake", "message": "told by the fake"}]);
    told
}

/// The body of a webhook with these items, for the number with this id.
pub fn webhook(phone_number_id: &str, messages: &[Value], statuses: &[Value]) -> Vec<u8> {
    let mut value = json!({
        "messaging_product": "whatsapp",
        "metadata": {"display_phone_number": "15005550100", "phone_number_id": phone_number_id},
    });
    if !messages.is_empty() {
        value["contacts"] = json!([{"profile": {"name": "Ana"}, "wa_id": "5215512345678"}]);
        value["messages"] = json!(messages);
    }
    if !statuses.is_empty() {
        value["statuses"] = json!(statuses);
    }
    json!({
        "object": "whatsapp_business_account",
        "entry": [{"id": "102290129340398", "changes": [{"field": "messages", "value": value}]}],
    })
    .to_string()
    .into_bytes()
}

/// `X-Hub-Signature-256` of a body, for the app with this secret.
pub fn signature(secret: &str, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    format!("sha256={}", hex::encode(hmac::sign(&key, body)))
}
