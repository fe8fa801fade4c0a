//! Generates data for a schema from the conversation's words.

use std::cell::Cell;

use offhook_engine::ports::{Message, Role};
use serde_json::{Map, Value, json};

use super::quote;

/// The deepest nesting of a schema.
const MAX_DEPTH: usize = 32;

/// Items of a list at most.
const MAX_ITEMS: u64 = 16;

/// Generated values at most; nested lists would grow without end.
const MAX_VALUES: u32 = 1_000;

/// The schema is the last line of the system message, the conversation is the first user message.
pub(super) fn data(messages: &[Message]) -> String {
    let first = |role| messages.iter().find(|message| message.role == role);
    let schema = first(Role::System).and_then(|message| message.content.lines().last());
    let root: Value = schema
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_else(|| json!({}));
    let lines = first(Role::User).map_or("", |message| &message.content);
    let mut customer = lines
        .lines()
        .filter_map(|line| line.strip_prefix("Customer: "));
    let data = Inventor {
        root: &root,
        words: quote(customer.next_back().unwrap_or_default()),
        turns: u32::try_from(lines.lines().count()).unwrap_or(u32::MAX),
        values: Cell::new(0),
    };
    data.object(&root, 0).to_string()
}

struct Inventor<'a> {
    root: &'a Value,
    /// The customer's last words.
    words: String,
    /// The number of turns.
    turns: u32,
    /// The number of generated values.
    values: Cell<u32>,
}

impl Inventor<'_> {
    fn value(&self, schema: &Value, depth: usize) -> Value {
        self.values.set(self.values.get() + 1);
        if depth > MAX_DEPTH || self.values.get() > MAX_VALUES {
            return Value::Null;
        }
        if let Some(target) = schema["$ref"].as_str() {
            let found = target
                .strip_prefix('#')
                .and_then(|to| self.root.pointer(to));
            return found.map_or(Value::Null, |found| self.value(found, depth + 1));
        }
        for fixed in [&schema["const"], &schema["enum"][0], &schema["default"]] {
            if !fixed.is_null() {
                return fixed.clone();
            }
        }
        for choice in ["allOf", "anyOf", "oneOf"] {
            if schema[choice][0].is_object() && schema["properties"].is_null() {
                return self.value(&schema[choice][0], depth + 1);
            }
        }
        let kind = schema["type"].as_str().or(schema["type"][0].as_str());
        match kind {
            Some("object") => self.object(schema, depth),
            Some("array") => self.array(schema, depth),
            Some("boolean") => Value::Bool(true),
            Some("null") => Value::Null,
            Some("integer" | "number") => self.number(schema),
            None if schema["properties"].is_object() => self.object(schema, depth),
            _ => Value::String(self.text(schema)),
        }
    }

    fn object(&self, schema: &Value, depth: usize) -> Value {
        if schema["properties"].is_null() && schema["$ref"].is_string() {
            return self.value(schema, depth + 1);
        }
        let mut members = Map::new();
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            members.insert(name.clone(), self.value(member, depth + 1));
        }
        for name in schema["required"].as_array().into_iter().flatten() {
            if let Some(name) = name.as_str().filter(|name| !members.contains_key(*name)) {
                members.insert(name.to_owned(), Value::String(self.words.clone()));
            }
        }
        Value::Object(members)
    }

    fn array(&self, schema: &Value, depth: usize) -> Value {
        let least = schema["minItems"].as_u64().unwrap_or(1).max(1);
        let most = schema["maxItems"].as_u64().unwrap_or(MAX_ITEMS);
        let items = 0..least.min(most).min(MAX_ITEMS);
        let item = |_| self.value(&schema["items"], depth + 1);
        Value::Array(items.map(item).collect())
    }

    fn number(&self, schema: &Value) -> Value {
        let of = |name: &str| schema[name].as_i64();
        let least = of("minimum").or(of("exclusiveMinimum").map(|least| least.saturating_add(1)));
        let most = of("maximum").or(of("exclusiveMaximum").map(|most| most.saturating_sub(1)));
        let number = i64::from(self.turns).max(least.unwrap_or(i64::MIN));
        json!(number.min(most.unwrap_or(i64::MAX)))
    }

    fn text(&self, schema: &Value) -> String {
        let written = match schema["format"].as_str() {
            Some("date-time") => "2026-01-01T00:00:00Z",
            Some("date") => "2026-01-01",
            Some("time") => "00:00:00Z",
            Some("email") => "customer@example.com",
            Some("uri") => "https://example.com/",
            Some("uuid") => "00000000-0000-7000-8000-000000000000",
            _ => &self.words,
        };
        let chars = |name: &str| {
            schema[name]
                .as_u64()
                .and_then(|chars| usize::try_from(chars).ok())
        };
        let most = chars("maxLength").unwrap_or(usize::MAX);
        let mut text: String = written.chars().take(most).collect();
        let least = chars("minLength").unwrap_or(0).min(1_000);
        while text.chars().count() < least {
            text.push('.');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_made_up_from_the_schema_and_the_last_words() {
        let schema = json!({
            "type": "object",
            "properties": {
                "topic": {"type": "string", "maxLength": 9},
                "mood": {"enum": ["calm", "angry"]},
                "turns": {"type": "integer"},
                "score": {"type": "number", "minimum": 7, "maximum": 10},
                "again": {"type": ["boolean", "null"]},
                "day": {"$ref": "#/$defs/day"},
                "rooms": {"type": "array", "items": {"type": "object", "properties": {"for": {"const": 2}}}, "minItems": 2},
                "either": {"anyOf": [{"type": "null"}, {"type": "string"}]},
            },
            "required": ["topic", "note"],
            "$defs": {"day": {"type": "string", "format": "date"}},
        });
        let system = format!("Extract.\n\n{schema}");
        let lines = "Agent: Hello.\nCustomer: A room.\nAgent: When?\nCustomer: On Monday at ten.\nAgent: Done.\n";
        let messages = [
            Message::new(Role::System, system),
            Message::new(Role::User, lines),
            Message::new(Role::Assistant, "bad"),
            Message::new(Role::User, "That does not fit."),
        ];
        let made: Value = serde_json::from_str(&data(&messages)).unwrap();
        let expected = json!({
            "topic": "On Monday",
            "mood": "calm",
            "turns": 5,
            "score": 7,
            "again": true,
            "day": "2026-01-01",
            "rooms": [{"for": 2}, {"for": 2}],
            "either": null,
            "note": "On Monday at ten",
        });
        assert_eq!(made, expected);
        assert_eq!(data(&messages[..2]), data(&messages));
        assert_eq!(data(&[]), "{}");
    }
}
