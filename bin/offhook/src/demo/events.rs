//! The event stream of a conversation.

use anyhow::{Context as _, ensure};
use futures_util::StreamExt as _;
use offhook_providers::Events;
use serde_json::Value;

use super::api::Api;

/// Prints each turn as it comes, until the stream ends with the conversation; returns how many turns there were.
pub(super) async fn follow(api: &Api, conversation_id: &str) -> anyhow::Result<usize> {
    let path = format!("/v1/conversations/{conversation_id}/events");
    let response = api
        .stream(&path)
        .await
        .context("following the conversation")?;
    let mut stream = response.bytes_stream();
    let mut events = Events::default();
    let mut turns = 0;
    while let Some(piece) = stream.next().await {
        let piece = piece.context("the event stream broke")?;
        let mut told = Vec::new();
        let read = events.push(&piece, |data| told.push(data));
        ensure!(read.is_ok(), "an event is too long, or no text");
        for data in told {
            let event = serde_json::from_str(&data).context("an event is not JSON")?;
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
