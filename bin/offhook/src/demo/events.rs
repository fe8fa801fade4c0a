//! The event stream of a conversation.

use crate::client::{Api, is_last};
use crate::prelude::*;

/// Prints each turn as it comes, until the conversation ends; returns how many turns there were.
pub(super) async fn follow(api: &Api, conversation_id: &str) -> anyhow::Result<usize> {
    let path = format!("/v1/conversations/{conversation_id}/events");
    let mut turns = 0;
    let shown = |event: &Value| {
        turns += usize::from(show(event));
        Ok(!is_last(event))
    };
    let followed = api.follow(&path, shown).await;
    followed.context("following the conversation")?;
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
