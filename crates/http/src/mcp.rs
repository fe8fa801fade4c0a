//! `POST /mcp`: operations of the API as tools of the Model Context Protocol, as streamable HTTP without sessions
//! (<https://modelcontextprotocol.io/specification/2025-11-25/basic/transports>).
//!
//! A call of a tool becomes the request of its operation before it is routed (docs/adr/0026-tools-for-models.md): it passes the
//! same checks, costs the same and is in the request log as that request. Every other message becomes `GET /v1/me`, so
//! that only callers with a key are answered.

mod tools;

use std::time::Duration;

use actix_web::HttpMessage as _;
use actix_web::body::{BoxBody, to_bytes_limited};
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::http::{Method, StatusCode, Uri};
use actix_web::middleware::Next;
use serde_json::Map;

use crate::edge::cors::allowed_origin;
use crate::edge::exchange::Exchange;
use crate::edge::paths::{MCP, routed_path};
use crate::prelude::*;
use crate::request::ask::{bearer_token, state};
use crate::request::body::{MAX_BODY_BYTES, bytes_up_to, has_type, invalid_json};
use crate::streams::slots::Slot;
use crate::wire::conversation::Detail;
use tools::{Asked, TOOLS};

/// The revisions of the protocol that are spoken here, newest first.
const REVISIONS: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];
const REVISION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The longest response of an operation that becomes a tool's.
const LONGEST: usize = 8 * 1024 * 1024;

/// How often a call is looked at whose end is waited for.
const LOOK_EVERY: Duration = Duration::from_secs(1);

const INSTRUCTIONS: &str = "Offhook holds phone calls and chats with AI agents. The tools are operations of its API, with the \
    permissions of your API key. A call that place_call accepts is really dialed: repeat a call with the same \
    idempotency_key only. check_dials says without dialing whether a number may be called. update_agent saves a draft \
    version; publish_agent makes it serve.";

/// Errors of JSON-RPC 2.0.
const PARSE_ERROR: i32 = -32_700;
const INVALID_REQUEST: i32 = -32_600;
const METHOD_NOT_FOUND: i32 = -32_601;
const INVALID_PARAMS: i32 = -32_602;

/// What becomes of the response to the request that a message became.
#[derive(Clone)]
enum Reply {
    /// This, if the key is valid; `None` if the message wants no answer.
    Said(Option<Value>),
    /// The result of a tool, of the message with this id; with how long the end of a call is waited for.
    Tool(Value, Option<Duration>),
}

fn is_message(req: &ServiceRequest) -> bool {
    req.method() == Method::POST && routed_path(req) == MCP
}

/// Inside the edge: turns a message into the request of an operation.
pub(crate) async fn translating(
    req: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    if !is_message(&req) {
        return next.call(req).await;
    }
    let (state, exchange) = (state(req.request())?, Exchange::of(req.request())?);
    match translate(&state, &exchange, req).await {
        Ok(req) => next.call(req).await,
        Err(refused) => Ok(refused),
    }
}

/// Outside the edge, which has logged and counted the request of the operation: turns its response into the answer to the message.
pub(crate) async fn answering(
    req: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    if !is_message(&req) {
        return next.call(req).await;
    }
    let state = state(req.request())?;
    let answer = next.call(req).await?;
    Ok(answered(&state, answer).await)
}

/// Messages never get here; every other method does, and is told of this one.
pub(crate) async fn untranslated() -> Result<HttpResponse, ApiError> {
    Err(ApiError::internal("a message was not translated"))
}

/// Turns a message into the request of an operation.
async fn translate(
    state: &HttpState,
    exchange: &Exchange,
    req: ServiceRequest,
) -> Result<ServiceRequest, ServiceResponse<BoxBody>> {
    // A page that was not let in must not use the key of whoever looks at it.
    let is_foreign = req.headers().get(header::ORIGIN).is_some_and(|origin| {
        !is_loopback(origin) && allowed_origin(&state.config.cors_origins, &req).is_none()
    });
    let (http, payload) = req.into_parts();
    let refuse = |error| ServiceResponse::new(http.clone(), HttpResponse::from_error(error));
    if is_foreign {
        let text = "Pages of this origin may not use this server: name it in http.cors_origins.";
        return Err(refuse(Code::Forbidden.error(text)));
    }
    if !has_type(http.headers(), "application/json") {
        let error = invalid_json("The Content-Type must be application/json.");
        return Err(refuse(error));
    }
    let bytes = match bytes_up_to(&http, payload, MAX_BODY_BYTES).await {
        Ok(bytes) => bytes,
        Err(error) => return Err(refuse(error)),
    };
    let revision = http.headers().get(REVISION);
    let is_spoken = revision.is_none_or(|name| REVISIONS.iter().any(|known| *name == known));
    if !is_spoken {
        return Err(refuse(Code::InvalidQuery.error(unspoken())));
    }
    let (asked, reply) = read(&bytes);
    if asked.method == Method::POST && asked.target == "/v1/calls" {
        // The address was counted with the message, but not the call.
        let address = exchange.address();
        if let Some(address) = address
            && let Err(error) = state.limits.admit_address(address, true, exchange.at).await
        {
            return Err(refuse(error));
        }
    }
    http.extensions_mut().insert(reply);
    let Ok(uri) = asked.target.parse::<Uri>() else {
        return Err(refuse(ApiError::internal("a tool's path is no URI")));
    };
    let mut req = ServiceRequest::from_parts(http, Payload::None);
    req.match_info_mut().get_mut().update(&uri);
    let head = req.head_mut();
    (head.method, head.uri) = (asked.method, uri);
    for name in [header::CONTENT_LENGTH, header::TRANSFER_ENCODING] {
        head.headers.remove(name);
    }
    head.headers.remove(IDEMPOTENCY_KEY);
    if let Some(key) = asked.key.and_then(|key| HeaderValue::from_str(&key).ok()) {
        head.headers.insert(IDEMPOTENCY_KEY, key);
    }
    if let Some(body) = asked.body {
        req.set_payload(Payload::from(actix_web::web::Bytes::from(body)));
    }
    Ok(req)
}

/// Whether it is a page of this machine: no name that somebody else can point here.
fn is_loopback(origin: &HeaderValue) -> bool {
    let origin = origin.to_str().unwrap_or_default();
    let host = origin.split_once("://").map_or("", |(_, host)| host);
    ["localhost", "127.0.0.1", "[::1]"].iter().any(|known| {
        let port = host.strip_prefix(known);
        port.is_some_and(|port| port.is_empty() || port.starts_with(':'))
    })
}

/// The request that a message becomes, and what becomes of its response.
fn read(bytes: &[u8]) -> (Asked, Reply) {
    let Ok(message) = serde_json::from_slice::<Value>(bytes) else {
        return said(Some(error(
            &Value::Null,
            PARSE_ERROR,
            "The body is not JSON.",
        )));
    };
    let id = message.get("id").cloned();
    let method = message.get("method").and_then(Value::as_str);
    let is_whole = message["jsonrpc"] == "2.0"
        && matches!(id, None | Some(Value::String(_) | Value::Number(_)));
    match (method, id) {
        _ if !is_whole => said(Some(error(
            &Value::Null,
            INVALID_REQUEST,
            "The body must be one JSON-RPC 2.0 message; its id is a string or a number.",
        ))),
        // Notifications and responses: nothing here waits for any.
        (_, None) | (None, Some(_)) => said(None),
        (Some("tools/call"), Some(id)) => call(id, &message["params"]),
        (Some(method), Some(id)) => {
            let result = match method {
                "initialize" => welcome(&message["params"]),
                "ping" => json!({}),
                "tools/list" => {
                    json!({"tools": TOOLS.iter().map(|tool| &tool.shown).collect::<Vec<_>>()})
                }
                _ => {
                    let text =
                        "This server has the methods initialize, ping, tools/list and tools/call.";
                    return said(Some(error(&id, METHOD_NOT_FOUND, text)));
                }
            };
            said(Some(result_of(&id, result)))
        }
    }
}

fn call(id: Value, params: &Value) -> (Asked, Reply) {
    let name = params["name"].as_str().unwrap_or_default();
    let Some(tool) = TOOLS.iter().find(|tool| tool.name == name) else {
        let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name.as_str()).collect();
        let text = format!("There is no tool `{name}`; there are {}.", names.join(", "));
        return said(Some(error(&id, INVALID_PARAMS, &text)));
    };
    let none = Map::new();
    let arguments = match &params["arguments"] {
        Value::Null => &none,
        Value::Object(arguments) => arguments,
        _ => {
            return said(Some(error(
                &id,
                INVALID_PARAMS,
                "`arguments` must be an object.",
            )));
        }
    };
    match tool.ask(arguments) {
        Ok((asked, wait)) => (asked, Reply::Tool(id, wait)),
        // Models read results, not errors of the protocol.
        Err(text) => said(Some(result_of(&id, outcome(&text, true)))),
    }
}

/// The answer to `initialize`.
fn welcome(params: &Value) -> Value {
    let wanted = params["protocolVersion"].as_str();
    let revision = REVISIONS.into_iter().find(|name| wanted == Some(name));
    json!({
        "protocolVersion": revision.unwrap_or(REVISIONS[0]),
        "capabilities": {"tools": {"listChanged": false}},
        "serverInfo": {"name": "offhook", "title": "Offhook", "version": env!("CARGO_PKG_VERSION")},
        "instructions": INSTRUCTIONS,
    })
}

fn unspoken() -> String {
    format!(
        "`MCP-Protocol-Version` must be one of {}.",
        REVISIONS.join(", ")
    )
}

fn said(answer: Option<Value>) -> (Asked, Reply) {
    (Asked::whose_key(), Reply::Said(answer))
}

fn result_of(id: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn error(id: &Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// A tool's result.
fn outcome(text: &str, is_error: bool) -> Value {
    let mut result = json!({"content": [{"type": "text", "text": text}], "isError": is_error});
    if !is_error && let Ok(whole @ Value::Object(_)) = serde_json::from_str(text) {
        result["structuredContent"] = whole;
    }
    result
}

/// Turns the response to the request that a message became into the answer to the message.
async fn answered(state: &HttpState, answer: ServiceResponse<BoxBody>) -> ServiceResponse<BoxBody> {
    let reply = answer.request().extensions().get::<Reply>().cloned();
    let status = answer.status();
    // Who has no key, or has asked too often, is told by HTTP, as clients expect.
    let is_told = matches!(
        status,
        StatusCode::UNAUTHORIZED | StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
    );
    let Some(reply) = reply.filter(|_| !is_told) else {
        return answer;
    };
    let (req, answer) = answer.into_parts();
    let (head, body) = answer.into_parts();
    let message = match reply {
        Reply::Said(_) if !status.is_success() => {
            return ServiceResponse::new(req, head.set_body(body));
        }
        Reply::Said(message) => message,
        Reply::Tool(id, wait) => {
            let text = match to_bytes_limited(body, LONGEST).await {
                Ok(Ok(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
                _ => "The answer is too long for a tool: ask for less.".to_owned(),
            };
            let text = match wait.filter(|_| status.is_success()) {
                Some(wait) => waited(state, req.headers(), text, wait).await,
                None => text,
            };
            Some(result_of(&id, outcome(&text, !status.is_success())))
        }
    };
    let mut head = head;
    *head.status_mut() = match &message {
        // It was no request.
        Some(message) if message["id"].is_null() => StatusCode::BAD_REQUEST,
        Some(_) => StatusCode::OK,
        None => StatusCode::ACCEPTED,
    };
    for name in [
        header::CONTENT_LENGTH,
        header::LOCATION,
        header::CONTENT_RANGE,
    ] {
        head.headers_mut().remove(name);
    }
    let body = message.map(|message| message.to_string());
    if body.is_some() {
        let json = HeaderValue::from_static("application/json");
        head.headers_mut().insert(header::CONTENT_TYPE, json);
    } else {
        head.headers_mut().remove(header::CONTENT_TYPE);
    }
    ServiceResponse::new(req, head.set_body(BoxBody::new(body.unwrap_or_default())))
}

/// The call as it is once it has ended, or when the time is over. The key is looked at anew each time, and a wait takes the
/// place of an event stream.
async fn waited(
    state: &HttpState,
    headers: &header::HeaderMap,
    first: String,
    wait: Duration,
) -> String {
    let ends = tokio::time::Instant::now() + wait;
    let token = bearer_token(headers).unwrap_or_default();
    let mut seen = first;
    let mut place = None;
    while !is_over(&seen) && tokio::time::Instant::now() < ends {
        let Ok(Some(caller)) = state.services.keys().authenticate(token).await else {
            return seen;
        };
        let Some(key) = &caller.key else { return seen };
        let conversations = state.services.conversations();
        if place.is_none() {
            let whose = (caller.account.id, key.id);
            place = Slot::take(&state.slots, conversations, whose)
                .await
                .ok()
                .flatten();
            if place.is_none() {
                return seen;
            }
        }
        tokio::time::sleep(LOOK_EVERY).await;
        let handle = serde_json::from_str::<Value>(&seen).ok();
        let handle = handle.and_then(|call| call["call_id"].as_str()?.parse::<CallHandle>().ok());
        let Some(handle) = handle else { return seen };
        let Ok(Some(view)) = conversations.get(&caller, handle.0, true).await else {
            return seen;
        };
        let Ok(call) = Detail::call(&view) else {
            return seen;
        };
        seen = serde_json::to_string(&call).unwrap_or(seen);
    }
    seen
}

/// Whether a call's JSON says that it has ended.
fn is_over(call: &str) -> bool {
    let call: Value = serde_json::from_str(call).unwrap_or_default();
    matches!(call["status"].as_str(), Some("completed" | "failed"))
}
