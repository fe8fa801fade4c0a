//! Compares every response in the tests with the OpenAPI document, and records it.

use std::sync::LazyLock;

use offhook_testkit::Interface;
use serde_json::{Value, json};

use crate::it::client::Answer;

/// The served API document.
pub(crate) static INTERFACE: LazyLock<Interface> =
    LazyLock::new(|| Interface::new(offhook_http::openapi_document()));

pub(crate) static DOCUMENT: LazyLock<&Value> = LazyLock::new(|| INTERFACE.document());

/// Checks a response under /v1 against its operation. Unknown paths and methods have none.
pub(crate) fn check(method: &str, target: &str, answer: &Answer) {
    let path = target.split('?').next().unwrap_or_default();
    let Some(operation) = INTERFACE.operation(method, path) else {
        return;
    };
    let response = &operation["responses"][answer.status.to_string()];
    let what = format!("{method} {path} {}", answer.status);
    assert!(response.is_object(), "{what} is not in the document");
    if let Some(schema) = response.pointer("/content/application~1json/schema") {
        let faults = validate(schema, &answer.json());
        assert!(faults.is_empty(), "{what}: {}", faults.join(", "));
    }
    INTERFACE.saw(method, target, answer.status, &answer.body);
}

/// The faults of a value, for the part of JSON Schema that the document uses. A member without a schema is a fault.
fn validate(schema: &Value, value: &Value) -> Vec<String> {
    if let Some(target) = schema["$ref"].as_str() {
        let target = INTERFACE.document().pointer(target.trim_start_matches('#'));
        return validate(target.unwrap_or(&Value::Null), value);
    }
    if let Some(all) = schema["allOf"].as_array() {
        return all.iter().flat_map(|part| validate(part, value)).collect();
    }
    if let Some(any) = schema["anyOf"].as_array() {
        let fits = any.iter().any(|part| validate(part, value).is_empty());
        return if fits {
            vec![]
        } else {
            vec![format!("{value} fits none of {any:?}")]
        };
    }
    let mut faults = Vec::new();
    let kinds = match &schema["type"] {
        Value::Array(kinds) => kinds.clone(),
        Value::Null => vec![],
        one => vec![one.clone()],
    };
    if !kinds.is_empty() && !kinds.iter().any(|kind| is_a(kind, value)) {
        faults.push(format!("{value} is no {}", schema["type"]));
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        faults.push(format!("{value} is none of {words:?}"));
    }
    if let Value::Array(items) = value {
        faults.extend(
            items
                .iter()
                .flat_map(|item| validate(&schema["items"], item)),
        );
    }
    if let (Value::Object(members), Some(named)) = (value, schema["properties"].as_object()) {
        for name in schema["required"].as_array().into_iter().flatten() {
            if !name.as_str().is_some_and(|name| members.contains_key(name)) {
                faults.push(format!("{name} is missing"));
            }
        }
        for (name, member) in members {
            match named.get(name) {
                Some(schema) => faults.extend(validate(schema, member)),
                None if schema["required"].is_array() => faults.push(format!("{name} is unknown")),
                None => {}
            }
        }
    }
    faults
}

fn is_a(kind: &Value, value: &Value) -> bool {
    match kind.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        _ => false,
    }
}

#[test]
fn a_request_belongs_to_the_operation_of_its_path_and_a_fixed_path_comes_first() {
    let interface = Interface::new(json!({"paths": {
        "/v1/agents/{id}": {"get": {"operationId": "getAgent"}},
        "/v1/agents/tools": {"get": {"operationId": "listTools"}},
        "/v1/agents/{id}/versions/{version}": {"get": {"operationId": "getVersion"}},
    }}));
    for (method, path, id) in [
        ("GET", "/v1/agents/7", Some("getAgent")),
        ("GET", "/v1/agents/tools", Some("listTools")),
        ("GET", "/v1/agents/7/versions/1", Some("getVersion")),
        ("POST", "/v1/agents/7", None),
        ("GET", "/v1/agents/", None),
        ("GET", "/v1/agents/7/versions", None),
    ] {
        let found = interface.operation(method, path);
        let found = found.and_then(|operation| operation["operationId"].as_str());
        assert_eq!(found, id, "{method} {path}");
    }
    assert_eq!(interface.operations().count(), 3);
}
