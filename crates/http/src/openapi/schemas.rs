//! The bodies as JSON Schema.

use offhook_domain::EventType;
use serde_json::{Map, Value, json};

use super::words;

pub(crate) type Members<'a> = &'a [(&'a str, Value)];

/// An object with exactly these members, all required.
pub(crate) fn object(members: Members<'_>) -> Value {
    let names: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    json!({
        "type": "object",
        "properties": properties(members),
        "required": names,
        "additionalProperties": false,
    })
}

/// Adds these members to an object. A member with the same name is replaced.
pub(super) fn with(mut object: Value, members: Members<'_>) -> Value {
    for (name, schema) in members {
        let known = object["properties"].get(name).is_some();
        if let (false, Value::Array(required)) = (known, &mut object["required"]) {
            required.push((*name).into());
        }
        object["properties"][*name] = schema.clone();
    }
    object
}

/// A request body: members that are not required may be omitted, others are refused.
pub(super) fn request(required: &[&str], members: Members<'_>) -> Value {
    json!({
        "type": "object",
        "properties": properties(members),
        "required": required,
        "additionalProperties": false,
    })
}

pub(super) fn properties(members: Members<'_>) -> Map<String, Value> {
    let members = members.iter().cloned();
    members
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect()
}

pub(super) fn reference(schema: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}

/// The list envelope around items of a schema.
pub(super) fn list(item: &str) -> Value {
    let mut list = object(&[
        ("data", array(reference(item))),
        ("has_more", boolean()),
        ("next_cursor", nullable(string())),
    ]);
    words::describe("List", &mut list);
    list
}

pub(super) fn string() -> Value {
    json!({"type": "string"})
}

pub(super) fn text(most: usize) -> Value {
    json!({"type": "string", "maxLength": most})
}

pub(super) fn integer() -> Value {
    json!({"type": "integer"})
}

pub(super) fn number() -> Value {
    json!({"type": "number"})
}

pub(super) fn boolean() -> Value {
    json!({"type": "boolean"})
}

pub(super) fn uuid() -> Value {
    json!({"type": "string", "format": "uuid"})
}

pub(super) fn instant() -> Value {
    json!({"type": "string", "format": "date-time"})
}

pub(super) fn e164() -> Value {
    json!({"type": "string", "pattern": r"^\+[1-9]\d{6,14}$"})
}

/// An object with member names of the account's choice, and values of any kind.
pub(super) fn any_object() -> Value {
    json!({"type": "object", "additionalProperties": true})
}

/// An object with member names of the account's choice, and values of this schema.
pub(super) fn map(values: Value) -> Value {
    json!({"type": "object", "additionalProperties": values})
}

/// The value of a conversation variable.
pub(super) fn variable() -> Value {
    json!({"type": ["string", "number", "boolean", "null"], "maxLength": 2000})
}

/// The variables that a client sends with a call.
pub(super) fn metadata() -> Value {
    let mut metadata = nullable(map(variable()));
    metadata["propertyNames"] = json!({"maxLength": 64});
    metadata
}

pub(super) fn array(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

pub(super) fn words<T: ToString>(values: &[T]) -> Value {
    let words: Vec<String> = values.iter().map(ToString::to_string).collect();
    json!({"type": "string", "enum": words})
}

/// The schema, or null.
pub(super) fn nullable(mut schema: Value) -> Value {
    if let Some(kind) = schema.get("type").cloned() {
        schema["type"] = json!([kind, "null"]);
        if let Some(Value::Array(words)) = schema.get_mut("enum") {
            words.push(Value::Null);
        }
        return schema;
    }
    json!({"anyOf": [schema, {"type": "null"}]})
}

/// The error envelope.
pub(super) fn error() -> Value {
    object(&[
        ("error", string()),
        ("message", string()),
        ("request_id", uuid()),
    ])
}

/// The schema name of an event of this type.
pub(super) const fn event_name(kind: EventType) -> &'static str {
    match kind {
        EventType::CallInitiated => "CallInitiatedEvent",
        EventType::CallCompleted => "CallCompletedEvent",
        EventType::CallFailed => "CallFailedEvent",
        EventType::BillingThreshold => "BillingThresholdEvent",
        EventType::ContactOptedOut => "ContactOptedOutEvent",
        EventType::CampaignCompleted => "CampaignCompletedEvent",
        EventType::CampaignPaused => "CampaignPausedEvent",
    }
}
