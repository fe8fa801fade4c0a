//! The page's sections other than operations, and shared helpers.

use std::fmt::Write as _;

use maud::{Markup, html};
use ring::hmac;
use serde_json::Value;

use super::fields;
use super::page::Operation;

/// Text with its `code`.
pub(super) fn prose(text: &str) -> Markup {
    html! {
        @for (at, part) in text.split('`').enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// The operation's path with its example's ids.
fn path_of(operation: &Operation<'_>) -> String {
    let mut path = operation.path.to_owned();
    for parameter in operation.told["parameters"]
        .as_array()
        .into_iter()
        .flatten()
    {
        if let (Some(name), "path") = (
            parameter["name"].as_str(),
            parameter["in"].as_str().unwrap_or_default(),
        ) {
            let value = match &parameter["example"] {
                Value::String(id) => id.clone(),
                other => other.to_string(),
            };
            path = path.replace(&format!("{{{name}}}"), &value);
        }
    }
    path
}

fn body_of<'a>(operation: &'a Operation<'_>) -> Option<&'a Value> {
    let body = &operation.told["requestBody"]["content"]["application/json"]["example"];
    Some(body).filter(|body| !body.is_null())
}

/// Headers that have an example.
fn example_headers<'a>(operation: &'a Operation<'_>) -> impl Iterator<Item = (&'a str, &'a str)> {
    let parameters = operation.told["parameters"]
        .as_array()
        .into_iter()
        .flatten();
    parameters.filter_map(|parameter| {
        let name = parameter["name"].as_str()?;
        let value = parameter["example"].as_str()?;
        (parameter["in"] == "header").then_some((name, value))
    })
}

/// The same request in TypeScript; the reader sets `URL` and `KEY`.
pub(super) fn typescript(operation: &Operation<'_>) -> String {
    let mut lines = format!(
        "const answer = await fetch(`${{URL}}{}`, {{\n",
        path_of(operation)
    );
    if operation.method != "GET" {
        let _ = writeln!(lines, "  method: \"{}\",", operation.method);
    }
    lines.push_str("  headers: {\n    Authorization: `Bearer ${KEY}`,\n");
    for (name, value) in example_headers(operation) {
        let _ = writeln!(lines, "    \"{name}\": \"{value}\",");
    }
    match body_of(operation) {
        Some(body) => {
            let body = format!("{body:#}").replace('\n', "\n  ");
            let _ = write!(
                lines,
                "    \"Content-Type\": \"application/json\",\n  }},\n  body: JSON.stringify({body}),\n}});"
            );
        }
        None => lines.push_str("  },\n});"),
    }
    lines
}

/// The same request in Python, with `requests`; the reader sets `URL` and `KEY`.
pub(super) fn python(operation: &Operation<'_>) -> String {
    let mut lines = format!(
        "answer = requests.{}(\n    f\"{{URL}}{}\",\n    headers={{\"Authorization\": f\"Bearer {{KEY}}\"",
        operation.method.to_lowercase(),
        path_of(operation)
    );
    for (name, value) in example_headers(operation) {
        let _ = write!(lines, ", \"{name}\": \"{value}\"");
    }
    lines.push_str("},\n");
    if let Some(body) = body_of(operation) {
        let _ = writeln!(lines, "    json={},", python_value(body, 1));
    }
    lines.push(')');
    lines
}

fn python_value(value: &Value, depth: usize) -> String {
    let (inner, outer) = ("    ".repeat(depth + 1), "    ".repeat(depth));
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Array(items) if !items.is_empty() => {
            let items = items.iter().map(|item| python_value(item, depth + 1));
            let items: Vec<_> = items.map(|item| format!("{inner}{item},\n")).collect();
            format!("[\n{}{outer}]", items.concat())
        }
        Value::Object(members) if !members.is_empty() => {
            let members = members.iter().map(|(name, value)| {
                let name = Value::from(name.as_str());
                format!("{inner}{name}: {},\n", python_value(value, depth + 1))
            });
            format!("{{\n{}{outer}}}", members.collect::<String>())
        }
        other => other.to_string(),
    }
}

/// A shell command that sends an operation's example; the reader sets `$URL` and `$KEY`.
pub(super) fn curl(operation: &Operation<'_>) -> String {
    let mut line = String::from("curl");
    if operation.method != "GET" {
        let _ = write!(line, " -X {}", operation.method);
    }
    let _ = write!(line, " \"$URL{}\"", path_of(operation));
    line.push_str(&headers(operation));
    if let Some(body) = body_of(operation) {
        let body = format!("{body:#}").replace('\'', r"'\''");
        let _ = write!(
            line,
            " \\\n  -H 'Content-Type: application/json' \\\n  -d '{body}'"
        );
    }
    line
}

/// As [`curl`], with a form whose files are the reader's own.
pub(super) fn curl_form(operation: &Operation<'_>) -> Option<String> {
    let content = &operation.told["requestBody"]["content"]["multipart/form-data"];
    let form = content["example"].as_object()?;
    let mut line = format!("curl \"$URL{}\"{}", operation.path, headers(operation));
    for (name, value) in form {
        let value = match name.as_str() {
            "file" => "@the-file",
            _ => value.as_str().unwrap_or_default(),
        };
        let _ = write!(line, " \\\n  -F '{name}={value}'");
    }
    Some(line)
}

/// The key, if the operation needs one, and headers that have an example.
fn headers(operation: &Operation<'_>) -> String {
    let mut headers = String::new();
    if operation.told["security"].is_null() {
        headers.push_str(" \\\n  -H \"Authorization: Bearer $KEY\"");
    }
    for (name, value) in example_headers(operation) {
        let _ = write!(headers, " \\\n  -H '{name}: {value}'");
    }
    headers
}

/// What applies to every operation, and the errors.
pub(super) fn beginning(document: &Value) -> Markup {
    html! {
        section id="beginning" {
            h2 { "Getting started" }
            p { "Every request but " a href="#listModels" { code { "GET /v1/models" } } " carries an API key. The lines on this page run in a shell with" }
            pre tabindex="0" { code { "export URL=https://… KEY=service_live_…\ncurl \"$URL/v1/me\" -H \"Authorization: Bearer $KEY\"" } }
            dl {
                dt { "Bodies" }
                dd { "JSON in UTF-8, at most 1 MiB; a file or a batch at most 20 MiB. What is unknown or repeated is refused, never ignored." }
                dt { "Ids and times" }
                dd { "Ids are UUIDv7. Times are UTC, " code { "2026-04-30T18:32:11.123Z" } ". Phone numbers are E.164; in a URL the " code { "+" } " is " code { "%2B" } "." }
                dt { "null" }
                dd { "What does not apply is " code { "null" } ". In a POST " code { "null" } " is the same as leaving a field out; in a PATCH it clears what may be null." }
                dt { "Lists" }
                dd { code { "{data, has_more, next_cursor}" } ", newest first unless said, 20 items unless " code { "limit" } " says 1 to 100. Send " code { "next_cursor" } " as " code { "cursor" } ", with the same filters, until it is null." }
                dt { "Scopes" }
                dd { "An operation needs exactly one scope; a key without it is answered 403, and the message names it. A read-only key cannot write, whatever its scopes." }
                dt { "Rate limits" }
                dd { "300 requests a minute and address, 10 of them POST /v1/calls; then the plan's requests a minute, shared by the account's keys. " code { "X-RateLimit-Limit" } ", " code { "X-RateLimit-Remaining" } " and " code { "X-RateLimit-Reset" } " tell how it stands; after a 429 wait " code { "Retry-After" } " seconds." }
                dt { "Retries" }
                dd { "POST /v1/calls and batch calls take an " code { "Idempotency-Key" } ": a retry with the same key and body within 24 hours gets the first answer again and dials nobody." }
            }
        }
        section {
            h2 id="errors" { "Errors" }
            p { "Branch on " code { "error" } "; " code { "message" } " is for people and may change. " code { "request_id" } " is also the header " code { "X-Request-Id" } ", which every answer carries: quote it when you report a fault." }
            @let example = &document["components"]["examples"]["not_found"]["value"];
            pre tabindex="0" { code { (format!("{example:#}")) } }
            dl {
                @for (code, example) in document["components"]["examples"].as_object().into_iter().flatten() {
                    dt id={ "error-" (code) } { code { (code) } " " span.status { (status(code)) } }
                    dd { (prose(example["summary"].as_str().unwrap_or_default())) }
                }
            }
        }
    }
}

fn status(code: &str) -> u16 {
    let known = crate::Code::ALL.iter().find(|known| known.as_str() == code);
    known.map_or(0, |code| code.status().as_u16())
}

/// The events that webhook endpoints receive.
pub(super) fn events(document: &Value) -> Markup {
    let events = document["webhooks"].as_object();
    let headers = events.and_then(|events| events.values().next());
    let headers = headers.and_then(|event| event["post"]["parameters"].as_array());
    html! {
        section {
            h2 id="events" { "Webhook events" }
            p { "Each event is sent by POST to every enabled endpoint of the account (" a href="#createWebhook" { code { "POST /v1/webhooks" } } "). Any 2xx within 10 seconds is success. Otherwise it is sent again 5 minutes, 30 minutes and 2 hours after the end of the attempt before; after the fourth the delivery is " code { "exhausted" } ". An event can come more than once: drop duplicates by " code { "X-Service-Event-Id" } "." }
            h3 { "Headers" }
            dl.fields {
                @for header in headers.into_iter().flatten() {
                    dt { code.name { (header["name"].as_str().unwrap_or_default()) } }
                    dd { (prose(header["description"].as_str().unwrap_or_default())) }
                }
            }
            (verification(document))
            @for (name, event) in events.into_iter().flatten() {
                @let content = &event["post"]["requestBody"]["content"]["application/json"];
                article id={ "event-" (name) } {
                    h3 { a href={ "#event-" (name) } { code { (name) } } }
                    pre tabindex="0" { code { (format!("{:#}", content["example"])) } }
                    dl.fields {
                        @for field in fields::of(document, &content["schema"]) {
                            dt { code.name { (field.path) } " " span.kind { (field.kind) } }
                            dd { (prose(field.description)) @if !field.words.is_empty() { " " code { (field.words.join(" ")) } } }
                        }
                    }
                }
            }
        }
    }
}

/// An example signature for testing a verifier: computed here, so that it is always correct.
fn verification(document: &Value) -> Markup {
    let told = |pointer| document.pointer(pointer).unwrap_or(&Value::Null);
    let made = told("/paths/~1v1~1webhooks/post/responses/201/content/application~1json/example");
    let secret = made["secret"].as_str().unwrap_or_default();
    let event = "/webhooks/call.completed/post/requestBody/content/application~1json/example";
    let body = told(event).to_string();
    let sent_at = 1_777_573_932;
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, format!("{sent_at}.{body}").as_bytes());
    let hex: String = tag
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    html! {
        h3 id="signature" { "Verify a signature" }
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
