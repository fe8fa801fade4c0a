//! The shapes of bodies, as JSON Schema.

use offhook_domain::{
    AgentStatus, Channel, ConversationStatus, EventType, FailureReason, Plan, Runtime, Scope,
    TerminationReason,
};
use offhook_services::ModelKind;
use offhook_services::store::{DeliveryState, EndpointStatus};
use serde_json::{Map, Value, json};

use super::reference;

type Members<'a> = &'a [(&'a str, Value)];

/// An object whose members are all there.
fn object(members: Members<'_>) -> Value {
    let names: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    json!({"type": "object", "properties": properties(members), "required": names})
}

/// A request body: what is not required may be left out, and nothing else may come.
fn request(required: &[&str], members: Members<'_>) -> Value {
    json!({
        "type": "object",
        "properties": properties(members),
        "required": required,
        "additionalProperties": false,
    })
}

fn properties(members: Members<'_>) -> Map<String, Value> {
    let members = members.iter().cloned();
    members
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect()
}

/// The list envelope around items of a schema.
pub(super) fn list(item: &str) -> Value {
    object(&[
        ("data", array(reference(item))),
        ("has_more", boolean()),
        ("next_cursor", nullable(string())),
    ])
}

fn string() -> Value {
    json!({"type": "string"})
}

fn text(most: usize) -> Value {
    json!({"type": "string", "maxLength": most})
}

fn integer() -> Value {
    json!({"type": "integer"})
}

fn number() -> Value {
    json!({"type": "number"})
}

fn boolean() -> Value {
    json!({"type": "boolean"})
}

fn uuid() -> Value {
    json!({"type": "string", "format": "uuid"})
}

fn instant() -> Value {
    json!({"type": "string", "format": "date-time"})
}

fn e164() -> Value {
    json!({"type": "string", "pattern": r"^\+[1-9]\d{6,14}$"})
}

fn any_object() -> Value {
    json!({"type": "object"})
}

fn array(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

fn words<T: ToString>(values: &[T]) -> Value {
    let words: Vec<String> = values.iter().map(ToString::to_string).collect();
    json!({"type": "string", "enum": words})
}

/// The schema, or null.
fn nullable(mut schema: Value) -> Value {
    if let Some(kind) = schema.get("type").cloned() {
        schema["type"] = json!([kind, "null"]);
        if let Some(Value::Array(words)) = schema.get_mut("enum") {
            words.push(Value::Null);
        }
        return schema;
    }
    json!({"anyOf": [schema, {"type": "null"}]})
}

/// Every schema by its name.
pub(super) fn all() -> Map<String, Value> {
    let mut schemas = vec![("Error", error())];
    schemas.extend(account());
    schemas.extend(agents());
    schemas.extend(conversations());
    schemas.extend(webhooks());
    properties(&schemas)
}

fn error() -> Value {
    object(&[
        ("error", string()),
        ("message", string()),
        ("request_id", uuid()),
    ])
}

fn account() -> Vec<(&'static str, Value)> {
    let key = object(&[
        ("id", uuid()),
        ("name", string()),
        ("prefix", string()),
        ("scopes", array(words(Scope::ALL))),
        ("read_only", boolean()),
        ("created_at", instant()),
        ("expires_at", nullable(instant())),
        ("last_used_at", nullable(instant())),
    ]);
    let account = [
        ("id", uuid()),
        ("name", string()),
        ("plan", words(&Plan::ALL)),
    ];
    let rate_limit = [("requests_per_minute", integer()), ("remaining", integer())];
    let price = [
        ("plan", words(&Plan::ALL)),
        ("credits_per_minute", number()),
        ("usd_per_minute", nullable(number())),
    ];
    vec![
        (
            "Me",
            object(&[
                ("account", object(&account)),
                ("key", key),
                ("rate_limit", object(&rate_limit)),
                ("live_calls", integer()),
            ]),
        ),
        (
            "Model",
            object(&[
                ("id", string()),
                ("kind", words(&ModelKind::ALL)),
                ("provider", string()),
                ("model", string()),
                ("name", string()),
                ("languages", array(string())),
                ("prices", array(object(&price))),
            ]),
        ),
    ]
}

fn agents() -> Vec<(&'static str, Value)> {
    let number = [
        ("id", uuid()),
        ("phone_number", e164()),
        ("label", string()),
    ];
    let item = [
        ("id", uuid()),
        ("runtime", words(Runtime::ALL)),
        ("name", string()),
        ("status", words(AgentStatus::ALL)),
        ("language", string()),
        ("created_at", instant()),
        ("updated_at", instant()),
        ("phone_numbers", array(object(&number))),
    ];
    let by_runtime = [
        ("provider_agent_id", nullable(string())),
        ("current_version", integer()),
        ("published_version", integer()),
    ];
    let agent = |with_config: bool| {
        let mut schema = object(&item);
        if with_config {
            schema = object(&[&item[..], &[("config", nullable(any_object()))]].concat());
        }
        if let Some(Value::Object(members)) = schema.get_mut("properties") {
            members.extend(properties(&by_runtime));
        }
        schema["description"] = json!(
            "`provider_agent_id` only on legacy agents; `current_version` and `published_version` only on engine agents."
        );
        schema
    };
    let mut full = agent(true);
    full["properties"]["config"] = nullable(reference("AgentConfig"));
    let version = json!({"type": "integer", "minimum": 0});
    vec![
        ("AgentItem", agent(false)),
        ("Agent", full),
        ("AgentConfig", config()),
        (
            "CreateAgent",
            request(
                &["name", "language"],
                &[
                    ("name", text(120)),
                    ("language", string()),
                    ("config", nullable(reference("AgentConfig"))),
                ],
            ),
        ),
        (
            "UpdateAgent",
            request(
                &[],
                &[
                    ("name", text(120)),
                    ("language", string()),
                    ("status", words(AgentStatus::ALL)),
                    ("config", reference("AgentConfig")),
                    ("expected_version", version.clone()),
                ],
            ),
        ),
        (
            "PublishAgent",
            request(
                &[],
                &[
                    ("version", nullable(version)),
                    ("note", nullable(text(500))),
                ],
            ),
        ),
    ]
}

/// The agent config object. In a write every member may be left out, so none is required.
fn config() -> Value {
    let open = |members: Members<'_>| json!({"type": "object", "properties": properties(members)});
    let model = [("provider", string()), ("model", string())];
    let llm = open(&[
        ("provider", nullable(string())),
        ("model", nullable(string())),
        ("temperature", number()),
        ("routing", words(&["fixed", "fastest"])),
        ("fallback", array(object(&model))),
        ("endpoint", nullable(string())),
    ]);
    let stt = open(&[
        ("provider", nullable(string())),
        ("model", nullable(string())),
        ("language", nullable(string())),
        ("settings", any_object()),
        ("sample_rate", nullable(integer())),
    ]);
    let voice = open(&[
        ("provider", nullable(string())),
        ("model", nullable(string())),
        ("voice_id", nullable(string())),
        ("language", nullable(string())),
        ("fallback_voices", any_object()),
        ("settings", any_object()),
        ("sample_rate", nullable(integer())),
    ]);
    let knowledge_base = open(&[
        ("doc_ids", array(uuid())),
        ("folder_ids", array(uuid())),
        ("mode", words(&["off", "auto", "tool"])),
        ("top_k", integer()),
    ]);
    open(&[
        ("version", integer()),
        ("system_prompt", nullable(string())),
        ("first_message", nullable(string())),
        ("language", nullable(string())),
        ("llm", llm),
        ("stt", stt),
        ("voice", voice),
        ("knowledge_base", knowledge_base),
        ("dynamic_variables", any_object()),
        ("conversation", conversation_config()),
        ("tool_ids", array(uuid())),
    ])
}

fn conversation_config() -> Value {
    let open = |members: Members<'_>| json!({"type": "object", "properties": properties(members)});
    let pronunciation = [
        ("term", string()),
        ("say", string()),
        ("match_case", boolean()),
    ];
    open(&[
        ("max_duration_s", integer()),
        (
            "recording",
            open(&[("enabled", boolean()), ("consent_text", nullable(string()))]),
        ),
        (
            "turns",
            open(&[
                ("endpointing_ms", integer()),
                ("interruptions", boolean()),
                ("silence_timeout_s", integer()),
                ("voicemail", words(&["hang_up", "leave_message", "ignore"])),
            ]),
        ),
        (
            "audio",
            open(&[("ambient", nullable(string())), ("speed", number())]),
        ),
        ("pronunciation", array(open(&pronunciation))),
        (
            "calling_hours",
            nullable(open(&[
                ("timezone", string()),
                ("days", array(integer())),
                ("start", string()),
                ("end", string()),
            ])),
        ),
    ])
}

fn conversations() -> Vec<(&'static str, Value)> {
    let agent = [("id", uuid()), ("name", string())];
    let item = |status: Value| {
        vec![
            ("id", uuid()),
            ("call_id", string()),
            ("runtime", words(Runtime::ALL)),
            ("channel", words(Channel::ALL)),
            ("agent", object(&agent)),
            ("status", status),
            ("from", nullable(e164())),
            ("to", nullable(e164())),
            ("customer_phone", nullable(e164())),
            ("started_at", instant()),
            ("ended_at", nullable(instant())),
            ("duration_seconds", nullable(integer())),
            ("credits", nullable(integer())),
            ("summary", nullable(string())),
            ("has_audio", boolean()),
            (
                "termination_reason",
                nullable(words(TerminationReason::ALL)),
            ),
        ]
    };
    let latency = [
        ("turns", integer()),
        ("p50_ms", nullable(integer())),
        ("p95_ms", nullable(integer())),
    ];
    let detail = vec![
        ("metadata", any_object()),
        ("failure_reason", nullable(words(FailureReason::ALL))),
        ("conversation_id", uuid()),
        ("latency", nullable(object(&latency))),
    ];
    let whole = vec![
        ("recording_url", nullable(string())),
        ("transcript", array(reference("Turn"))),
    ];
    let messages = vec![("messages_count", integer())];
    let listed = item(words(ConversationStatus::ALL));
    let read = item(words(&["initiated", "completed", "failed", "unknown"]));
    let turn = [
        ("role", words(&["agent", "user", "tool"])),
        ("text", string()),
        ("started_at", instant()),
        ("duration_ms", nullable(integer())),
        ("interrupted", boolean()),
    ];
    let metadata = json!({
        "type": ["object", "null"],
        "description": "At most 5 KB; the agent reads it as dynamic variables.",
        "propertyNames": {"maxLength": 64},
        "additionalProperties": {"type": ["string", "number", "boolean", "null"], "maxLength": 2000},
    });
    let place = [
        (
            "agent_id",
            json!({"type": "string", "minLength": 1, "maxLength": 255}),
        ),
        ("to", e164()),
        ("metadata", metadata),
    ];
    let placed = [
        ("id", string()),
        ("agent_id", string()),
        ("to", e164()),
        ("status", words(&["initiated"])),
        ("created_at", instant()),
    ];
    vec![
        ("CallItem", object(&listed)),
        (
            "ConversationItem",
            object(&[listed.clone(), messages.clone()].concat()),
        ),
        ("Call", object(&[read.clone(), detail.clone()].concat())),
        (
            "Conversation",
            object(&[read, messages, detail, whole].concat()),
        ),
        ("Turn", object(&turn)),
        ("PlaceCall", request(&["agent_id", "to"], &place)),
        ("CallPlaced", object(&placed)),
        ("HangUp", object(&[("id", string()), ("status", string())])),
        ("Nothing", request(&[], &[])),
    ]
}

fn webhooks() -> Vec<(&'static str, Value)> {
    let endpoint = vec![
        ("id", uuid()),
        ("url", string()),
        ("description", nullable(string())),
        ("status", words(EndpointStatus::ALL)),
        ("disabled_reason", nullable(string())),
        ("secret_prefix", string()),
        ("created_at", instant()),
        ("updated_at", instant()),
    ];
    let secret = vec![("secret", string())];
    let delivery = vec![
        ("id", uuid()),
        ("event_id", uuid()),
        ("type", words(EventType::ALL)),
        ("status", words(DeliveryState::ALL)),
        ("attempts_count", integer()),
        ("next_attempt_at", nullable(instant())),
        ("created_at", instant()),
    ];
    let attempt = [
        ("id", uuid()),
        ("at", instant()),
        ("status_code", nullable(integer())),
        ("duration_ms", nullable(integer())),
        ("error", nullable(string())),
        ("response_snippet", nullable(string())),
    ];
    let story = vec![
        ("payload", reference("Event")),
        ("attempts", array(object(&attempt))),
    ];
    let event = [
        ("id", uuid()),
        ("type", words(EventType::ALL)),
        ("created_at", instant()),
        ("data", any_object()),
    ];
    let event_type = [
        ("type", words(EventType::ALL)),
        ("description", string()),
        ("example", reference("Event")),
    ];
    let hours = json!({"type": ["integer", "null"], "minimum": 0, "maximum": 168, "default": 0});
    let update = [
        ("url", text(2048)),
        ("description", nullable(text(500))),
        ("status", words(EndpointStatus::ALL)),
    ];
    let create = [("url", text(2048)), ("description", nullable(text(500)))];
    vec![
        ("Webhook", object(&endpoint)),
        ("WebhookWithSecret", object(&[endpoint, secret].concat())),
        ("CreateWebhook", request(&["url"], &create)),
        ("UpdateWebhook", request(&[], &update)),
        ("Deleted", object(&[("id", uuid()), ("deleted", boolean())])),
        ("RotateSecret", request(&[], &[("overlap_hours", hours)])),
        (
            "TestWebhook",
            request(&[], &[("type", nullable(words(EventType::ALL)))]),
        ),
        ("Recover", request(&["since"], &[("since", string())])),
        ("Recovered", object(&[("count", integer())])),
        ("DeliveryItem", object(&delivery)),
        ("Delivery", object(&[delivery, story].concat())),
        ("Event", object(&event)),
        ("EventType", object(&event_type)),
    ]
}
