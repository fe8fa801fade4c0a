//! The members of a schema as a flat list.

use serde_json::Value;

/// Schemas with a section of their own, and its address: members only link to it.
const APART: [(&str, &str); 2] = [
    ("AgentConfig", "/docs/agents#shape-AgentConfig"),
    ("Event", "/docs/webhooks#events"),
];

/// A member, by its path from the body's root.
pub(super) struct Field<'a> {
    pub(super) path: String,
    pub(super) kind: String,
    pub(super) required: bool,
    pub(super) description: &'a str,
    pub(super) limits: Vec<String>,
    pub(super) words: Vec<&'a str>,
    /// The schema that describes the rest, and the address of its section.
    pub(super) apart: Option<(&'static str, &'static str)>,
}

/// All members of a schema, each followed by its own members.
pub(super) fn of<'a>(document: &'a Value, schema: &'a Value) -> Vec<Field<'a>> {
    let mut fields = Vec::new();
    collect(document, schema, "", &mut fields);
    fields
}

/// Path, query and header parameters as fields.
pub(super) fn of_parameters<'a>(document: &'a Value, parameters: &'a [Value]) -> Vec<Field<'a>> {
    let field = |parameter: &'a Value| {
        let place = parameter["in"].as_str().unwrap_or_default();
        let description = parameter["description"].as_str().unwrap_or_default();
        Field {
            path: parameter["name"].as_str().unwrap_or_default().to_owned(),
            kind: format!("{} in {place}", kind(document, &parameter["schema"])),
            required: parameter["required"] == true,
            description,
            limits: limits(&parameter["schema"], description),
            words: words(&parameter["schema"]),
            apart: None,
        }
    };
    parameters.iter().map(field).collect()
}

/// The schema that a reference points to, and its name.
pub(super) fn resolve<'a>(document: &'a Value, schema: &'a Value) -> (Option<&'a str>, &'a Value) {
    let Some(target) = schema["$ref"].as_str() else {
        return (None, schema);
    };
    let name = target.rsplit('/').next();
    let found = document.pointer(target.trim_start_matches('#'));
    (name, found.unwrap_or(schema))
}

fn collect<'a>(document: &'a Value, schema: &'a Value, prefix: &str, fields: &mut Vec<Field<'a>>) {
    let (_, schema) = resolve(document, schema);
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let required = schema["required"].as_array().into_iter().flatten();
        let (apart, inner) = inner(document, member);
        let many = if member["items"].is_object() {
            "[]"
        } else {
            ""
        };
        let path = format!("{prefix}{name}{many}");
        let description = member["description"].as_str().unwrap_or_default();
        fields.push(Field {
            path: path.clone(),
            kind: kind(document, member),
            required: required.into_iter().any(|it| it == name),
            description,
            limits: limits(member, description),
            words: words(member),
            apart,
        });
        if apart.is_none() {
            collect(document, inner, &format!("{path}."), fields);
        }
    }
}

/// The schema within a member: an array's items, or a reference's target. Only the name, if it has its own section.
fn inner<'a>(
    document: &'a Value,
    member: &'a Value,
) -> (Option<(&'static str, &'static str)>, &'a Value) {
    let member = match &member["items"] {
        Value::Null => member,
        items => items,
    };
    let choice = &member["anyOf"][0];
    let member = if choice.is_null() { member } else { choice };
    let (name, inner) = resolve(document, member);
    let apart = APART.into_iter().find(|(known, _)| Some(*known) == name);
    (apart, inner)
}

/// The type in words.
pub(super) fn kind(document: &Value, schema: &Value) -> String {
    if let Some(choices) = schema["anyOf"].as_array() {
        let kinds: Vec<_> = choices.iter().map(|one| kind(document, one)).collect();
        return kinds.join(" or ");
    }
    let (name, schema) = resolve(document, schema);
    if schema["oneOf"].is_array() {
        return name.unwrap_or("object").to_owned();
    }
    let kinds = match &schema["type"] {
        Value::Array(kinds) => kinds.clone(),
        one => vec![one.clone()],
    };
    let format = match schema["format"].as_str() {
        Some("uuid") => "UUID",
        Some("date-time") => "timestamp",
        Some("date") => "date",
        Some("binary") => "file",
        _ if schema["contentMediaType"].is_string() => "file",
        _ => "",
    };
    let named = kinds
        .iter()
        .filter_map(Value::as_str)
        .map(|kind| match kind {
            "array" => "array".to_owned(),
            "string" if !format.is_empty() => format.to_owned(),
            other => other.to_owned(),
        });
    named.collect::<Vec<_>>().join(" or ")
}

/// The words of an enum.
fn words(schema: &Value) -> Vec<&str> {
    let of = |schema: &'_ Value| schema["enum"].is_array();
    let schema = if of(schema) { schema } else { &schema["items"] };
    let words = schema["enum"].as_array().into_iter().flatten();
    words.filter_map(Value::as_str).collect()
}

/// Limits in words, except those that the description mentions.
fn limits(schema: &Value, description: &str) -> Vec<String> {
    let is_shown = |limit: &Value| {
        let plain = limit.to_string();
        let digits = description.replace(',', "");
        let mut numbers = digits.split(|c: char| !c.is_ascii_digit() && c != '.');
        numbers.any(|number| number.trim_end_matches('.') == plain)
    };
    let range = |least: &str, most: &str, unit: &str| match (&schema[least], &schema[most]) {
        (Value::Null, Value::Null) => None,
        (least, most) if is_shown(least) || is_shown(most) => None,
        (Value::Null, most) => Some(format!("at most {most}{unit}")),
        (least, Value::Null) => Some(format!("at least {least}{unit}")),
        (least, most) => Some(format!("{least} to {most}{unit}")),
    };
    let pattern = schema["pattern"].as_str();
    let pattern = pattern.filter(|_| !description.contains("E.164") && !description.contains('('));
    let default = match &schema["default"] {
        Value::Null => None,
        value if is_shown(value) => None,
        value => Some(format!("{value} unless said")),
    };
    [
        range("minimum", "maximum", ""),
        range("minLength", "maxLength", " characters"),
        range("minItems", "maxItems", " items"),
        pattern.map(|pattern| format!("pattern {pattern}")),
        default,
    ]
    .into_iter()
    .flatten()
    .collect()
}
