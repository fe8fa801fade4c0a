//! The event stream of a conversation.

use anyhow::Context as _;
use futures_util::StreamExt as _;
use serde_json::Value;

use super::api::Api;

/// The longest event.
const MAX_EVENT_BYTES: usize = 1024 * 1024;

/// Prints each turn as it comes, until the stream ends with the conversation; returns how many turns there were.
pub(super) async fn follow(api: &Api, conversation_id: &str) -> anyhow::Result<usize> {
    let path = format!("/v1/conversations/{conversation_id}/events");
    let response = api
        .stream(&path)
        .await
        .context("following the conversation")?;
    let mut stream = response.bytes_stream();
    let mut events = EventParser::default();
    let mut turns = 0;
    while let Some(piece) = stream.next().await {
        for event in events.push(&piece.context("the event stream broke")?)? {
            turns += usize::from(show(&event));
        }
    }
    Ok(turns)
}

/// Whether it was a turn.
fn show(event: &Value) -> bool {
    if let (Some(role), Some(text)) = (event["role"].as_str(), event["text"].as_str()) {
        let who = if role == "user" { "customer" } else { role };
        println!("  {who:<9} {text}");
        if let Some(waited) = event["latency"]["first_frame_ms"].as_i64() {
            let end_of_turn = &event["latency"]["end_of_turn_ms"];
            println!(
                "            heard after {waited} ms, of which {end_of_turn} ms to know that the customer had finished"
            );
        }
        return true;
    }
    if let Some(state) = event["state"].as_str() {
        println!("  [{state}]");
    }
    false
}

/// Takes server-sent events apart; of each it gives the data, as JSON.
#[derive(Default)]
struct EventParser {
    buffer: Vec<u8>,
    data: String,
}

impl EventParser {
    fn push(&mut self, piece: &[u8]) -> anyhow::Result<Vec<Value>> {
        self.buffer.extend_from_slice(piece);
        let mut events = Vec::new();
        while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.buffer.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\r', '\n']);
            if let Some(data) = line.strip_prefix("data:") {
                self.data.push_str(data.strip_prefix(' ').unwrap_or(data));
            } else if line.is_empty() && !self.data.is_empty() {
                let data = std::mem::take(&mut self.data);
                events.push(serde_json::from_str(&data).context("an event is not JSON")?);
            }
        }
        anyhow::ensure!(
            self.buffer.len() + self.data.len() <= MAX_EVENT_BYTES,
            "an event is too long"
        );
        Ok(events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_put_together_from_any_pieces() {
        let text = ": hello\n\nid: 1\nevent: turn\ndata: {\"role\":\"agent\",\r\ndata: \"text\":\"¿Sí?\"}\n\ndata: {\"state\":\"live\"}\n\n";
        for size in [1, 2, 7, text.len()] {
            let mut parser = EventParser::default();
            let mut events = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                events.extend(parser.push(piece).unwrap());
            }
            assert_eq!(events.len(), 2);
            assert_eq!(events[0]["text"], "¿Sí?");
            assert_eq!(events[1]["state"], "live");
        }
    }
}
