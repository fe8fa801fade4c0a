//! Runs tools, and formats tool calls in transcripts.

use std::time::Duration;

use futures_util::future::join_all;
use offhook_domain::Json;
use tokio::time::timeout;

use crate::ports::{ToolCall, ToolOutcome, Tools};

/// The time limit of a tool: ten seconds for the request, and one for its overhead.
const TOOL_LIMIT: Duration = Duration::from_secs(11);

/// Characters that the transcript keeps of the arguments, and of the answer.
const MAX_CHARS: usize = 500;

/// The answer of a tool whose process ended while it ran; for the model that continues.
pub(crate) const UNKNOWN_EFFECT: &str = "Nobody knows whether this was done: the service was interrupted meanwhile. Do \
     not try again; say that somebody will look after it.";

/// Separates a call from its answer.
const ANSWERS: &str = ") → ";

/// Runs all calls at once; the outcomes are in the order of the calls.
pub(crate) async fn run(tools: &dyn Tools, calls: &[ToolCall]) -> Vec<ToolOutcome> {
    let all = calls.iter().map(|call| async move {
        let outcome = timeout(TOOL_LIMIT, tools.call(call)).await;
        outcome.unwrap_or_else(|_| ToolOutcome::Failed("The tool took too long.".into()))
    });
    join_all(all).await
}

/// What a tool told the model, whether it did something or not.
pub(crate) const fn text(answer: &Result<String, String>) -> &String {
    match answer {
        Ok(text) | Err(text) => text,
    }
}

/// The transcript's text for a call and its answer.
pub(crate) fn transcript_text(call: &ToolCall, answer: &str) -> String {
    let (name, arguments) = (shortened(&call.name), shortened(&call.arguments));
    format!("{name}({arguments}{ANSWERS}{}", shortened(answer))
}

/// Parses a call and its answer from a transcript's text, under the id `id`. Truncated arguments are dropped, because
/// model services require valid JSON.
pub fn recalled(text: &str, id: String) -> (ToolCall, String) {
    let (name, rest) = text.split_once('(').unwrap_or((text, ""));
    // The separator may occur in the arguments too: they end where they are valid JSON.
    let ends = rest.match_indices(ANSWERS).map(|(end, _)| end);
    let is_object =
        |end: &usize| matches!(Json::parse(&rest.as_bytes()[..*end]), Ok(Json::Object(_)));
    let (arguments, end) = match ends.clone().find(is_object) {
        Some(end) => (&rest[..end], Some(end)),
        None => ("{}", ends.clone().next()),
    };
    let call = ToolCall {
        id,
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        vendor: None,
    };
    let answer = end.map_or(rest, |end| &rest[end + ANSWERS.len()..]);
    (call, answer.to_owned())
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_call_in_a_transcript_is_parsed_back() {
        let call = ToolCall {
            id: "a".to_owned(),
            name: "look".to_owned(),
            arguments: r#"{"x":"(1) → "}"#.to_owned(),
            vendor: None,
        };
        let (again, answer) = recalled(&transcript_text(&call, "It is (2)."), "a".to_owned());
        assert_eq!((again, answer.as_str()), (call.clone(), "It is (2)."));
        let plain = ToolCall {
            arguments: r#"{"x":1}"#.to_owned(),
            ..call.clone()
        };
        assert_eq!(
            recalled(&transcript_text(&plain, ""), "a".to_owned()),
            (plain, String::new())
        );
        let long = ToolCall {
            arguments: format!("{{\"x\":\"{}\"}}", "y".repeat(600)),
            ..call
        };
        assert_eq!(
            recalled(&transcript_text(&long, "z"), "a".to_owned())
                .0
                .arguments,
            "{}"
        );
        assert_eq!(recalled("odd", "a".to_owned()).0.name, "odd");
    }
}
