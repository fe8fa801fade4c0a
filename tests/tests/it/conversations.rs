//! Conversations: items, transcripts and live events.

use std::time::{Duration, Instant};

use offhook_tests::{Options, Server, StreamEvent, both, text};
use serde_json::{Value, json};

use crate::calls::assert_timestamp;

fn turns(events: &[StreamEvent]) -> Vec<Value> {
    events
        .iter()
        .filter(|event| event.event == "turn")
        .map(|event| event.data.clone())
        .collect()
}

fn states(events: &[StreamEvent]) -> Vec<String> {
    let states = events.iter().filter(|event| event.event == "state");
    states
        .map(|event| text(&event.data["state"]).to_owned())
        .collect()
}

both! {
    async fn the_stream_tells_every_turn_soon_and_ends_with_the_call(database: Database) {
        let server = Server::start(Options::on(database).set("simulator.speed", 20)).await;
        let account = server.account("scale").await;
        let agent = account.agent().await;
        let handle = account.call(&agent, "+5215512345678").await;
        let target = format!("/v1/conversations/{}", &handle[5..]);
        let mut stream = account.get(&format!("{target}/events")).stream().await;
        for line in [
            "content-type: text/event-stream",
            "cache-control: no-store",
            "x-content-type-options: nosniff",
        ] {
            assert!(stream.head.to_lowercase().contains(line), "{}", stream.head);
        }
        let mut events = Vec::new();
        while let Some(event) = stream.next().await {
            if event.event == "turn" {
                // It is in the transcript by the time that it is told, and was told soon after it was over.
                let asked = Instant::now();
                let conversation = account.read(&target).await;
                let transcript = conversation["transcript"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default();
                assert!(
                    transcript.contains(&event.data),
                    "{} in {conversation}",
                    event.data
                );
                assert!(asked.elapsed() < Duration::from_secs(10));
            }
            events.push(event);
        }
        assert_eq!(
            states(&events).last().map(String::as_str),
            Some("completed")
        );
        let call = account.read(&target).await;
        assert_eq!(call["status"], "completed");
        assert_eq!(json!(turns(&events)), call["transcript"]);
        let ids: Vec<i64> = events
            .iter()
            .filter_map(|event| event.id.parse().ok())
            .collect();
        assert_eq!(ids.len(), events.len());
        assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
        for event in events.iter().filter(|event| event.event == "state") {
            assert_timestamp(&event.data["at"]);
        }
        // From the start again, and from any event on.
        let again = account
            .get(&format!("{target}/events"))
            .stream()
            .await
            .rest()
            .await;
        let shown = |events: &[StreamEvent]| -> Vec<_> {
            events
                .iter()
                .map(|event| (event.id.clone(), event.event.clone(), event.data.clone()))
                .collect()
        };
        assert_eq!(shown(&again), shown(&events));
        for at in [0, 2, events.len() - 1] {
            let resume = account
                .get(&format!("{target}/events"))
                .header("Last-Event-ID", &events[at].id);
            assert_eq!(
                shown(&resume.stream().await.rest().await),
                shown(&events[at + 1..])
            );
        }
        let wrong = account
            .get(&format!("{target}/events"))
            .header("Last-Event-ID", "x")
            .send()
            .await;
        wrong.assert_error(400, "invalid_query");
    }

    async fn a_turn_is_told_within_300_ms_of_its_end(database: Database) {
        let server = Server::start(Options::on(database).set("simulator.speed", 10)).await;
        let account = server.account("scale").await;
        let agent = account.agent().await;
        let handle = account.call(&agent, "+5215512345678").await;
        let mut stream = account
            .get(&format!("/v1/conversations/{}/events", &handle[5..]))
            .stream()
            .await;
        let mut late = Vec::new();
        let mut count = 0;
        while let Some(event) = stream.next().await {
            if event.event != "turn" {
                continue;
            }
            count += 1;
            let now = offhook_tests::unix_millis();
            let began = offhook_tests::millis_of(text(&event.data["started_at"]));
            let ended = began + event.data["duration_ms"].as_i64().unwrap_or(0);
            if now - ended > 300 {
                late.push((now - ended, event.data));
            }
        }
        assert!(count >= 3, "{count} turns");
        // A machine that is busy with other tests may hold one up.
        assert!(late.len() <= 1, "late by more than 300 ms: {late:?}");
    }
}
