use maud::{DOCTYPE, Markup, html};
use serde_json::Value;

use super::{fields, parts};

/// An operation with its method and path.
pub(super) struct Operation<'a> {
    pub(super) method: String,
    pub(super) path: &'a str,
    pub(super) told: &'a Value,
}

/// The operations of a tag.
pub(super) struct Group<'a> {
    pub(super) tag: &'a str,
    pub(super) operations: Vec<Operation<'a>>,
}

impl Operation<'_> {
    pub(super) fn id(&self) -> &str {
        self.told["operationId"].as_str().unwrap_or_default()
    }

    /// The text that the page's filter searches.
    fn words(&self) -> String {
        let scope = self.told["x-required-scope"].as_str().unwrap_or_default();
        let summary = self.told["summary"].as_str().unwrap_or_default();
        let words = [&self.method, self.path, self.id(), summary, scope].join(" ");
        words.to_lowercase()
    }
}

pub(super) fn draw(document: &Value) -> String {
    let groups = groups(document);
    let title = document["info"]["title"].as_str().unwrap_or_default();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                link rel="icon" href="data:,";
                link rel="stylesheet" href="docs/reference.css";
                script src="docs/reference.js" defer {}
            }
            body {
                a.skip href="#main" { "To the content" }
                nav aria-label="Contents" { (contents(&groups)) }
                main id="main" {
                    h1 { (title) }
                    p.version {
                        "Version " (document["info"]["version"].as_str().unwrap_or_default()) " · "
                        a href="openapi.json" { "OpenAPI document" }
                    }
                    (parts::beginning(document))
                    @for group in &groups {
                        section.group {
                            h2 id={ "tag-" (group.tag) } { (heading(group.tag)) }
                            @for operation in &group.operations { (article(document, operation)) }
                        }
                    }
                    (parts::events(document))
                    (shapes(document))
                }
            }
        }
    };
    page.into_string()
}

pub(super) fn groups(document: &Value) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (path, methods) in document["paths"].as_object().into_iter().flatten() {
        for (method, told) in methods.as_object().into_iter().flatten() {
            let tag = told["tags"][0].as_str().unwrap_or_default();
            let operation = Operation {
                method: method.to_uppercase(),
                path,
                told,
            };
            match groups.iter_mut().find(|group| group.tag == tag) {
                Some(group) => group.operations.push(operation),
                None => groups.push(Group {
                    tag,
                    operations: vec![operation],
                }),
            }
        }
    }
    groups
}

/// A tag as a heading: `batch-calls` is "Batch calls".
pub(super) fn heading(tag: &str) -> String {
    let words = match tag {
        "me" => "your key",
        other => other,
    };
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    let rest = letters.as_str().replace('-', " ");
    first.into_iter().collect::<String>() + &rest
}

fn contents(groups: &[Group<'_>]) -> Markup {
    html! {
        details.menu open {
            summary { "Contents" }
            label for="filter" { "Filter" }
            input id="filter" type="search" autocomplete="off" spellcheck="false"
                placeholder="path, scope or any words";
            p id="found" role="status" {}
            ul {
                li { a href="#beginning" { "Getting started" } }
                li { a href="#errors" { "Errors" } }
                li { a href="#events" { "Webhook events" } }
                li { a href="#shape-AgentConfig" { "Agent configuration" } }
            }
            @for group in groups {
                div.group {
                    h2 { a href={ "#tag-" (group.tag) } { (heading(group.tag)) } }
                    ul {
                        @for operation in &group.operations {
                            li data-words=(operation.words()) data-for=(operation.id()) {
                                a href={ "#" (operation.id()) } {
                                    (method(&operation.method)) " "
                                    span.path { (operation.path.trim_start_matches("/v1")) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn method(method: &str) -> Markup {
    html! { span.method.(method.to_lowercase()) { (method) } }
}

fn article(document: &Value, operation: &Operation<'_>) -> Markup {
    let told = operation.told;
    let body = &told["requestBody"]["content"];
    html! {
        article id=(operation.id()) {
            h3 {
                a href={ "#" (operation.id()) } { (method(&operation.method)) " " code { (operation.path) } }
            }
            p.summary { strong { (parts::prose(told["summary"].as_str().unwrap_or_default())) } }
            @for text in told["description"].as_str().unwrap_or_default().split("\n\n") {
                p { (parts::prose(text)) }
            }
            p.id { "Operation " code { (operation.id()) } }
            (parameters(document, told))
            @for (media_type, content) in body.as_object().into_iter().flatten() {
                h4 { "Body, " code { (media_type) } }
                (list(&fields::of(document, &content["schema"]), true))
            }
            h4 { "Request" }
            pre tabindex="0" { code { (parts::curl(operation)) } }
            @if parts::curl_form(operation).is_none() || !body["application/json"].is_null() {
                @for (language, lines) in [("TypeScript", parts::typescript(operation)), ("Python", parts::python(operation))] {
                    details {
                        summary { (language) }
                        pre tabindex="0" { code { (lines) } }
                    }
                }
            }
            @if let Some(line) = parts::curl_form(operation) {
                p { "Or as a form:" }
                pre tabindex="0" { code { (line) } }
            }
            (answers(document, told))
            (errors(document, told))
        }
    }
}

fn parameters(document: &Value, told: &Value) -> Markup {
    let parameters = told["parameters"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    html! {
        @if !parameters.is_empty() {
            h4 { "Parameters" }
            (list(&fields::of_parameters(document, parameters), true))
        }
    }
}

/// Fields with their descriptions. Only a request's fields show whether they are required; responses always have all.
fn list(fields: &[fields::Field<'_>], sent: bool) -> Markup {
    html! {
        @if fields.is_empty() {
            p { "Nothing: an empty object, or no body at all." }
        } @else {
            dl.fields {
                @for field in fields {
                    dt {
                        code.name { (field.path) } " "
                        span.kind { (field.kind) }
                        @if sent && field.required { " " span.required { "required" } }
                    }
                    dd {
                        (parts::prose(field.description))
                        @if !field.words.is_empty() {
                            " One of: "
                            @for (at, word) in field.words.iter().enumerate() {
                                @if at > 0 { ", " }
                                code { (word) }
                            }
                            "."
                        }
                        @if !field.limits.is_empty() { span.limits { " (" (field.limits.join(", ")) ")" } }
                        @if let Some(name) = field.apart { " See " a href={ "#shape-" (name) } { (name) } "." }
                    }
                }
            }
        }
    }
}

fn answers(document: &Value, told: &Value) -> Markup {
    let responses = told["responses"].as_object().into_iter().flatten();
    let successes = responses.filter(|(status, _)| status.starts_with('2'));
    html! {
        @for (status, response) in successes {
            @for (media_type, content) in response["content"].as_object().into_iter().flatten() {
                @let schema = &content["schema"];
                h4 { "Answer " (status) @if media_type != "application/json" { ", " code { (media_type) } } }
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

fn errors(document: &Value, told: &Value) -> Markup {
    let responses = told["responses"].as_object().into_iter().flatten();
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
                        dt { span.status { (status) } " " a href={ "#error-" (code) } { code { (code) } } }
                        dd { (parts::prose(example["value"]["message"].as_str().unwrap_or_default())) }
                    }
                }
            }
        }
    }
}

/// The schemas that several bodies share.
fn shapes(document: &Value) -> Markup {
    let config = &document["components"]["schemas"]["AgentConfig"];
    html! {
        section {
            h2 id="shapes" { "Shapes" }
            article id="shape-AgentConfig" {
                h3 { a href="#shape-AgentConfig" { "AgentConfig" } }
                p { "The configuration of an engine agent. In a write every member may be left out; the numbers in brackets are the defaults." }
                (list(&fields::of(document, config), true))
            }
            article id="shape-Event" {
                h3 { a href="#shape-Event" { "Event" } }
                p { "The body of a webhook: one of the " a href="#events" { "events" } ", by its " code { "type" } "." }
            }
        }
    }
}
