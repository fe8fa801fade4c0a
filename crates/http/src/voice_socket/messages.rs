//! The text messages of a page's WebSocket.

use offhook_domain::json::Fields;
use offhook_domain::{CallOutcome, ConversationId, Json};
use offhook_services::TALK_RATE;
use serde_json::{Value, json};

use crate::ApiError;

/// A message from the page.
#[derive(Debug, PartialEq)]
pub(super) enum Asked<'a> {
    /// Begin, with variables for the agent.
    Start { metadata: Option<&'a Json> },
    /// The visitor pressed a key.
    Key(char),
    /// The visitor hung up.
    End,
}

/// Parses a message from the page; `None` if it is unknown.
pub(super) fn read(message: &Json) -> Option<Asked<'_>> {
    let mut fields = Fields::of(message, "").ok()?;
    let kind = fields.required_string("type", 1..=16).ok()?;
    let asked = match kind {
        "start" => Asked::Start {
            metadata: fields.present("metadata"),
        },
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
        let Some(Asked::Start {
            metadata: Some(metadata),
        }) = read(&start)
        else {
            panic!()
        };
        assert_eq!(metadata.to_compact(), r#"{"name":"Ana"}"#);
        assert_eq!(
            read(&parsed(r#"{"type":"start"}"#)),
            Some(Asked::Start { metadata: None })
        );
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
