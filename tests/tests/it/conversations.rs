//! How soon the events of a conversation are told.

use offhook_tests::{Options, Server, both, text};

both! {
    async fn a_turn_is_told_within_300_ms_of_its_end(database: Database) {
        let server = Server::start(Options::on(database).set("simulator.speed", 10)).await;
        let account = server.account("scale").await;
        let agent = account.agent().await;
        let handle = account.call(&agent, "+5215512345678").await;
        let target = format!("/v1/conversations/{}", &handle[5..]);
        let mut stream = account.get(&format!("{target}/events")).stream().await;
        let mut late = Vec::new();
        let mut count = 0;
        while let Some(event) = stream.next().await {
            if event.event != "turn" {
                continue;
            }
            count += 1;
            let now = offhook_tests::unix_millis();
            let transcript = account.read(&target).await["transcript"].clone();
            let is_read = transcript.as_array().is_some_and(|turns| turns.contains(&event.data));
            assert!(is_read, "{} in {transcript}", event.data);
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
