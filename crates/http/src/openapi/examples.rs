//! The document's examples: one account's story, with the same ids and times throughout. They are data:
//! `examples/<resource>.json` holds
//!
//! - `ids`: the id in a path;
//! - `shapes`: an example of each body, by the name of its schema;
//! - `operations`: by operation id, what differs: members of its `answer` (or all of it, for plain text), and the
//!   messages of its `errors`, by code.
//!
//! `examples/errors.json` describes each code, with its message for operations that have none of their own. Tests
//! validate every example, send the requests, and provoke the errors (`tests/it/examples.rs`).

use serde_json::{Map, Value, json};

use super::operations::{Answer, Operation};
use crate::Code;

const FILES: [&str; 11] = [
    include_str!("examples/account.json"),
    include_str!("examples/agents.json"),
    include_str!("examples/batches.json"),
    include_str!("examples/billing.json"),
    include_str!("examples/calls.json"),
    include_str!("examples/campaigns.json"),
    include_str!("examples/scenarios.json"),
    include_str!("examples/gate.json"),
    include_str!("examples/knowledge.json"),
    include_str!("examples/numbers.json"),
    include_str!("examples/webhooks.json"),
];

const ERRORS: &str = include_str!("examples/errors.json");

/// The largest body in MiB, with a form and without.
const MEBIBYTES: [&str; 2] = ["20", "1"];

pub(super) struct Examples {
    files: Vec<Value>,
    errors: Value,
}

impl Examples {
    /// A file that is not JSON counts as empty; tests then miss its examples.
    pub(super) fn load() -> Self {
        let read = |text: &str| serde_json::from_str(text).unwrap_or_default();
        Self {
            files: FILES.into_iter().map(read).collect(),
            errors: read(ERRORS),
        }
    }

    fn find(&self, kind: &str, name: &str) -> Option<&Value> {
        self.files.iter().find_map(|file| file[kind].get(name))
    }

    fn own(&self, operation: &Operation, member: &str) -> Option<&Value> {
        self.find("operations", operation.id)?.get(member)
    }

    /// The example id for a path.
    pub(super) fn id(&self, path: &str) -> Option<&Value> {
        let end = path.find("{id}")? + "{id}".len();
        self.find("ids", &path[..end])
    }

    /// The example id of a run of scenarios.
    pub(super) fn run(&self) -> Option<&Value> {
        self.find("ids", "{run}")
    }

    /// An example of this schema.
    pub(super) fn shape(&self, schema: &str) -> Option<&Value> {
        self.find("shapes", schema)
    }

    /// The response of an operation, except files.
    pub(super) fn answer(&self, operation: &Operation) -> Option<Value> {
        let own = self.own(operation, "answer");
        let mut answer = match operation.answer {
            Answer::One(schema) => self.shape(schema).cloned()?,
            Answer::List(item) => {
                let items: Vec<_> = self.shape(item).into_iter().collect();
                json!({"data": items, "has_more": false, "next_cursor": null})
            }
            Answer::Events | Answer::Text | Answer::Csv => return own.cloned(),
            Answer::Audio | Answer::Pdf => return None,
        };
        if let (Value::Object(answer), Some(Value::Object(own))) = (&mut answer, own) {
            answer.extend(own.clone());
        }
        Some(answer)
    }

    /// An Example Object of this code, or a reference to the shared one.
    pub(super) fn error(&self, operation: &Operation, code: Code) -> Value {
        let mut own = self.own(operation, "errors").unwrap_or(&Value::Null)[code.as_str()].as_str();
        let under = self.errors["under"].as_object().into_iter().flatten();
        for (prefix, messages) in under {
            if operation.path.starts_with(prefix) {
                own = own.or_else(|| messages[code.as_str()].as_str());
            }
        }
        if matches!(operation.answer, Answer::List(_)) {
            own = own.or_else(|| self.errors["lists"][code.as_str()].as_str());
        }
        let usual = self.usual(code);
        match own {
            None if !usual.contains('{') => {
                json!({"$ref": format!("#/components/examples/{}", code.as_str())})
            }
            _ => {
                let scope = operation.scope().unwrap_or_default();
                let form = MEBIBYTES[usize::from(operation.form.is_none())];
                self.envelope(code, &fill(own.unwrap_or(usual), scope, form))
            }
        }
    }

    /// An Example Object of every code.
    pub(super) fn errors(&self) -> Value {
        let described = Code::ALL.iter().map(|code| {
            let message = fill(self.usual(*code), "calls:write", MEBIBYTES[1]);
            (code.as_str().to_owned(), self.envelope(*code, &message))
        });
        Value::Object(described.collect::<Map<_, _>>())
    }

    /// The message of operations that have none of their own.
    fn usual(&self, code: Code) -> &str {
        self.errors["codes"][code.as_str()]["message"]
            .as_str()
            .unwrap_or_default()
    }

    fn envelope(&self, code: Code, message: &str) -> Value {
        json!({
            "summary": self.errors["codes"][code.as_str()]["summary"],
            "value": {"error": code.as_str(), "message": message, "request_id": self.errors["request_id"]},
        })
    }
}

fn fill(message: &str, scope: &str, mebibytes: &str) -> String {
    message
        .replace("{scope}", scope)
        .replace("{mebibytes}", mebibytes)
}
