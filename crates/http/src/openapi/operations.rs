//! Every operation: its parameters, body, answer and errors.

use offhook_domain::{AgentStatus, Channel, ConversationStatus, EventType, Runtime, Scope};
use offhook_services::ModelKind;
use offhook_services::store::DeliveryState;
use serde_json::{Value, json};

use crate::Code;

/// An operation.
pub(super) struct Operation {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    pub(super) access: Access,
    pub(super) body: Option<Body>,
    pub(super) status: u16,
    pub(super) answer: Answer,
    filters: Vec<Value>,
    own_errors: &'static [Code],
}

/// Who may ask.
#[derive(Clone, Copy)]
pub(super) enum Access {
    /// Anyone.
    Open,
    /// Any valid key.
    AnyKey,
    /// A key with this scope.
    Scope(Scope),
}

/// A request body.
#[derive(Clone, Copy)]
pub(super) struct Body {
    pub(super) schema: &'static str,
    pub(super) required: bool,
}

/// What a success holds.
#[derive(Clone, Copy)]
pub(super) enum Answer {
    /// One object of this schema.
    One(&'static str),
    /// The list envelope with items of this schema.
    List(&'static str),
    /// Server-sent events.
    Events,
}

impl Operation {
    fn new(
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
            status: 200,
            answer,
            filters: Vec::new(),
            own_errors: &[],
        }
    }

    fn body(mut self, schema: &'static str) -> Self {
        self.body = Some(Body {
            schema,
            required: true,
        });
        self
    }

    fn optional_body(mut self, schema: &'static str) -> Self {
        self.body = Some(Body {
            schema,
            required: false,
        });
        self
    }

    fn filters(mut self, filters: Vec<Value>) -> Self {
        self.filters = filters;
        self
    }

    fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    fn errors_too(mut self, codes: &'static [Code]) -> Self {
        self.own_errors = codes;
        self
    }

    /// Path, query and header parameters.
    pub(super) fn parameters(&self) -> Vec<Value> {
        let mut parameters = Vec::new();
        if self.path.contains("{id}") {
            parameters.push(match self.path.starts_with("/v1/calls/") {
                true => path_id(json!({"type": "string"}), "The call handle, `call_<uuid>`."),
                false => path_id(json!({"type": "string", "format": "uuid"}), "The id."),
            });
        }
        if matches!(self.answer, Answer::List(_)) {
            let limit = json!({"type": "integer", "minimum": 1, "maximum": 100, "default": 20});
            parameters.push(query("limit", "Items on a page.", limit));
            let cursor = json!({"type": "string"});
            parameters.push(query(
                "cursor",
                "The `next_cursor` of the page before.",
                cursor,
            ));
        }
        parameters.extend(self.filters.iter().cloned());
        parameters
    }

    /// Every error that it may answer with.
    pub(super) fn errors(&self) -> Vec<Code> {
        let mut codes = vec![
            Code::InvalidQuery,
            Code::RateLimitExceeded,
            Code::InternalError,
            Code::RateLimitUnavailable,
        ];
        if !matches!(self.access, Access::Open) {
            codes.extend([Code::Unauthorized, Code::ServiceUnavailable]);
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

fn query(name: &str, description: &str, schema: Value) -> Value {
    json!({"name": name, "in": "query", "description": description, "schema": schema})
}

fn header(name: &str, description: &str, schema: Value) -> Value {
    json!({"name": name, "in": "header", "description": description, "schema": schema})
}

fn words<T: ToString>(values: &[T]) -> Value {
    let words: Vec<String> = values.iter().map(ToString::to_string).collect();
    json!({"type": "string", "enum": words})
}

fn period() -> [Value; 2] {
    let instant = json!({"type": "string"});
    [
        query(
            "from",
            "Only items at or after this ISO 8601 date or datetime; UTC without an offset.",
            instant.clone(),
        ),
        query(
            "to",
            "Only items at or before this ISO 8601 date or datetime; a date is its last instant.",
            instant,
        ),
    ]
}

fn conversation_filters(channels: &[Channel]) -> Vec<Value> {
    let uuid = json!({"type": "string", "format": "uuid"});
    let phone = json!({"type": "string", "pattern": r"^\+[1-9]\d{6,14}$"});
    let mut filters = Vec::from(period());
    filters.extend([
        query("agent_id", "Only of this agent.", uuid),
        query(
            "status",
            "Only in this status.",
            words(ConversationStatus::ALL),
        ),
        query("channel", "Only on this channel.", words(channels)),
        query(
            "phone",
            "Only with this customer's or dialed number.",
            phone,
        ),
    ]);
    filters
}

fn delivery_filters() -> Vec<Value> {
    let mut filters = vec![
        query("status", "Only in this status.", words(DeliveryState::ALL)),
        query("type", "Only of this event type.", words(EventType::ALL)),
    ];
    filters.extend(period());
    filters
}

/// Every operation, in the order of the document.
pub(super) fn all() -> Vec<Operation> {
    let mut operations = account();
    operations.extend(agents());
    operations.extend(calls());
    operations.extend(conversations());
    operations.extend(webhooks());
    operations
}

fn account() -> Vec<Operation> {
    use Answer::{List, One};
    let (kind, text) = (words(&ModelKind::ALL), json!({"type": "string"}));
    vec![
        Operation::new(
            "GET",
            "/v1/me",
            "getMe",
            Access::AnyKey,
            One("Me"),
            "Who asks",
        ),
        Operation::new(
            "GET",
            "/v1/models",
            "listModels",
            Access::Open,
            List("Model"),
            "The model catalog",
        )
        .filters(vec![
            query("kind", "Only of this kind.", kind),
            query("provider", "Only of this provider.", text),
        ]),
    ]
}

fn agents() -> Vec<Operation> {
    use Answer::{List, One};
    let read = Access::Scope(Scope::AgentsRead);
    let write = Access::Scope(Scope::AgentsWrite);
    let one = "/v1/agents/{id}";
    let q = json!({"type": "string", "maxLength": 100});
    vec![
        Operation::new(
            "GET",
            "/v1/agents",
            "listAgents",
            read,
            List("AgentItem"),
            "List agents",
        )
        .filters(vec![
            query("runtime", "Only of this runtime.", words(Runtime::ALL)),
            query("status", "Only in this status.", words(AgentStatus::ALL)),
            query(
                "q",
                "Only with this text in the name, whatever its case.",
                q,
            ),
        ]),
        Operation::new(
            "POST",
            "/v1/agents",
            "createAgent",
            write,
            One("Agent"),
            "Draft an engine agent",
        )
        .body("CreateAgent")
        .status(201)
        .errors_too(&[Code::Conflict]),
        Operation::new("GET", one, "getAgent", read, One("Agent"), "Read an agent"),
        Operation::new(
            "PATCH",
            one,
            "updateAgent",
            write,
            One("Agent"),
            "Change an agent",
        )
        .optional_body("UpdateAgent")
        .errors_too(&[Code::Conflict, Code::UnsupportedRuntime]),
        Operation::new(
            "POST",
            "/v1/agents/{id}/publish",
            "publishAgent",
            write,
            One("Agent"),
            "Publish a version; an older one is the rollback",
        )
        .optional_body("PublishAgent")
        .errors_too(&[Code::Conflict, Code::UnsupportedRuntime]),
    ]
}

fn calls() -> Vec<Operation> {
    use Answer::{List, One};
    let read = Access::Scope(Scope::CallsRead);
    let write = Access::Scope(Scope::CallsWrite);
    let key = json!({"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"});
    let voice = [Channel::Phone, Channel::WidgetVoice, Channel::Unknown];
    vec![
        Operation::new(
            "GET",
            "/v1/calls",
            "listCalls",
            read,
            List("CallItem"),
            "List voice conversations",
        )
        .filters(conversation_filters(&voice)),
        Operation::new(
            "POST",
            "/v1/calls",
            "placeCall",
            write,
            One("CallPlaced"),
            "Place an outbound call",
        )
        .body("PlaceCall")
        .filters(vec![header(
            "Idempotency-Key",
            "A retry with the same key and body within 24 hours gets the first answer again.",
            key,
        )])
        .status(201)
        .errors_too(&[
            Code::InvalidIdempotencyKey,
            Code::AgentNotFound,
            Code::AgentDisabled,
            Code::PaymentRequired,
            Code::KeyBudgetExhausted,
            Code::IdempotencyConflict,
            Code::Conflict,
            Code::UnsupportedRuntime,
            Code::UpstreamUnreachable,
        ]),
        Operation::new(
            "GET",
            "/v1/calls/{id}",
            "getCall",
            read,
            One("Call"),
            "Read a call",
        ),
        Operation::new(
            "POST",
            "/v1/calls/{id}/hangup",
            "hangUpCall",
            write,
            One("HangUp"),
            "End a call",
        )
        .optional_body("Nothing")
        .status(202)
        .errors_too(&[Code::Conflict]),
    ]
}

fn conversations() -> Vec<Operation> {
    use Answer::{Events, List, One};
    let read = Access::Scope(Scope::ConversationsRead);
    let list = "/v1/conversations";
    vec![
        Operation::new("GET", list, "listConversations", read, List("ConversationItem"), "List conversations")
            .filters(conversation_filters(Channel::ALL)),
        Operation::new(
            "GET",
            "/v1/conversations/{id}",
            "getConversation",
            read,
            One("Conversation"),
            "Read a conversation with its first 1,000 turns",
        ),
        Operation::new(
            "GET",
            "/v1/conversations/{id}/turns",
            "listTurns",
            read,
            List("Turn"),
            "All turns, the oldest first",
        ),
        Operation::new(
            "GET",
            "/v1/conversations/{id}/events",
            "followConversation",
            read,
            Events,
            "Turns (`event: turn`, a Turn) and changes of state (`event: state`, {state, at}: dialing, live, closing, \
             completed, failed) as they happen, from the start; ends after the last one",
        )
        .filters(vec![header(
            "Last-Event-ID",
            "The id of the last event seen; the stream goes on behind it.",
            json!({"type": "string", "pattern": "^[0-9]+$"}),
        )])
        .errors_too(&[Code::Conflict]),
    ]
}

fn webhooks() -> Vec<Operation> {
    use Answer::{List, One};
    let read = Access::Scope(Scope::WebhooksRead);
    let write = Access::Scope(Scope::WebhooksWrite);
    let (all, one) = ("/v1/webhooks", "/v1/webhooks/{id}");
    let with_secret = One("WebhookWithSecret");
    vec![
        Operation::new(
            "GET",
            all,
            "listWebhooks",
            read,
            List("Webhook"),
            "List endpoints",
        ),
        Operation::new(
            "POST",
            all,
            "createWebhook",
            write,
            with_secret,
            "Register an endpoint; its secret shows once",
        )
        .body("CreateWebhook")
        .status(201)
        .errors_too(&[Code::Conflict]),
        Operation::new(
            "GET",
            one,
            "getWebhook",
            read,
            One("Webhook"),
            "Read an endpoint",
        ),
        Operation::new(
            "PATCH",
            one,
            "updateWebhook",
            write,
            One("Webhook"),
            "Change an endpoint",
        )
        .optional_body("UpdateWebhook"),
        Operation::new(
            "DELETE",
            one,
            "deleteWebhook",
            write,
            One("Deleted"),
            "Delete an endpoint",
        ),
        Operation::new(
            "POST",
            "/v1/webhooks/{id}/rotate-secret",
            "rotateWebhookSecret",
            write,
            with_secret,
            "Put a new secret in force; it shows once",
        )
        .optional_body("RotateSecret"),
        Operation::new(
            "POST",
            "/v1/webhooks/{id}/test",
            "testWebhook",
            write,
            One("DeliveryItem"),
            "Send a test event",
        )
        .optional_body("TestWebhook")
        .status(202)
        .errors_too(&[Code::Conflict]),
        Operation::new(
            "POST",
            "/v1/webhooks/{id}/recover",
            "recoverWebhook",
            write,
            One("Recovered"),
            "Send again what an endpoint has missed, at most 14 days back",
        )
        .body("Recover")
        .status(202)
        .errors_too(&[Code::Conflict]),
        Operation::new(
            "GET",
            "/v1/webhooks/events",
            "listEventTypes",
            read,
            List("EventType"),
            "The event catalog",
        ),
        Operation::new(
            "GET",
            "/v1/webhooks/deliveries",
            "listDeliveries",
            read,
            List("DeliveryItem"),
            "List deliveries",
        )
        .filters(delivery_filters()),
        Operation::new(
            "GET",
            "/v1/webhooks/deliveries/{id}",
            "getDelivery",
            read,
            One("Delivery"),
            "Read a delivery with its payload and attempts",
        ),
        Operation::new(
            "POST",
            "/v1/webhooks/deliveries/{id}/redeliver",
            "redeliver",
            write,
            One("DeliveryItem"),
            "Ask for one more attempt",
        )
        .optional_body("Nothing")
        .status(202)
        .errors_too(&[Code::Conflict]),
    ]
}
