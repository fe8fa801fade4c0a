//! The API as an OpenAPI document. Tests compare its operations with the routes, its error codes with the table, and
//! every response that the tests receive with its schemas.

mod body;
mod examples;
mod operations;
mod parts;
pub(crate) mod schemas;
pub(crate) mod shape;
mod words;

use std::collections::BTreeMap;

use offhook_domain::EventType;
use serde_json::{Map, Value, json};

use crate::Code;
use examples::Examples;
use operations::{Access, Answer, Operation};
use schemas::reference;

/// The API as an OpenAPI 3.1 document; `info.version` is the API's version.
pub fn document() -> Value {
    let examples = Examples::load();
    let mut paths: Map<String, Value> = Map::new();
    for operation in parts::operations() {
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        if let Value::Object(methods) = path {
            methods.insert(
                operation.method.to_lowercase(),
                describe(&operation, &examples),
            );
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Offhook API",
            "version": "1.0.0",
            "description": "Place calls with AI agents, chat with them, read conversations as they happen, and manage \
                            agents, knowledge, numbers, call lists and webhooks.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}],
        "paths": paths,
        "webhooks": webhooks(&examples),
        "components": {
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An API key, `service_live_` and 64 hexadecimal characters.",
                },
            },
            "headers": headers(),
            "schemas": all_schemas(),
            "examples": examples.errors(),
        },
    })
}

/// Every schema by its name.
fn all_schemas() -> Map<String, Value> {
    let mut all = vec![
        ("Error", schemas::error()),
        ("Nothing", schemas::request(&[], &[])),
    ];
    all.extend(parts::schemas());
    for (name, schema) in &mut all {
        words::describe(name, schema);
    }
    schemas::properties(&all)
}

/// The events that the service sends to an account's endpoints.
fn webhooks(examples: &Examples) -> Value {
    let header = |name: &str, description: &str| {
        json!({
            "name": name,
            "in": "header",
            "required": true,
            "description": description,
            "schema": {"type": "string"},
        })
    };
    let parameters = [
        header("User-Agent", "`Service-Webhook/1.0`."),
        header(
            "X-Service-Signature",
            "`t=<unix seconds>,v1=<hex>`: HMAC-SHA256 of `<t>.<body>`, keyed by the endpoint's whole secret. While a rotated secret \
             still signs there is a `v1` for each. Refuse a `t` that is off by more than 300 s.",
        ),
        header("X-Service-Event", "The event's type."),
        header(
            "X-Service-Event-Id",
            "The event's id, the same in all attempts. Use it to detect duplicates.",
        ),
        header("X-Service-Delivery", "The id of this attempt."),
    ];
    let described = EventType::ALL.iter().map(|kind| {
        let shape = schemas::event_name(*kind);
        let body = json!({"schema": reference(shape), "example": examples.shape(shape)});
        let post = json!({
            "summary": kind.to_string(),
            "security": [],
            "parameters": parameters,
            "requestBody": {
                "required": true,
                "content": {"application/json": body},
            },
            "responses": {
                "2XX": {"description": "Respond within 10 s; any other response is a failed attempt."},
            },
        });
        (kind.to_string(), json!({ "post": post }))
    });
    Value::Object(described.collect())
}

fn headers() -> Value {
    let header = |kind: &str, description: &str, example: Value| json!({"description": description, "schema": {"type": kind}, "example": example});
    json!({
        "X-Request-Id": {
            "description": "The request's id, a UUID made by the server.",
            "schema": {"type": "string", "format": "uuid"},
            "example": "019ddfb5-63e0-71f5-8b91-45b24d108d7a",
        },
        "X-RateLimit-Limit": header("integer", "The account's requests per minute.", json!(40)),
        "X-RateLimit-Remaining": header("integer", "Requests that the account may send now.", json!(38)),
        "X-RateLimit-Reset": header("integer", "The Unix second at which the next token is added.", json!(1_777_574_702)),
        "Retry-After": header("integer", "Seconds to wait.", json!(2)),
        "Content-Disposition": header("string", "`attachment`, with a file name.", json!("attachment; filename=\"document.txt\"; filename*=UTF-8''Opening%20hours.txt")),
        "Location": header("string", "The path of the created resource.", json!("/v1/calls/call_019ddfa9-2f58-77ed-b360-f06acaef2cc8")),
        "Idempotent-Replayed": header("string", "`true` on the response to a retried Idempotency-Key.", json!("true")),
    })
}

fn describe(operation: &Operation, examples: &Examples) -> Value {
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "tags": [operation.path.split('/').nth(2).unwrap_or_default()],
        "description": description(operation),
        "parameters": parameters(operation, examples),
        "responses": responses(operation, examples),
    });
    match operation.access {
        Access::Open => described["security"] = json!([]),
        Access::AnyKey => {}
        Access::Scope(scope) => described["x-required-scope"] = json!(scope.as_str()),
    }
    if let Some(body) = operation.body {
        let content = |shape| json!({"schema": reference(shape), "example": examples.shape(shape)});
        described["requestBody"] = json!({
            "required": body.required,
            "content": {"application/json": content(body.schema)},
        });
        if let Some(form) = operation.form {
            described["requestBody"]["content"]["multipart/form-data"] = content(form);
        }
    }
    described
}

/// What the operation does, and the access that it requires.
fn description(operation: &Operation) -> String {
    let needs = match operation.access {
        Access::Open => "Needs no key.".to_owned(),
        Access::AnyKey => "Needs any valid key.".to_owned(),
        Access::Scope(scope) if operation.path.starts_with("/v1/knowledge/") => {
            format!("Needs a key with the scope `{scope}`, and a plan with the Engine module.")
        }
        Access::Scope(scope) => format!("Needs a key with the scope `{scope}`."),
    };
    match words::of_operation(operation.id) {
        Some(text) => format!("{text}\n\n{needs}"),
        None => needs,
    }
}

fn parameters(operation: &Operation, examples: &Examples) -> Vec<Value> {
    let mut parameters = operation.parameters();
    for parameter in parameters.iter_mut().filter(|it| it["in"] == "path") {
        parameter["example"] = match parameter["name"].as_str() {
            Some("id") => json!(examples.id(operation.path)),
            Some("run") => json!(examples.run()),
            _ => json!(2),
        };
    }
    parameters
}

fn responses(operation: &Operation, examples: &Examples) -> Value {
    let mut responses: BTreeMap<u16, Value> = BTreeMap::new();
    responses.insert(operation.status, success(operation, examples));
    if matches!(operation.answer, Answer::Audio) {
        responses.insert(206, success(operation, examples));
    }
    let mut errors: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in operation.errors() {
        errors.entry(code.status().as_u16()).or_default().push(code);
    }
    for (status, codes) in errors {
        responses.insert(status, error(operation, &codes, examples));
    }
    responses
        .into_iter()
        .map(|(status, response)| (status.to_string(), response))
        .collect()
}

fn success(operation: &Operation, examples: &Examples) -> Value {
    let mut names = vec!["X-Request-Id"];
    names.extend(limit_headers(operation));
    if ["placeCall", "createBatch", "retryBatch"].contains(&operation.id) {
        names.extend(["Location", "Idempotent-Replayed"]);
    }
    if matches!(operation.answer, Answer::Text | Answer::Csv) {
        names.push("Content-Disposition");
    }
    let binary = || json!({"type": "string", "format": "binary"});
    let (media_type, schema) = match operation.answer {
        Answer::One(shape) => ("application/json", reference(shape)),
        Answer::List(item) => ("application/json", schemas::list(item)),
        Answer::Pdf => ("application/pdf", binary()),
        Answer::Text => ("text/plain", schemas::string()),
        Answer::Csv => ("text/csv", schemas::string()),
        Answer::Events => ("text/event-stream", schemas::string()),
        Answer::Audio => ("audio/wav", binary()),
    };
    let mut content = json!({media_type: {"schema": schema}});
    if let Some(example) = examples.answer(operation) {
        content[media_type]["example"] = example;
    }
    json!({"description": "Done.", "headers": header_references(&names), "content": content})
}

fn error(operation: &Operation, codes: &[Code], examples: &Examples) -> Value {
    let texts: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
    let mut names = vec!["X-Request-Id"];
    let known_caller =
        |code: &Code| !matches!(code, Code::Unauthorized | Code::RateLimitUnavailable);
    if codes.iter().any(known_caller) {
        names.extend(limit_headers(operation));
    }
    let waits = |code: &Code| {
        matches!(
            code,
            Code::RateLimitExceeded
                | Code::RateLimitUnavailable
                | Code::ServiceUnavailable
                | Code::Conflict
        )
    };
    if codes.iter().any(waits) {
        names.push("Retry-After");
    }
    let schema = json!({
        "allOf": [reference("Error"), {"properties": {"error": {"enum": texts}}}],
    });
    let examples = codes
        .iter()
        .map(|code| (code.as_str().to_owned(), examples.error(operation, *code)));
    let examples = Value::Object(examples.collect());
    json!({
        "description": texts.join(", "),
        "headers": header_references(&names),
        "content": {"application/json": {"schema": schema, "examples": examples}},
    })
}

fn limit_headers(operation: &Operation) -> &'static [&'static str] {
    match operation.access {
        Access::Open => &[],
        Access::AnyKey | Access::Scope(_) => &[
            "X-RateLimit-Limit",
            "X-RateLimit-Remaining",
            "X-RateLimit-Reset",
        ],
    }
}

fn header_references(names: &[&str]) -> Value {
    let references = names.iter().map(|name| {
        let reference = json!({"$ref": format!("#/components/headers/{name}")});
        ((*name).to_owned(), reference)
    });
    Value::Object(references.collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_committed_document_is_the_one_that_is_served() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
        let text = std::fs::read_to_string(path).unwrap();
        let mut committed: Value = serde_json::from_str(&text).unwrap();
        let mut served = document();
        // The operator decides where the API is served.
        (committed["servers"], served["servers"]) = (Value::Null, Value::Null);
        assert!(
            committed == served,
            "write it anew: offhook openapi > docs/openapi.json"
        );
    }

    #[test]
    fn the_operations_are_the_routes_under_v1() {
        let document = document();
        let mut described = BTreeSet::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for method in methods.as_object().unwrap().keys() {
                described.insert((path.clone(), method.to_uppercase()));
            }
        }
        let mut routed = BTreeSet::new();
        for endpoint in crate::routes::table() {
            if endpoint.path.starts_with("/v1/") {
                for method in endpoint.methods() {
                    routed.insert((endpoint.path.to_owned(), method.to_owned()));
                }
            }
        }
        assert_eq!(described, routed);
    }

    #[test]
    fn every_reference_leads_somewhere_and_every_schema_is_used() {
        fn collect(value: &Value, found: &mut BTreeSet<String>) {
            match value {
                Value::Object(members) => {
                    if let Some(Value::String(target)) = members.get("$ref") {
                        found.insert(target.clone());
                    }
                    members.values().for_each(|member| collect(member, found));
                }
                Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
                _ => {}
            }
        }
        let document = document();
        let mut used = BTreeSet::new();
        collect(&document, &mut used);
        for target in &used {
            let pointer = target.trim_start_matches('#');
            assert!(document.pointer(pointer).is_some(), "{target}");
        }
        for name in document["components"]["schemas"]
            .as_object()
            .unwrap()
            .keys()
        {
            let target = format!("#/components/schemas/{name}");
            assert!(used.contains(&target), "{name}");
        }
    }

    #[test]
    fn every_code_has_its_status_and_those_of_placing_a_call_are_all_there() {
        let document = document();
        let mut of_placing = BTreeSet::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                for (status, response) in operation["responses"].as_object().unwrap() {
                    let schema = &response["content"]["application/json"]["schema"];
                    let codes = schema["allOf"][1]["properties"]["error"]["enum"].as_array();
                    for code in codes.into_iter().flatten() {
                        let code = Code::ALL
                            .iter()
                            .find(|known| known.as_str() == code)
                            .unwrap();
                        assert_eq!(code.status().as_u16().to_string(), *status);
                        if (path.as_str(), method.as_str()) == ("/v1/calls", "post") {
                            of_placing.insert(code.as_str());
                        }
                    }
                }
            }
        }
        for code in [
            "agent_not_found",
            "agent_disabled",
            "idempotency_conflict",
            "invalid_idempotency_key",
            "key_budget_exhausted",
            "payment_required",
            "upstream_unreachable",
            "service_unavailable",
            "rate_limit_unavailable",
        ] {
            assert!(of_placing.contains(code), "{code}");
        }
    }
}
