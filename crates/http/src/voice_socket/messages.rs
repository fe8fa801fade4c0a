//! The text messages of a page's WebSocket.

use offhook_domain::json::Fields;
use offhook_services::{Passage, TALK_RATE, TurnLatency};
use serde_json::Map;

use crate::prelude::*;

/// A message from the page.
#[derive(Debug, PartialEq)]
pub(super) enum Asked {
    /// Begin.
    Start(Start),
    /// The visitor pressed a key.
    Key(char),
    /// The visitor hung up.
    End,
}

/// How a page wants to begin.
#[derive(Debug, PartialEq)]
pub struct Start {
    /// Variables for the agent.
    pub metadata: Option<Json>,
    /// The fields of an agent's editor, `application/x-www-form-urlencoded`.
    pub form: Option<String>,
}

/// Parses a message from the page; `None` if it is unknown.
pub(super) fn read(message: &Json) -> Option<Asked> {
    let mut fields = Fields::of(message, "").ok()?;
    let kind = fields.required_string("type", 1..=16).ok()?;
    let asked = match kind {
        "start" => Asked::Start(Start {
            metadata: fields.present("metadata").cloned(),
            form: fields
                .present("form")
                .and_then(Json::as_str)
                .map(str::to_owned),
        }),
        "key" => {
            let key = fields.required_string("key", 1..=1).ok()?;
            Asked::Key(key.chars().next()?)
        }
        "end" => Asked::End,
        _ => return None,
    };
    fields.finish().ok()?;
    Some(asked)
}

/// The conversation has begun: the page may send audio.
pub(super) fn started(id: ConversationId) -> Value {
    json!({"type": "started", "id": id, "sample_rate": TALK_RATE})
}

/// The page must drop the audio that it has not played yet.
pub(super) fn clear() -> Value {
    json!({"type": "clear"})
}

/// The agent or the visitor said something.
pub(super) fn turn(is_agent: bool, text: &str, is_cut: bool) -> Value {
    let role = if is_agent { "agent" } else { "user" };
    json!({"type": "turn", "role": role, "text": text, "interrupted": is_cut})
}

/// A tool was called, as transcripts have it.
pub(super) fn tool(text: &str) -> Value {
    json!({"type": "tool", "text": text})
}

/// What the next reply is based on.
pub(super) fn passages(passages: &[Passage]) -> Value {
    let passages = passages
        .iter()
        .map(|passage| json!({"document": passage.document, "text": passage.text}));
    json!({"type": "passages", "passages": passages.collect::<Value>()})
}

/// How long the reply took that is heard now, step by step.
pub(super) fn measured(latency: &TurnLatency) -> Value {
    let steps: Map<String, Value> = latency
        .steps()
        .map(|(name, ms)| (name.to_owned(), ms.into()))
        .into_iter()
        .collect();
    json!({"type": "latency", "total_ms": latency.first_frame_ms, "steps_ms": steps})
}

/// The conversation has ended, and why, in the words of `GET /v1/calls/{id}`.
pub(super) fn ended(outcome: Option<CallOutcome>) -> (Value, &'static str) {
    let (status, reason) = match outcome {
        Some(CallOutcome::Completed(reason)) => ("completed", reason.as_str()),
        Some(CallOutcome::Failed(reason)) => ("failed", reason.as_str()),
        None => ("failed", "interrupted"),
    };
    let message = json!({"type": "ended", "status": status, "reason": reason});
    (message, reason)
}

/// The conversation did not begin: the members of every error, and when to retry.
pub(super) fn error(error: &ApiError) -> Value {
    json!({
        "type": "error",
        "error": error.code.as_str(),
        "message": error.message,
        "retry_after": error.retry_after_s,
    })
}

#[cfg(test)]
mod tests {
    use offhook_domain::{FailureReason, TerminationReason};

    use super::*;

    #[test]
    fn a_page_says_three_things_and_all_else_is_not_understood() {
        let parsed = |text: &str| Json::parse(text.as_bytes()).unwrap();
        let start = parsed(r#"{"type":"start","metadata":{"name":"Ana"}}"#);
        let begun = |metadata, form: Option<&str>| {
            let form = form.map(str::to_owned);
            Some(Asked::Start(Start { metadata, form }))
        };
        let ana = parsed(r#"{"name":"Ana"}"#);
        assert_eq!(read(&start), begun(Some(ana), None));
        assert_eq!(read(&parsed(r#"{"type":"start"}"#)), begun(None, None));
        let form = parsed(r#"{"type":"start","form":"a=b"}"#);
        assert_eq!(read(&form), begun(None, Some("a=b")));
        assert_eq!(
            read(&parsed(r##"{"type":"key","key":"#"}"##)),
            Some(Asked::Key('#'))
        );
        assert_eq!(read(&parsed(r#"{"type":"end"}"#)), Some(Asked::End));
        for unknown in [
            "{}",
            "[]",
            r#"{"type":"stop"}"#,
            r#"{"type":"end","why":"x"}"#,
            r#"{"type":"key","key":"12"}"#,
            r#"{"type":1}"#,
        ] {
            assert_eq!(read(&parsed(unknown)), None, "{unknown}");
        }
    }

    #[test]
    fn an_end_is_told_in_the_words_of_the_interface() {
        for (outcome, status, reason) in [
            (
                Some(CallOutcome::Completed(TerminationReason::AgentHangup)),
                "completed",
                "agent_hangup",
            ),
            (
                Some(CallOutcome::Failed(FailureReason::AgentError)),
                "failed",
                "agent_error",
            ),
            (None, "failed", "interrupted"),
        ] {
            let message = json!({"type": "ended", "status": status, "reason": reason});
            assert_eq!(ended(outcome), (message, reason));
        }
    }
}
