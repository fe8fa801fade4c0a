//! Slack's Web API: posting messages. It follows <https://docs.slack.dev/reference/methods/chat.postMessage>.

use serde_json::{Value, json};

use super::oauth::{Authority, Fake};
use crate::upstream::{Answer, ReceivedRequest};

/// The path for posting messages.
pub const POST_PATH: &str = "/chat.postMessage";

/// The channel that it has; it also has an archived one, `old`.
pub const CHANNEL: &str = "leads";

#[derive(Default)]
pub struct State {
    messages: Vec<Value>,
    refusal: Option<&'static str>,
}

/// A running fake Slack.
pub type FakeSlack = Fake<State>;

impl FakeSlack {
    /// A workspace without messages.
    pub async fn start() -> Self {
        let authority = Authority::slack(&["chat:write", "chat:write.public", "channels:read"]);
        let (state, stranger) = (State::default(), refused("invalid_auth"));
        authority.guard(state, stranger, answered).await
    }

    /// Every message, as it was written.
    pub fn messages(&self) -> Vec<Value> {
        self.state.lock().messages.clone()
    }

    /// From now on refuses messages for this reason, after it has kept them; or no longer.
    pub fn refuse(&self, reason: Option<&'static str>) {
        self.state.lock().refusal = reason;
    }
}

fn refused(reason: &str) -> Answer {
    let words = crate::upstream::UPSTREAM_WORDS;
    let metadata = json!({"messages": [words]});
    Answer::json(
        200,
        &json!({"ok": false, "error": reason, "response_metadata": metadata}),
    )
}

fn answered(asked: &ReceivedRequest, state: &mut State, authority: &Authority) -> Answer {
    if (asked.method.as_str(), asked.path.as_str()) != ("POST", POST_PATH) {
        return refused("unknown_method");
    }
    if !authority.may("chat:write") || !authority.may("chat:write.public") {
        return refused("missing_scope");
    }
    let message = asked.json();
    let text = message["text"].as_str().unwrap_or_default();
    match message["channel"]
        .as_str()
        .unwrap_or_default()
        .trim_start_matches('#')
    {
        CHANNEL => {}
        "old" => return refused("is_archived"),
        _ => return refused("channel_not_found"),
    }
    if text.is_empty() {
        return refused("no_text");
    }
    state.messages.push(message);
    if let Some(reason) = state.refusal {
        return refused(reason);
    }
    let ts = format!("1503435956.{:06}", state.messages.len());
    Answer::json(
        200,
        &json!({"ok": true, "channel": "C123ABC456", "ts": ts, "message": {}}),
    )
}
