//! The page `/docs`: what applies to every operation, the errors, and the operations by tag.

use maud::{Markup, html};
use serde_json::Value;

use super::markup::{Section, draw, method, prose};
use super::operation::{Group, address, heading};

/// What the page holds, below its title.
pub(super) fn main(document: &Value, sections: &[Section], groups: &[Group<'_>]) -> Markup {
    let info = |name: &str| document["info"][name].as_str().unwrap_or_default();
    html! {
        h1 { (info("title")) }
        p.version {
            "Version " (info("version")) " · "
            a href="/openapi.json" { "OpenAPI document" } " · "
            a href="/llms.txt" { "Text for language models" }
        }
        p { (info("description")) }
        (draw(sections))
        section {
            h2 id="operations" { "Operations" }
            @for group in groups {
                h3 id={ "tag-" (group.tag) } { a href=(address(group.tag)) { (heading(group.tag)) } }
                // The ids are those that the reference had when it was one page: the script follows their links.
                ul.operations {
                    @for operation in &group.operations {
                        li id=(operation.id()) {
                            a href=(operation.address()) { (method(&operation.method)) " " code { (operation.path) } }
                            " " (operation.summary())
                        }
                    }
                    @for Section { id, title, .. } in &group.sections {
                        li id=(id) { a href={ (address(group.tag)) "#" (id) } { (title) } }
                    }
                }
            }
        }
    }
}

/// What applies to every operation, and the errors.
pub(super) fn sections(document: &Value) -> Vec<Section> {
    vec![
        Section::new(
            "authentication",
            "Authentication",
            html! {
                p { "Every request but " a href="/docs/models#listModels" { code { "GET /v1/models" } } " carries an API key. The examples in curl run in a shell with" }
                pre tabindex="0" { code { "export URL=https://… KEY=service_live_…\ncurl \"$URL/v1/me\" -H \"Authorization: Bearer $KEY\"" } }
                p { "Those in TypeScript and Python take " code { "URL" } " and " code { "KEY" } " from variables. An operation needs exactly one scope; a key without it is answered 403, and the message names it. A read-only key cannot write, whatever its scopes." }
            },
        ),
        Section::new(
            "bodies",
            "Bodies",
            html! {
                p { "JSON in UTF-8, at most 1 MiB; a file or a batch at most 20 MiB. What is unknown or repeated is refused, never ignored." }
                p { "Ids are UUIDv7. Times are UTC, " code { "2026-04-30T18:32:11.123Z" } ". Phone numbers are E.164; in a URL the " code { "+" } " is " code { "%2B" } "." }
                p { "What does not apply is " code { "null" } ". In a POST " code { "null" } " is the same as leaving a field out; in a PATCH it clears what may be null." }
            },
        ),
        Section::new(
            "pagination",
            "Pagination",
            html! {
                p { "A list is " code { "{data, has_more, next_cursor}" } ", newest first unless said, 20 items unless " code { "limit" } " says 1 to 100. Send " code { "next_cursor" } " as " code { "cursor" } ", with the same filters, until it is null." }
            },
        ),
        Section::new(
            "rate-limits",
            "Rate limits",
            html! {
                p { "300 requests a minute and address, 10 of them POST /v1/calls; then the plan's requests a minute, shared by the account's keys. " code { "X-RateLimit-Limit" } ", " code { "X-RateLimit-Remaining" } " and " code { "X-RateLimit-Reset" } " tell how it stands; after a 429 wait " code { "Retry-After" } " seconds." }
            },
        ),
        Section::new(
            "retries",
            "Retries",
            html! {
                p { "POST /v1/calls and batch calls take an " code { "Idempotency-Key" } ": a retry with the same key and body within 24 hours gets the first answer again and dials nobody." }
            },
        ),
        Section::new("errors", "Errors", table(document)),
    ]
}

fn table(document: &Value) -> Markup {
    html! {
        p { "Branch on " code { "error" } "; " code { "message" } " is for people and may change. " code { "request_id" } " is also the header " code { "X-Request-Id" } ", which every answer carries: quote it when you report a fault." }
        @let example = &document["components"]["examples"]["not_found"]["value"];
        pre tabindex="0" { code { (format!("{example:#}")) } }
        dl {
            @for (code, summary) in errors(document) {
                dt id={ "error-" (code) } { code { (code) } " " span.status { (status(code)) } }
                dd { (prose(summary)) }
            }
        }
    }
}

/// Each error code and its meaning.
pub(super) fn errors(document: &Value) -> impl Iterator<Item = (&str, &str)> {
    let codes = document["components"]["examples"].as_object();
    codes.into_iter().flatten().map(|(code, example)| {
        let summary = example["summary"].as_str().unwrap_or_default();
        (code.as_str(), summary)
    })
}

fn status(code: &str) -> u16 {
    let known = crate::Code::ALL.iter().find(|known| known.as_str() == code);
    known.map_or(0, |code| code.status().as_u16())
}
