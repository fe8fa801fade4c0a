//! The descriptions of fields and operations. They are data. `words/fields.json` describes members by their path
//! within a schema: `Agent.config`, `config.llm` or just `config`; the longest matching path applies.
//! `words/operations.json` has the details of operations beyond their summaries.

use std::sync::LazyLock;

use serde_json::Value;

/// A file that is not JSON counts as empty; tests then miss its texts.
static FIELDS: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("words/fields.json")).unwrap_or_default());

static OPERATIONS: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("words/operations.json")).unwrap_or_default()
});

/// The details of an operation beyond its summary, if any.
pub(super) fn of_operation(id: &str) -> Option<&'static str> {
    OPERATIONS[id].as_str()
}

/// Gives every member of this schema its description.
pub(super) fn describe(name: &str, schema: &mut Value) {
    if let Some(Value::Object(members)) = schema.get_mut("properties") {
        for (member, schema) in members {
            let path = format!("{name}.{member}");
            // The members of bodies are described where they are defined.
            if !schema["description"].is_string()
                && let Some(text) = text(&path)
            {
                schema["description"] = text.into();
            }
            describe(&path, schema);
        }
    }
    if let Some(items) = schema.get_mut("items") {
        describe(name, items);
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        choices.iter_mut().for_each(|choice| describe(name, choice));
    }
}

fn text(path: &str) -> Option<&'static str> {
    let mut path = path;
    loop {
        if let Some(text) = FIELDS[path].as_str() {
            return Some(text);
        }
        (_, path) = path.split_once('.')?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_left_over() {
        let document = crate::openapi::document().to_string();
        for (name, text) in FIELDS.as_object().unwrap() {
            assert!(document.contains(&text.to_string()), "{name}");
        }
        for (id, text) in OPERATIONS.as_object().unwrap() {
            let text = text.to_string();
            assert!(document.contains(text.trim_end_matches('"')), "{id}");
        }
    }
}
