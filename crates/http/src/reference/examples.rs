//! An operation's example request in curl, TypeScript and Python.

use std::fmt::Write as _;

use super::operation::Operation;
use crate::prelude::*;

/// The operation's path with its example's ids.
fn path_of(operation: &Operation<'_>) -> String {
    let mut path = operation.path.to_owned();
    for parameter in operation.spec["parameters"]
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
    let body = &operation.spec["requestBody"]["content"]["application/json"]["example"];
    Some(body).filter(|body| !body.is_null())
}

/// Headers that have an example.
fn example_headers<'a>(operation: &'a Operation<'_>) -> impl Iterator<Item = (&'a str, &'a str)> {
    let parameters = operation.spec["parameters"]
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
    let content = &operation.spec["requestBody"]["content"]["multipart/form-data"];
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
    if operation.spec["security"].is_null() {
        headers.push_str(" \\\n  -H \"Authorization: Bearer $KEY\"");
    }
    for (name, value) in example_headers(operation) {
        let _ = write!(headers, " \\\n  -H '{name}: {value}'");
    }
    headers
}
