//! The reference as text for language models (llmstxt.org): `/llms.txt` lists the operations, `/llms-full.txt` describes
//! each.

use std::fmt::Write as _;

use super::markup::draw;
use super::operation::{Operation, groups, heading};
use super::plain::plain;
use super::{events, examples, fields, overview};
use crate::prelude::*;

/// The list.
pub(super) fn list(document: &Value) -> String {
    let mut text = beginning(document);
    text.push_str(include_str!("command_line.md"));
    for group in groups(document) {
        let _ = writeln!(text, "\n## {}\n", heading(group.tag));
        for operation in &group.operations {
            let _ = writeln!(
                text,
                "- [{} {}]({}): {}",
                operation.method,
                operation.path,
                operation.address(),
                operation.summary()
            );
        }
    }
    text.push_str(
        "\n## Optional\n\n- [Everything in one file](/llms-full.txt): parameters, bodies, answers, errors and examples\n\
         - [OpenAPI document](/openapi.json)\n- [Reference for people](/docs)\n",
    );
    text
}

/// Everything.
pub(super) fn full(document: &Value) -> String {
    let mut text = beginning(document);
    text.push_str(&plain(&draw(&overview::sections(document))));
    for group in groups(document) {
        let _ = writeln!(text, "\n## {}", heading(group.tag));
        for operation in &group.operations {
            describe(&mut text, document, operation);
        }
    }
    text.push_str(&plain(&draw(&events::sections(document))));
    text.push_str("\n## AgentConfig\n\n");
    let config = &document["components"]["schemas"]["AgentConfig"];
    add_fields(&mut text, &fields::of(document, config), true);
    text
}

fn beginning(document: &Value) -> String {
    let word = |name: &str| document["info"][name].as_str().unwrap_or_default();
    format!(
        "# {}\n\n> {}\n\nVersion {}.\n",
        word("title"),
        word("description").replace('\n', " "),
        word("version")
    )
}

fn describe(text: &mut String, document: &Value, operation: &Operation<'_>) {
    let _ = writeln!(
        text,
        "\n### {} {}\n\n{}. {}",
        operation.method,
        operation.path,
        operation.summary(),
        operation.description()
    );
    let parameters = operation.parameters();
    if !parameters.is_empty() {
        text.push_str("\nParameters:\n");
        add_fields(text, &fields::of_parameters(document, parameters), true);
    }
    let body = operation.spec["requestBody"]["content"].as_object();
    for (media_type, content) in body.into_iter().flatten() {
        let _ = writeln!(text, "\nBody, {media_type}:");
        add_fields(text, &fields::of(document, &content["schema"]), true);
    }
    let _ = writeln!(text, "\n```sh\n{}\n```", examples::curl(operation));
    for (status, response) in operation.spec["responses"]
        .as_object()
        .into_iter()
        .flatten()
    {
        for (media_type, content) in response["content"].as_object().into_iter().flatten() {
            if !status.starts_with('2') {
                let codes = content["examples"].as_object().into_iter().flatten();
                let codes: Vec<_> = codes.map(|(code, _)| format!("`{code}`")).collect();
                let _ = writeln!(text, "\nError {status}: {}.", codes.join(", "));
                continue;
            }
            let _ = writeln!(text, "\nAnswer {status}, {media_type}:");
            add_fields(text, &fields::of(document, &content["schema"]), false);
            match &content["example"] {
                Value::Null => {}
                Value::String(example) => {
                    let _ = writeln!(text, "\n```\n{}\n```", example.trim_end());
                }
                example => {
                    let _ = writeln!(text, "\n```json\n{example:#}\n```");
                }
            }
        }
    }
}

fn add_fields(text: &mut String, fields: &[fields::Field<'_>], sent: bool) {
    for field in fields {
        let mut kind = field.kind.clone();
        if sent && field.required {
            kind.push_str(", required");
        }
        for limit in &field.limits {
            let _ = write!(kind, ", {limit}");
        }
        let _ = write!(text, "- `{}` ({kind}): {}", field.path, field.description);
        if !field.words.is_empty() {
            let _ = write!(text, " One of: {}.", field.words.join(", "));
        }
        if let Some((name, _)) = field.apart {
            let _ = write!(text, " See {name}.");
        }
        text.push('\n');
    }
}
