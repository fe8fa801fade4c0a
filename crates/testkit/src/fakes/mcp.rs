//! A server of the Model Context Protocol over streamable HTTP, with sessions.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::upstream::{Answer, ReceivedRequest, Upstream};

/// The path that it serves.
pub const MCP_PATH: &str = "/mcp";

struct State {
    tools: Vec<Value>,
    sessions: usize,
    says: Option<Answer>,
}

/// A running fake server, which lists one function on each page.
pub struct FakeMcp {
    /// Its HTTP server, for its address and faults.
    pub upstream: Upstream,
    state: Arc<Mutex<State>>,
}

impl FakeMcp {
    /// A server with a function `find.order`, which takes a number and answers with the arguments.
    pub async fn start() -> Self {
        let find = json!({
            "name": "find.order",
            "description": "Finds an order.",
            "inputSchema": {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
        });
        let state = Arc::new(Mutex::new(State {
            tools: vec![
                json!({"name": "other", "inputSchema": {"type": "object"}}),
                find,
            ],
            sessions: 0,
            says: None,
        }));
        let shared = state.clone();
        let upstream = Upstream::start(move |asked| answered(asked, &mut shared.lock())).await;
        Self { upstream, state }
    }

    pub fn url(&self) -> String {
        format!("{}{MCP_PATH}", self.upstream.base_url())
    }

    /// Changes a member of its function.
    pub fn change(&self, member: &str, value: Value) {
        self.state.lock().tools[1][member] = value;
    }

    /// Sends this answer to each call from now on.
    pub fn say(&self, answer: Answer) {
        self.state.lock().says = Some(answer);
    }

    /// Forgets every session.
    pub fn forget(&self) {
        self.state.lock().sessions += 1;
    }

    /// The parameters of every call.
    pub fn calls(&self) -> Vec<Value> {
        let asked = self.upstream.asked().into_iter().map(|asked| asked.json());
        let calls = asked.filter(|asked| asked["method"] == "tools/call");
        calls.map(|mut asked| asked["params"].take()).collect()
    }
}

fn answered(asked: &ReceivedRequest, state: &mut State) -> Answer {
    let message = asked.json();
    let answer = |result: Value| json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    let session = format!("session-{}", state.sessions);
    if message["method"] == "initialize" {
        let welcome = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "fake"}});
        return Answer::json(200, &answer(welcome)).with("mcp-session-id", &session);
    }
    if asked.header("mcp-session-id") != Some(&session) {
        return Answer::empty(404);
    }
    let params = &message["params"];
    match message["method"].as_str() {
        Some("tools/list") => {
            let page = usize::from(!params["cursor"].is_null());
            let mut list = json!({"tools": [state.tools[page]]});
            if page == 0 {
                list["nextCursor"] = json!("more");
            }
            Answer::json(200, &answer(list))
        }
        Some("tools/call") => state.says.clone().unwrap_or_else(|| {
            let arguments = params["arguments"].to_string();
            let told = answer(json!({"content": [{"type": "text", "text": arguments}]}));
            // What servers send before an answer: the start of the stream, news and a request.
            let asks =
                json!({"jsonrpc": "2.0", "id": message["id"], "method": "sampling/createMessage"});
            let text = format!(
                "id: 1\r\ndata: \r\n\r\n: hello\ndata:{asks}\n\nevent: message\ndata: {told}\n\n"
            );
            Answer::text(200, "text/event-stream; charset=utf-8", &text)
        }),
        _ => Answer::empty(202),
    }
}
