//! Schemas of bodies, from their definitions.

use offhook_domain::body::{Body, Member, Shape};
use serde_json::{Map, Value, json};

use super::schemas::{
    any_object, array, boolean, e164, instant, integer, nullable, number, string, uuid, words,
};

/// The schema of a request's body.
pub(super) fn request<B: Body>() -> Value {
    request_with::<B>(&|_| json!({}))
}

/// As [`request`]; `own` has the schemas of members with a reader of their own.
pub(super) fn request_with<B: Body>(own: &dyn Fn(&str) -> Value) -> Value {
    let members = B::members();
    let required = members.iter().filter(|member| member.is_required);
    let required: Vec<&str> = required.map(|member| member.name).collect();
    json!({
        "type": "object",
        "required": required,
        "properties": properties(members, own),
        "additionalProperties": false,
    })
}

/// The schemas of members by their names.
pub(super) fn properties(members: Vec<Member>, own: &dyn Fn(&str) -> Value) -> Map<String, Value> {
    let described = |member: Member| {
        let name = member.name.to_owned();
        let mut schema = match (member.is_nullable, schema(member.name, member.shape, own)) {
            (true, schema) => nullable(schema),
            (false, schema) => schema,
        };
        schema["description"] = member.about.into();
        (name, schema)
    };
    members.into_iter().map(described).collect()
}

fn schema(name: &str, shape: Shape, own: &dyn Fn(&str) -> Value) -> Value {
    match shape {
        Shape::Text {
            most: usize::MAX, ..
        } => string(),
        Shape::Text { most, .. } => json!({"type": "string", "maxLength": most}),
        Shape::Number { low, high } => bounded(number(), low.into(), high.into()),
        Shape::Integer { low, high } => bounded(integer(), low.into(), high.into()),
        Shape::SampleRate => nullable(integer()),
        Shape::Flag => boolean(),
        Shape::Word(choices) => words(&choices),
        Shape::Words(choices) => array(words(&choices)),
        Shape::Object => any_object(),
        Shape::Uuid => uuid(),
        Shape::Uuids => array(uuid()),
        Shape::Phone => e164(),
        Shape::Instant => instant(),
        Shape::Section(members) => {
            json!({"type": "object", "properties": properties(members, own)})
        }
        Shape::Other => own(name),
    }
}

fn bounded(mut schema: Value, low: Value, high: Value) -> Value {
    schema["minimum"] = low;
    schema["maximum"] = high;
    schema
}
