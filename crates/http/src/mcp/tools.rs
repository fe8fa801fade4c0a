//! The tools: operations of the API, each with the schema of its arguments.

use std::collections::HashSet;
use std::sync::LazyLock;
use std::time::Duration;

use actix_web::http::Method;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

/// The operations, and the hints for clients: whether one changes nothing, and whether one may destroy something.
const OPERATIONS: [(&str, bool, bool); 25] = [
    ("listAgents", true, false),
    ("getAgent", true, false),
    ("listAgentVersions", true, false),
    ("getAgentVersion", true, false),
    ("createAgent", false, false),
    ("updateAgent", false, false),
    ("listScenarios", true, false),
    ("createTestRun", false, false),
    ("getTestRun", true, false),
    ("publishAgent", false, true),
    ("checkDials", true, false),
    ("placeCall", false, true),
    ("getCall", true, false),
    (WAIT, true, false),
    ("hangUpCall", false, true),
    ("listCalls", true, false),
    ("listConversations", true, false),
    ("getConversation", true, false),
    ("listTurns", true, false),
    ("searchKnowledge", true, false),
    ("listDocuments", true, false),
    ("listPhoneNumbers", true, false),
    ("listVoices", true, false),
    ("listModels", true, false),
    ("getCredits", true, false),
];

/// Not an operation: `getCall` until the call has ended.
const WAIT: &str = "waitForCall";
const SECONDS: &str = "timeout_seconds";
const SECONDS_AT_MOST: u64 = 50;
const SECONDS_USUALLY: u64 = 25;

/// An argument in place of the header.
const KEY: &str = "idempotency_key";

/// The nesting at which schemas end.
const DEEPEST: usize = 16;

pub(super) static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    let document = crate::openapi_document();
    let tool = |one: &(&str, bool, bool)| Tool::of(&document, *one);
    OPERATIONS.iter().filter_map(tool).collect()
});

pub(super) struct Tool {
    pub(super) name: String,
    /// As clients are shown it.
    pub(super) shown: Value,
    method: Method,
    path: String,
    query: HashSet<String>,
    has_body: bool,
    needs_key: bool,
    waits: bool,
}

/// A request of the API.
pub(super) struct Asked {
    pub(super) method: Method,
    /// Path and query.
    pub(super) target: String,
    pub(super) key: Option<String>,
    pub(super) body: Option<Vec<u8>>,
}

impl Asked {
    /// The request that only says whose key it has.
    pub(super) fn whose_key() -> Self {
        Self {
            method: Method::GET,
            target: "/v1/me".to_owned(),
            key: None,
            body: None,
        }
    }
}

impl Tool {
    fn of(document: &Value, (id, reads, destroys): (&str, bool, bool)) -> Option<Self> {
        let waits = id == WAIT;
        let operation_id = if waits { "getCall" } else { id };
        let paths = document["paths"].as_object()?;
        let mut all = paths.iter().flat_map(|(path, methods)| {
            let methods = methods.as_object().into_iter().flatten();
            methods.map(move |(method, operation)| (path, method, operation))
        });
        let (path, method, operation) =
            all.find(|(.., operation)| operation["operationId"] == operation_id)?;
        let mut properties = Map::new();
        let (mut required, mut query) = (Vec::new(), HashSet::new());
        let mut needs_key = false;
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let name = parameter["name"].as_str()?;
            let mut schema = whole(document, &parameter["schema"], 0);
            schema["description"] = parameter["description"].clone();
            match parameter["in"].as_str()? {
                "path" => required.push(name.to_owned()),
                "query" => {
                    query.insert(name.to_owned());
                }
                _ if name == "Idempotency-Key" => {
                    needs_key = true;
                    required.push(KEY.to_owned());
                    properties.insert(KEY.to_owned(), schema);
                    continue;
                }
                _ => continue,
            }
            properties.insert(name.to_owned(), schema);
        }
        let body = &operation["requestBody"]["content"]["application/json"]["schema"];
        let body = whole(document, body, 0);
        if let Some(members) = body["properties"].as_object() {
            properties.extend(members.clone());
            let needed = body["required"].as_array().into_iter().flatten();
            required.extend(needed.filter_map(|name| name.as_str().map(str::to_owned)));
        }
        let name = snake(id);
        let summary = operation["summary"].as_str()?;
        let mut description = summary.to_owned();
        if let Some(more) = operation["description"].as_str() {
            description = format!("{summary}. {more}");
        }
        if waits {
            description = "Wait until a call has ended, and read it".to_owned();
            properties.insert(SECONDS.to_owned(), json!({
                "type": "integer", "minimum": 1, "maximum": SECONDS_AT_MOST,
                "description": format!("How long to wait at most, {SECONDS_USUALLY} by default. Then the call is returned as it is."),
            }));
        }
        let shown = json!({
            "name": name,
            "title": if waits { "Wait for a call" } else { summary },
            "description": description,
            "inputSchema": {
                "type": "object", "properties": properties, "required": required, "additionalProperties": false,
            },
            "annotations": {
                "readOnlyHint": reads, "destructiveHint": destroys,
                "idempotentHint": reads || needs_key, "openWorldHint": id == "placeCall",
            },
        });
        Some(Self {
            name,
            shown,
            method: method.to_uppercase().parse().ok()?,
            path: path.clone(),
            query,
            has_body: !body.is_null(),
            needs_key,
            waits,
        })
    }

    /// The request of a call with these arguments, and how long its call's end is waited for.
    pub(super) fn ask(
        &self,
        arguments: &Map<String, Value>,
    ) -> Result<(Asked, Option<Duration>), String> {
        let (mut target, mut query) = (self.path.clone(), Vec::new());
        let (mut key, mut body) = (None, Map::new());
        let mut wait = self.waits.then_some(SECONDS_USUALLY);
        for (name, value) in arguments {
            let place = format!("{{{name}}}");
            if target.contains(&place) {
                target = target.replace(&place, &plain(name, value)?);
            } else if self.query.contains(name) {
                if !value.is_null() {
                    query.push(format!("{name}={}", plain(name, value)?));
                }
            } else if self.needs_key && name == KEY {
                key = Some(value.as_str().unwrap_or_default().to_owned());
            } else if self.waits && name == SECONDS {
                let seconds = value.as_u64().filter(|n| (1..=SECONDS_AT_MOST).contains(n));
                let text = format!("`{SECONDS}`: must be an integer from 1 to {SECONDS_AT_MOST}");
                wait = Some(seconds.ok_or(text)?);
            } else if self.has_body {
                body.insert(name.clone(), value.clone());
            } else {
                return Err(format!("`{name}`: unknown argument of {}", self.name));
            }
        }
        if let Some((_, rest)) = target.split_once('{') {
            let name = rest.split('}').next().unwrap_or_default();
            return Err(format!("`{name}`: is required"));
        }
        let is_key = |key: &String| {
            (1..=255).contains(&key.len()) && key.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        };
        if self.needs_key && !key.as_ref().is_some_and(is_key) {
            return Err(format!(
                "`{KEY}`: is required: 1 to 255 printable ASCII characters, new for each call and the same when it is tried again"
            ));
        }
        if !query.is_empty() {
            target = format!("{target}?{}", query.join("&"));
        }
        let body = self
            .has_body
            .then(|| Value::Object(body).to_string().into_bytes());
        let asked = Asked {
            method: self.method.clone(),
            target,
            key,
            body,
        };
        Ok((asked, wait.map(Duration::from_secs)))
    }
}

/// A value in a path or query.
fn plain(name: &str, value: &Value) -> Result<String, String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(is) => is.to_string(),
        _ => return Err(format!("`{name}`: must be a string, a number or a boolean")),
    };
    if text.is_empty() {
        return Err(format!("`{name}`: must not be empty"));
    }
    Ok(utf8_percent_encode(&text, NON_ALPHANUMERIC).to_string())
}

/// A schema without references.
fn whole(document: &Value, schema: &Value, depth: usize) -> Value {
    if depth > DEEPEST {
        return json!({});
    }
    if let Some(target) = schema["$ref"].as_str() {
        let target = document.pointer(target.trim_start_matches('#'));
        return target.map_or_else(|| json!({}), |target| whole(document, target, depth + 1));
    }
    match schema {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), whole(document, value, depth + 1)))
            .collect(),
        Value::Array(items) => items
            .iter()
            .map(|item| whole(document, item, depth + 1))
            .collect(),
        other => other.clone(),
    }
}

/// `place_call` of `placeCall`.
fn snake(id: &str) -> String {
    let mut name = String::new();
    for letter in id.chars() {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}
