//! The agent's reply to a chat message: whole, or as server-sent events while the agent writes it.

use std::time::Duration;

use actix_web::web::Bytes;
use futures_util::{StreamExt, stream};
use offhook_services::{Answering, ChatEvent, ChatReply, UseCaseError};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::timeout;

use crate::prelude::*;
use crate::wire::widget::AnswerBody;

/// How often a comment goes out, so that proxies do not close a quiet stream.
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(15);

/// Waits for the whole reply.
pub(crate) async fn completed(
    mut events: UnboundedReceiver<ChatEvent>,
) -> Result<ChatReply, ApiError> {
    while let Some(event) = events.recv().await {
        match event {
            ChatEvent::Completed(reply) => return Ok(reply),
            ChatEvent::Failed(error) => return Err(error.into()),
            ChatEvent::Delta(_) | ChatEvent::ToolStarted(_) | ChatEvent::ToolFinished(_) => {}
        }
    }
    Err(ApiError::internal("an answer ended without a word"))
}

/// Streams the reply. When the client disconnects, the stream is dropped, and with it the reply's listener.
pub(crate) fn open(
    answering: Answering,
    message_id: Option<&str>,
    request: RequestId,
) -> HttpResponse {
    let started = event("message.started", &json!({"message_id": message_id}));
    let opening = stream::iter([Ok::<_, ApiError>(started)]);
    let mut answer = HttpResponse::Ok();
    answer
        .content_type("text/event-stream")
        .insert_header(("X-Accel-Buffering", "no"));
    match answering {
        Answering::Before(reply) => {
            let text = event("message.delta", &json!({"text": reply.text}));
            let rest = [text, event("message.completed", &AnswerBody(&reply))];
            answer.streaming(opening.chain(stream::iter(rest.map(Ok))))
        }
        Answering::Now(events) => {
            let rest = stream::unfold(Some(events), move |events| async move {
                let mut events = events?;
                let bytes = match timeout(KEEP_ALIVE_EVERY, events.recv()).await {
                    Err(_) => Bytes::from_static(b": keep-alive\n\n"),
                    Ok(None) => return None,
                    Ok(Some(happened)) => {
                        let is_last =
                            matches!(happened, ChatEvent::Completed(_) | ChatEvent::Failed(_));
                        let bytes = frame(happened, request);
                        return Some((Ok(bytes), (!is_last).then_some(events)));
                    }
                };
                Some((Ok(bytes), Some(events)))
            });
            answer.streaming(opening.chain(rest))
        }
    }
}

fn frame(happened: ChatEvent, request: RequestId) -> Bytes {
    match happened {
        ChatEvent::Delta(text) => event("message.delta", &json!({"text": text})),
        ChatEvent::ToolStarted(name) => event("tool.started", &json!({"name": name})),
        ChatEvent::ToolFinished(name) => event("tool.finished", &json!({"name": name})),
        ChatEvent::Completed(reply) => event("message.completed", &AnswerBody(&reply)),
        ChatEvent::Failed(error) => failed(error, request),
    }
}

/// The error envelope as an event: the status code 200 has already been sent.
fn failed(error: UseCaseError, request: RequestId) -> Bytes {
    let error = ApiError::from(error);
    if error.code.status().is_server_error() {
        let cause = error.cause.as_deref().unwrap_or("");
        tracing::error!(request_id = %request, code = error.code.as_str(), cause, "an answer failed");
    }
    let envelope = json!({
        "error": error.code.as_str(),
        "message": error.message,
        "request_id": request,
    });
    event("error", &envelope)
}

/// JSON text has no line breaks, so it fits one `data` line.
fn event(name: &str, data: &impl Serialize) -> Bytes {
    // Serializing plain structs of strings and numbers does not fail.
    let data = serde_json::to_string(data).unwrap_or_default();
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_is_told_in_one_line_of_json() {
        let request = RequestId::nil();
        let frame = |happened| String::from_utf8(frame(happened, request).to_vec()).unwrap();
        assert_eq!(
            frame(ChatEvent::Delta("a\nb".to_owned())),
            "event: message.delta\ndata: {\"text\":\"a\\nb\"}\n\n"
        );
        assert_eq!(
            frame(ChatEvent::ToolStarted("look".to_owned())),
            "event: tool.started\ndata: {\"name\":\"look\"}\n\n"
        );
        let reply = ChatReply {
            text: "Yes.".to_owned(),
            interrupted: false,
            is_last: true,
            answers: 2,
            credits: 1,
        };
        assert_eq!(
            frame(ChatEvent::Completed(reply)),
            "event: message.completed\ndata: {\"text\":\"Yes.\",\"interrupted\":false,\"status\":\"ended\",\
             \"usage\":{\"answers\":2,\"credits\":1}}\n\n"
        );
        assert!(
            frame(ChatEvent::Failed(UseCaseError::NoReply))
                .contains("\"error\":\"upstream_error\"")
        );
    }
}
