//! The events that webhook endpoints receive, and how to verify their signature.

use maud::{Markup, html};
use ring::hmac;
use serde_json::{Map, Value};

use super::fields;
use super::markup::{Section, list, prose};

/// How events are sent, how to verify their signature, and each event.
pub(super) fn sections(document: &Value) -> Vec<Section> {
    let events = document["webhooks"].as_object();
    let mut sections = vec![
        Section::new("events", "Webhook events", sending(events)),
        Section::new("signature", "Verify a signature", verification(document)),
    ];
    for (kind, event) in events.into_iter().flatten() {
        let content = &event["post"]["requestBody"]["content"]["application/json"];
        let text = html! {
            pre tabindex="0" { code { (format!("{:#}", content["example"])) } }
            (list(&fields::of(document, &content["schema"]), false))
        };
        sections.push(Section::new(&format!("event-{kind}"), kind, text));
    }
    sections
}

fn sending(events: Option<&Map<String, Value>>) -> Markup {
    let headers = events.and_then(|events| events.values().next());
    let headers = headers.and_then(|event| event["post"]["parameters"].as_array());
    html! {
        p { "Each event is sent by POST to every enabled endpoint of the account (" a href="#createWebhook" { code { "POST /v1/webhooks" } } "). Any 2xx within 10 seconds is success. Otherwise it is sent again 5 minutes, 30 minutes and 2 hours after the end of the attempt before; after the fourth the delivery is " code { "exhausted" } ". An event can come more than once: drop duplicates by " code { "X-Service-Event-Id" } "." }
        h3 { "Headers" }
        dl.fields {
            @for header in headers.into_iter().flatten() {
                dt { code.name { (header["name"].as_str().unwrap_or_default()) } }
                dd { (prose(header["description"].as_str().unwrap_or_default())) }
            }
        }
    }
}

/// An example signature for testing a verifier: computed here, so that it is always correct.
fn verification(document: &Value) -> Markup {
    let value = |pointer| document.pointer(pointer).unwrap_or(&Value::Null);
    let made = value("/paths/~1v1~1webhooks/post/responses/201/content/application~1json/example");
    let secret = made["secret"].as_str().unwrap_or_default();
    let event = "/webhooks/call.completed/post/requestBody/content/application~1json/example";
    let body = value(event).to_string();
    let sent_at = 1_777_573_932;
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, format!("{sent_at}.{body}").as_bytes());
    let hex: String = tag
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    html! {
        ol {
            li { "Take " code { "t" } " and each " code { "v1" } " from " code { "X-Service-Signature" } ". Refuse a " code { "t" } " that is off by more than 300 seconds." }
            li { "Compute HMAC-SHA256 over " code { "t" } ", a full stop and the raw body, before any JSON is parsed. The key is the whole secret as text, " code { "whsec_" } " included." }
            li { "Compare the hexadecimal digest with each " code { "v1" } " in constant time; one that fits is enough." }
        }
        p { "To try it: with the secret " code { (secret) } " this body, sent as one line," }
        pre.wrapped tabindex="0" { code { (body) } }
        p { "is signed" }
        pre.wrapped tabindex="0" { code { "X-Service-Signature: t=" (sent_at) ",v1=" (hex) } }
    }
}
