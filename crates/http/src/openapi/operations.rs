//! An operation's parameters, body, response and errors.

use crate::prelude::*;

pub(super) struct Operation {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    pub(super) access: Access,
    pub(super) body: Option<Body>,
    /// The schema of the same body as a multipart form, if the operation accepts one.
    pub(super) form: Option<&'static str>,
    pub(super) status: u16,
    pub(super) answer: Answer,
    filters: Vec<Value>,
    own_errors: &'static [Code],
}

/// Who may call the operation.
#[derive(Clone, Copy)]
pub(super) enum Access {
    Open,
    AnyKey,
    Scope(Scope),
}

#[derive(Clone, Copy)]
pub(super) struct Body {
    pub(super) schema: &'static str,
    pub(super) required: bool,
}

/// What a success response holds.
#[derive(Clone, Copy)]
pub(super) enum Answer {
    /// One object of this schema.
    One(&'static str),
    /// The list envelope with items of this schema.
    List(&'static str),
    /// Server-sent events.
    Events,
    /// A WAV file, or a part of one (206).
    Audio,
    Pdf,
    /// A plain text download.
    Text,
    /// A CSV download.
    Csv,
}

impl Operation {
    pub(super) fn new(
        method: &'static str,
        path: &'static str,
        id: &'static str,
        access: Access,
        answer: Answer,
        summary: &'static str,
    ) -> Self {
        Self {
            method,
            path,
            id,
            summary,
            access,
            body: None,
            form: None,
            status: 200,
            answer,
            filters: Vec::new(),
            own_errors: &[],
        }
    }

    pub(super) fn body(mut self, schema: &'static str) -> Self {
        self.body = Some(Body {
            schema,
            required: true,
        });
        self
    }

    pub(super) fn optional_body(mut self, schema: &'static str) -> Self {
        self.body = Some(Body {
            schema,
            required: false,
        });
        self
    }

    pub(super) fn form(mut self, schema: &'static str) -> Self {
        self.form = Some(schema);
        self
    }

    pub(super) fn filters(mut self, filters: Vec<Value>) -> Self {
        self.filters = filters;
        self
    }

    pub(super) fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    pub(super) fn errors_too(mut self, codes: &'static [Code]) -> Self {
        self.own_errors = codes;
        self
    }

    /// The scope that the operation requires.
    pub(super) fn scope(&self) -> Option<&'static str> {
        match self.access {
            Access::Scope(scope) => Some(scope.as_str()),
            Access::Open | Access::AnyKey => None,
        }
    }

    /// Path, query and header parameters.
    pub(super) fn parameters(&self) -> Vec<Value> {
        let mut parameters = Vec::new();
        if self.path.contains("{id}") {
            parameters.push(match self.path.starts_with("/v1/calls/") {
                true => path_id(json!({"type": "string"}), "The call handle, `call_<uuid>`."),
                false => {
                    let uuid = json!({"type": "string", "format": "uuid"});
                    path_id(uuid, &format!("The {}'s id.", self.whose()))
                }
            });
        }
        if self.path.contains("{run}") {
            parameters.push(json!({
                "name": "run", "in": "path", "required": true, "description": "The run's id.",
                "schema": {"type": "string", "format": "uuid"}
            }));
        }
        if self.path.contains("{version}") {
            let version = json!({"type": "integer", "minimum": 1});
            parameters.push(json!({
                "name": "version", "in": "path", "required": true, "description": "The version's number.",
                "schema": version
            }));
        }
        if matches!(self.answer, Answer::List(_)) {
            parameters.extend(paging());
        }
        parameters.extend(self.filters.iter().cloned());
        parameters
    }

    /// The resource that the path's id names.
    fn whose(&self) -> &'static str {
        let before = self.path.split("/{id}").next();
        match before.and_then(|before| before.rsplit('/').next()) {
            Some("agents") => "agent",
            Some("batch-calls") => "batch",
            Some("campaigns") => "campaign",
            Some("conversations") => "conversation",
            Some("deliveries") => "delivery",
            Some("documents") => "document",
            Some("folders") => "folder",
            Some("invoices") => "invoice",
            Some("phone-numbers") => "phone number",
            Some("scenarios") => "scenario",
            Some("tools") => "tool",
            Some("webhooks") => "endpoint",
            _ => "thing",
        }
    }

    /// Every error that the operation may return.
    pub(super) fn errors(&self) -> Vec<Code> {
        let mut codes = vec![
            Code::InvalidQuery,
            Code::RateLimitExceeded,
            Code::RateLimitUnavailable,
        ];
        // An open operation needs no other service, so it cannot fail that way.
        if !matches!(self.access, Access::Open) {
            codes.extend([
                Code::Unauthorized,
                Code::InternalError,
                Code::ServiceUnavailable,
            ]);
        }
        if let Access::Scope(scope) = self.access {
            codes.extend([Code::InsufficientScope, Code::PlanLimit]);
            if scope.writes() {
                codes.push(Code::Forbidden);
            }
        }
        if self.path.contains("{id}") {
            codes.push(Code::NotFound);
        }
        if self.body.is_some() {
            codes.extend([Code::InvalidJson, Code::InvalidBody, Code::PayloadTooLarge]);
        }
        codes.extend(self.own_errors);
        codes
    }
}

fn path_id(schema: Value, description: &str) -> Value {
    json!({"name": "id", "in": "path", "required": true, "description": description, "schema": schema})
}

pub(super) fn query(name: &str, description: &str, schema: Value) -> Value {
    json!({"name": name, "in": "query", "description": description, "schema": schema})
}

pub(super) fn header(name: &str, description: &str, schema: Value) -> Value {
    json!({"name": name, "in": "header", "description": description, "schema": schema})
}

/// The parameter of every stream.
pub(super) fn last_event_id() -> Value {
    let words = "The id of the last event received; the stream continues after it.";
    header("Last-Event-ID", words, json!({"type": "string"}))
}

/// The parameters of every list.
pub(super) fn paging() -> [Value; 2] {
    let limit = json!({"type": "integer", "minimum": 1, "maximum": 100, "default": 20});
    let cursor = json!({"type": "string"});
    [
        query("limit", "Items per page.", limit),
        query("cursor", "The `next_cursor` of the previous page.", cursor),
    ]
}

pub(super) fn period() -> [Value; 2] {
    let instant = json!({"type": "string"});
    [
        query(
            "from",
            "Only items at or after this ISO 8601 date or datetime (UTC unless it has an offset).",
            instant.clone(),
        ),
        query(
            "to",
            "Only items at or before this ISO 8601 date or datetime; a date means its last instant.",
            instant,
        ),
    ]
}

/// Operations, one per line: method and path, name, access and response, summary. Optional details follow.
macro_rules! operations {
    ($(
        $method:ident $path:expr, $id:ident, $access:expr => $answer:expr, $summary:literal
        $(.$with:ident($($argument:expr),* $(,)?))*;
    )*) => {
        vec![$(
            Operation::new(stringify!($method), $path, stringify!($id), $access, $answer, $summary)
                $(.$with($($argument),*))*,
        )*]
    };
}
pub(super) use operations;

/// Schemas of bodies, one per line: the name, and the schema.
macro_rules! schemas {
    ($($name:ident => $schema:expr;)*) => {
        vec![$((stringify!($name), $schema),)*]
    };
}
pub(super) use schemas;
