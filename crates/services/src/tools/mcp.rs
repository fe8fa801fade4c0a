//! A client of the Model Context Protocol over streamable HTTP: it lists a server's functions, and calls those that a
//! tool offers. It declares no capabilities, so what a server asks of it in between is not answered.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use futures_util::FutureExt as _;
use offhook_domain::json::{Fault as FieldFault, read_foreign};
use offhook_domain::tool::{Described, Header, Tool};
use offhook_egress::{Failure, GuardedClient, TargetUrl};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue, USER_AGENT};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::request::{AGENT, MAX_ANSWER_BYTES, own};
use super::schema;
use crate::prelude::*;

/// The revisions of the protocol that are spoken, the preferred one first.
const REVISIONS: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];

const SESSION: &str = "mcp-session-id";
const REVISION: &str = "mcp-protocol-version";

/// Bytes of an answer that are read, which may be a page of functions or hold a picture.
const MAX_BYTES: usize = 1024 * 1024;

/// Pages of functions that are read.
const MAX_PAGES: usize = 16;

/// Bytes of the schemas that a tool may show to models.
const MAX_SCHEMAS: usize = 64 * 1024;

/// Characters of a function's description that models are shown.
const DESCRIPTION_CHARS: usize = 1_024;

/// For the model, when a function may have had its effect.
const UNCLEAR: &str = "The tool's server gave no clear answer: what was asked for may have been done, or not. Do not try again; say \
                       that somebody will look after it.";

/// The server of a tool, and the session that a conversation has with it.
pub(crate) struct Server {
    client: GuardedClient,
    url: String,
    headers: Vec<Header>,
    limit: Duration,
    session: Mutex<Option<Arc<Session>>>,
    last_id: AtomicU32,
}

struct Session {
    /// What later requests carry: the session's id, if the server has given one, and the revision.
    headers: Vec<(&'static str, HeaderValue)>,
    /// What the server says of the tool's functions.
    described: Vec<Option<Described>>,
}

/// Why a request has no usable answer.
enum Fault {
    /// Nothing was done, for this reason.
    NotSent(String),
    /// The server refused with this status.
    Status(StatusCode),
    /// The server answered with an error in these words.
    Said(String),
    /// The same, perhaps after it had begun: the effect is unknown.
    Broke(String),
    /// No complete or usable answer came: the effect is unknown.
    Unclear(&'static str),
}

impl Fault {
    /// A short reason that reveals no address.
    fn reason(self) -> String {
        match self {
            Self::NotSent(why) => why,
            Self::Status(status) => format!("HTTP {}", status.as_u16()),
            Self::Said(message) | Self::Broke(message) => format!("\"{}\"", cut(&message, 200)),
            Self::Unclear(why) => why.to_owned(),
        }
    }
}

impl Server {
    /// The server of an `mcp` tool, with the values of its headers.
    pub(crate) fn of(client: GuardedClient, tool: &Tool, headers: &[Header]) -> Option<Self> {
        let http = tool.http.as_ref()?;
        Some(Self {
            client,
            url: http.url.clone(),
            headers: headers.to_vec(),
            limit: Duration::from_millis(http.timeout_ms.unsigned_abs()),
            session: Mutex::default(),
            last_id: AtomicU32::new(0),
        })
    }

    /// Asks what the tool's functions are and take; the error names the first that it cannot offer.
    pub(crate) async fn describe(&self, tool: &Tool) -> Result<Vec<Described>, FieldFault> {
        let name = &tool.name;
        let unasked = |why: String| FieldFault::McpUnasked {
            tool: name.clone(),
            why,
        };
        let session = timeout(self.limit, self.session(tool)).await;
        let session = session.map_err(|_| unasked("timeout".to_owned()))?;
        let session = session.map_err(|fault| unasked(fault.reason()))?;
        let mut bytes = 0;
        let functions = tool.functions.iter().zip(&session.described);
        let checked = functions.map(|(function, described)| {
            let described = described.clone().ok_or_else(|| FieldFault::McpNoFunction {
                tool: name.clone(),
                function: function.clone(),
            })?;
            bytes += described.parameters.to_compact().len();
            let fits = match bytes > MAX_SCHEMAS {
                true => Err(FieldFault::SchemaBytes(MAX_SCHEMAS)),
                false => schema::check(&described.parameters),
            };
            fits.map_err(|fault| FieldFault::McpSchema {
                tool: name.clone(),
                function: function.clone(),
                fault: Box::new(fault),
            })?;
            Ok(described)
        });
        checked.collect()
    }

    /// Calls the tool's function at this place, unless it is no longer what the tool says; an error if it was refused or
    /// gave no answer.
    pub(super) async fn call(
        &self,
        tool: &Tool,
        place: usize,
        arguments: Map<String, Value>,
    ) -> Result<String, String> {
        let is_sent = AtomicBool::new(false);
        let asked = timeout(self.limit, self.ask(tool, place, arguments, &is_sent)).await;
        let is_sent = is_sent.into_inner();
        asked.unwrap_or_else(|_| match is_sent {
            true => Err(UNCLEAR.to_owned()),
            false => {
                Err("The tool's server did not answer in time, and nothing was done.".to_owned())
            }
        })
    }

    async fn ask(
        &self,
        tool: &Tool,
        place: usize,
        arguments: Map<String, Value>,
        is_sent: &AtomicBool,
    ) -> Result<String, String> {
        let (Some(function), Some(pinned)) = (tool.functions.get(place), tool.described.get(place))
        else {
            return Err("The tool is set up wrongly.".to_owned());
        };
        let params = json!({"name": function, "arguments": arguments});
        let mut is_first = true;
        loop {
            let session = self.session(tool).await;
            let session = session.map_err(|fault| {
                format!(
                    "The tool's server could not be asked ({}), and nothing was done.",
                    fault.reason()
                )
            })?;
            let now = session.described.get(place).and_then(Option::as_ref);
            if now.map(|now| now.parameters.canonical()) != Some(pinned.parameters.canonical()) {
                tracing::warn!(tool = %tool.name, %function, "a function is not what its agent was published with");
                return Err(
                    "The function is no longer as it was when the agent was published: it was not called, and nothing was \
                     done. Say that this cannot be done now."
                        .to_owned(),
                );
            }
            is_sent.store(true, Ordering::Relaxed);
            let fault = match self.exchange("tools/call", &params, Some(&session)).await {
                Ok((result, _)) => return told(&result),
                Err(fault) => fault,
            };
            return Err(match fault {
                // The session has ended: the server did nothing, and there is a new one to begin.
                Fault::Status(StatusCode::NOT_FOUND) if std::mem::take(&mut is_first) => {
                    is_sent.store(false, Ordering::Relaxed);
                    self.session
                        .lock()
                        .await
                        .take_if(|now| Arc::ptr_eq(now, &session));
                    continue;
                }
                Fault::Said(message) => {
                    format!(
                        "The tool's server refused: {}",
                        cut(&message, MAX_ANSWER_BYTES)
                    )
                }
                Fault::Status(status)
                    if !status.is_server_error() && status != StatusCode::REQUEST_TIMEOUT =>
                {
                    format!(
                        "The tool's server refused with HTTP status {}.",
                        status.as_u16()
                    )
                }
                Fault::NotSent(why) => {
                    format!("The tool's server could not be asked ({why}), and nothing was done.")
                }
                Fault::Status(_) | Fault::Broke(_) | Fault::Unclear(_) => UNCLEAR.to_owned(),
            });
        }
    }

    /// The session with the server, which begins with the first use. Others wait meanwhile.
    async fn session(&self, tool: &Tool) -> Result<Arc<Session>, Fault> {
        let mut held = self.session.lock().await;
        if let Some(session) = &*held {
            return Ok(Arc::clone(session));
        }
        let hello = json!({
            "protocolVersion": REVISIONS[0],
            "capabilities": {},
            "clientInfo": {"name": "Offhook", "version": env!("CARGO_PKG_VERSION")},
        });
        let (welcome, id) = self.exchange("initialize", &hello, None).await?;
        let revision = welcome["protocolVersion"].as_str().unwrap_or_default();
        let revision = REVISIONS.into_iter().find(|known| *known == revision);
        let revision = revision.ok_or(Fault::Unclear("protocolVersion"))?;
        let id = id.map(|id| (SESSION, id));
        let revision = (REVISION, HeaderValue::from_static(revision));
        let mut session = Session {
            headers: id.into_iter().chain([revision]).collect(),
            described: vec![None; tool.functions.len()],
        };
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.post(&ready, Some(&session)).await?;
        let mut page = json!({});
        for _ in 0..MAX_PAGES {
            let (list, _) = self.exchange("tools/list", &page, Some(&session)).await?;
            let listed = list["tools"]
                .as_array()
                .ok_or(Fault::Unclear("tools/list"))?;
            for listed in listed {
                let mut names = tool.functions.iter();
                let place = names.position(|name| listed["name"] == name.as_str());
                if let Some(place) = place {
                    session.described[place] = Some(described(tool, listed)?);
                }
            }
            if list["nextCursor"].is_null() {
                return Ok(Arc::clone(held.insert(Arc::new(session))));
            }
            page = json!({"cursor": list["nextCursor"]});
        }
        Err(Fault::Unclear("nextCursor"))
    }

    /// Sends a request, and returns its result with the id of the session that it began, if it did.
    async fn exchange(
        &self,
        method: &str,
        params: &Value,
        session: Option<&Session>,
    ) -> Result<(Value, Option<HeaderValue>), Fault> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed);
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let response = self.post(&message, session).await?;
        let begun = response.headers().get(SESSION).cloned();
        Ok((answer(response, id).await?, begun))
    }

    async fn post(&self, message: &Value, session: Option<&Session>) -> Result<Response, Fault> {
        let request = self
            .request(Method::POST, session)?
            .body(message.to_string());
        let response = request.send().await.map_err(|error| {
            let failure = Failure::of(&error);
            match failure {
                Failure::Timeout | Failure::Reset | Failure::Protocol => {
                    Fault::Unclear(failure.as_str())
                }
                _ => Fault::NotSent(failure.to_string()),
            }
        })?;
        match response.status() {
            status if status.is_success() => Ok(response),
            status => Err(Fault::Status(status)),
        }
    }

    fn request(&self, method: Method, session: Option<&Session>) -> Result<RequestBuilder, Fault> {
        let refused = |_| Fault::NotSent("url".to_owned());
        let target = TargetUrl::parse(&self.url, self.client.policy()).map_err(refused)?;
        let request = self.client.request(method, &target).map_err(refused)?;
        let mut headers = own(&self.headers);
        headers
            .entry(USER_AGENT)
            .or_insert(HeaderValue::from_static(AGENT));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let accepted = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(ACCEPT, accepted);
        // A session belongs to a conversation, not to the tool.
        headers.remove(SESSION);
        for (name, value) in session.iter().flat_map(|session| &session.headers) {
            headers.insert(*name, value.clone());
        }
        Ok(request.headers(headers))
    }
}

impl Drop for Server {
    /// Ends the session, for which nobody waits.
    fn drop(&mut self) {
        let session = self.session.get_mut().take();
        let session = session.filter(|session| session.headers.len() > 1);
        if let (Some(session), Ok(handle)) = (session, Handle::try_current())
            && let Ok(request) = self.request(Method::DELETE, Some(&session))
        {
            handle.spawn(timeout(self.limit, request.send()).boxed());
        }
    }
}

/// Reads the answer to the request of this id: a JSON text, or an event of a stream, whose other messages say nothing
/// that this client needs.
async fn answer(mut response: Response, id: u32) -> Result<Value, Fault> {
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_stream = kind.starts_with("text/event-stream");
    let (mut bytes, mut line, mut data) = (0, Vec::new(), Vec::new());
    let broken = |error| Fault::Unclear(Failure::of(&error).as_str());
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        bytes += chunk.len();
        if bytes > MAX_BYTES {
            return Err(Fault::Unclear("1 MiB"));
        }
        if !is_stream {
            data.extend_from_slice(&chunk);
            continue;
        }
        for part in chunk.split_inclusive(|byte| *byte == b'\n') {
            line.extend_from_slice(part);
            if !part.ends_with(b"\n") {
                continue;
            }
            let text = line.trim_ascii_end();
            if let Some(text) = text.strip_prefix(b"data:") {
                data.extend_from_slice(text);
                data.push(b'\n');
            } else if text.is_empty() {
                if let Some(answer) = answer_in(&data, id) {
                    return answer;
                }
                data.clear();
            }
            line.clear();
        }
    }
    answer_in(&data, id).unwrap_or(Err(Fault::Unclear("no answer")))
}

/// The result or the error in a message, if it is the answer to this request.
fn answer_in(message: &[u8], id: u32) -> Option<Result<Value, Fault>> {
    let mut message: Value = read_foreign(message).ok()?;
    if message["id"] != id {
        return None;
    }
    if message["result"].is_object() {
        return Some(Ok(message["result"].take()));
    }
    let error = &message["error"];
    let said = error["message"].as_str()?.to_owned();
    // These say that the request was not carried out; others may come from the middle of it.
    let is_refusal = error["code"]
        .as_i64()
        .is_some_and(|code| code == -32_700 || (-32_602..=-32_600).contains(&code));
    Some(Err(match is_refusal {
        true => Fault::Said(said),
        false => Fault::Broke(said),
    }))
}

fn described(tool: &Tool, listed: &Value) -> Result<Described, Fault> {
    let words = listed["description"].as_str().unwrap_or_default().trim();
    let words = if words.is_empty() {
        &tool.description
    } else {
        words
    };
    let schema = Json::parse(listed["inputSchema"].to_string().as_bytes());
    let schema = schema.ok().filter(|schema| schema.as_object().is_some());
    Ok(Described {
        description: words
            .chars()
            .filter(|c| *c != '\0')
            .take(DESCRIPTION_CHARS)
            .collect(),
        parameters: schema.ok_or(Fault::Unclear("inputSchema"))?,
    })
}

/// What a result tells the model: its texts, and that there is more.
fn told(result: &Value) -> Result<String, String> {
    let mut texts: Vec<&str> = Vec::new();
    for part in result["content"].as_array().into_iter().flatten() {
        texts.push(match part["type"].as_str() {
            Some("text") => part["text"].as_str().unwrap_or_default(),
            Some("image") => "[an image]",
            Some("audio") => "[a sound]",
            _ => "[a resource]",
        });
    }
    let structured = result["structuredContent"].to_string();
    if texts.is_empty() && structured != "null" {
        texts.push(&structured);
    }
    // Not every database can store a NUL in a text.
    let text = texts.join("\n").replace('\0', "");
    let text = match cut(text.trim(), MAX_ANSWER_BYTES) {
        "" => "Done.",
        text => text,
    };
    match result["isError"] == true {
        true => Err(format!("The tool's server reports an error: {text}")),
        false => Ok(text.to_owned()),
    }
}

/// At most this many characters of a text.
fn cut(text: &str, most: usize) -> &str {
    let end = text.char_indices().nth(most);
    end.map_or(text, |(end, _)| &text[..end])
}
