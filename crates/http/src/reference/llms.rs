//! The reference as text for language models (llmstxt.org): `/llms.txt` lists the operations, `/llms-full.txt` describes
//! each.

use std::fmt::Write as _;

use maud::Markup;
use serde_json::Value;

use super::page::{Operation, groups, heading};
use super::{fields, parts};

/// The list.
pub(super) fn list(document: &Value) -> String {
    let mut text = beginning(document);
    for group in groups(document) {
        let _ = writeln!(text, "\n## {}\n", heading(group.tag));
        for operation in &group.operations {
            let (id, summary) = (operation.id(), summary(operation));
            let _ = writeln!(
                text,
                "- [{} {}](/docs#{id}): {summary}",
                operation.method, operation.path
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
    text.push_str(&plain(parts::beginning(document)));
    for group in groups(document) {
        let _ = writeln!(text, "\n## {}", heading(group.tag));
        for operation in &group.operations {
            describe(&mut text, document, operation);
        }
    }
    text.push_str(&plain(parts::events(document)));
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

fn summary<'a>(operation: &'a Operation<'_>) -> &'a str {
    operation.told["summary"].as_str().unwrap_or_default()
}

fn describe(text: &mut String, document: &Value, operation: &Operation<'_>) {
    let told = operation.told;
    let _ = writeln!(
        text,
        "\n### {} {}\n\n{}. {}",
        operation.method,
        operation.path,
        summary(operation),
        told["description"].as_str().unwrap_or_default()
    );
    let parameters = told["parameters"].as_array().map_or(&[][..], Vec::as_slice);
    if !parameters.is_empty() {
        text.push_str("\nParameters:\n");
        add_fields(text, &fields::of_parameters(document, parameters), true);
    }
    let body = told["requestBody"]["content"].as_object();
    for (media_type, content) in body.into_iter().flatten() {
        let _ = writeln!(text, "\nBody, {media_type}:");
        add_fields(text, &fields::of(document, &content["schema"]), true);
    }
    let _ = writeln!(text, "\n```sh\n{}\n```", parts::curl(operation));
    for (status, response) in told["responses"].as_object().into_iter().flatten() {
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
        if let Some(name) = field.apart {
            let _ = write!(text, " See {name}.");
        }
        text.push('\n');
    }
}

/// A part of the page without its tags.
fn plain(markup: Markup) -> String {
    let mut text = String::new();
    let html = markup.into_string();
    let mut pieces = html.split('<');
    text.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (tag, rest) = piece.split_once('>').unwrap_or((piece, ""));
        let name = tag.split(' ').next().unwrap_or_default();
        text.push_str(match name {
            "h2" => "\n\n## ",
            "h3" => "\n\n### ",
            "dt" | "li" => "\n- ",
            "dd" => ": ",
            "p" => "\n\n",
            "pre" => "\n\n```\n",
            "/pre" => "\n```\n",
            "code" | "/code" if !text.ends_with("```\n") && !rest.starts_with('\n') => "`",
            _ => "",
        });
        text.push_str(rest);
    }
    // The code of a block is marked by its fence.
    let text = text.replace("`\n```\n", "\n```\n");
    for_reading(&text)
}

fn for_reading(escaped: &str) -> String {
    let text = escaped.replace("&lt;", "<").replace("&gt;", ">");
    text.replace("&quot;", "\"").replace("&amp;", "&")
}
