//! The page of a tag, `/docs/<tag>`.

use maud::{Markup, html};
use serde_json::Value;

use super::markup::{draw, list, method, prose};
use super::operation::{Group, Operation, heading};
use super::{examples, fields};

/// Its operations, and the sections that belong to them.
pub(super) fn main(document: &Value, group: &Group<'_>) -> Markup {
    html! {
        h1 { (heading(group.tag)) }
        @for operation in &group.operations { (article(document, operation)) }
        (draw(&group.sections))
    }
}

fn article(document: &Value, operation: &Operation<'_>) -> Markup {
    let body = &operation.spec["requestBody"]["content"];
    html! {
        article id=(operation.id()) {
            h2 {
                a href={ "#" (operation.id()) } { (method(&operation.method)) " " code { (operation.path) } }
            }
            p.summary { strong { (prose(operation.summary())) } }
            @for text in operation.description().split("\n\n") {
                p { (prose(text)) }
            }
            p.id { "Operation " code { (operation.id()) } }
            @if !operation.parameters().is_empty() {
                h3 { "Parameters" }
                (list(&fields::of_parameters(document, operation.parameters()), true))
            }
            @for (media_type, content) in body.as_object().into_iter().flatten() {
                h3 { "Body, " code { (media_type) } }
                (list(&fields::of(document, &content["schema"]), true))
            }
            h3 { "Request" }
            pre tabindex="0" { code { (examples::curl(operation)) } }
            @if examples::curl_form(operation).is_none() || !body["application/json"].is_null() {
                @for (language, lines) in [("TypeScript", examples::typescript(operation)), ("Python", examples::python(operation))] {
                    details {
                        summary { (language) }
                        pre tabindex="0" { code { (lines) } }
                    }
                }
            }
            @if let Some(line) = examples::curl_form(operation) {
                p { "Or as a form:" }
                pre tabindex="0" { code { (line) } }
            }
            (answers(document, operation.spec))
            (errors(document, operation.spec))
        }
    }
}

fn answers(document: &Value, spec: &Value) -> Markup {
    let responses = spec["responses"].as_object().into_iter().flatten();
    let successes = responses.filter(|(status, _)| status.starts_with('2'));
    html! {
        @for (status, response) in successes {
            @for (media_type, content) in response["content"].as_object().into_iter().flatten() {
                @let schema = &content["schema"];
                h3 { "Answer " (status) @if media_type != "application/json" { ", " code { (media_type) } } }
                @match &content["example"] {
                    Value::Null => { p { "The file, as bytes." } }
                    Value::String(text) => { pre tabindex="0" { code { (text) } } }
                    example => { pre tabindex="0" { code { (format!("{example:#}")) } } }
                }
                @let fields = fields::of(document, schema);
                @if !fields.is_empty() {
                    details {
                        summary { "Fields of the answer" }
                        (list(&fields, false))
                    }
                }
            }
        }
    }
}

fn errors(document: &Value, spec: &Value) -> Markup {
    let responses = spec["responses"].as_object().into_iter().flatten();
    let failures = responses.filter(|(status, _)| !status.starts_with('2'));
    let codes = failures.clone().map(|(_, response)| {
        let examples = &response["content"]["application/json"]["examples"];
        examples.as_object().map_or(0, serde_json::Map::len)
    });
    html! {
        details.errors {
            summary { "Errors (" (codes.sum::<usize>()) ")" }
            dl {
                @for (status, response) in failures {
                    @let examples = &response["content"]["application/json"]["examples"];
                    @for (code, example) in examples.as_object().into_iter().flatten() {
                        @let (_, example) = fields::resolve(document, example);
                        dt { span.status { (status) } " " a href={ "/docs#error-" (code) } { code { (code) } } }
                        dd { (prose(example["value"]["message"].as_str().unwrap_or_default())) }
                    }
                }
            }
        }
    }
}
