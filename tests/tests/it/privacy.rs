//! Private data that must not appear in logs.

use offhook_tests::{Options, Receiver, Server, both, text};
use serde_json::json;

both! {
    async fn no_number_key_secret_or_word_of_a_call_is_logged(database: Database) {
        let server = Server::start(Options::on(database).set("log.format", "json")).await;
        let account = server.account("scale").await;
        let receiver = Receiver::scripted(|_, before| if before == 0 { 500 } else { 200 }).await;
        let (id, secret) = account.webhook(&receiver.url("/path-token")).await;
        let agent = account.agent().await;
        let body = json!({"agent_id": agent, "to": "+5215512345678", "metadata": {"lead_name": "Xochitl"}});
        let placed = account
            .post("/v1/calls", body)
            .idempotency_key("order-of-xochitl")
            .await
            .assert(201);
        let handle = text(&placed["id"]).to_owned();
        account.ended(&handle).await;
        for to in ["+15005550006", "+15005550003", "+15005550007"] {
            account.ended(&account.call(&agent, to).await).await;
        }
        // Errors must not reveal more.
        for target in [
            "/v1/calls?phone=%2B5215512345678&limit=0",
            "/v1/calls/+5215512345678",
            "/v1/+5215512345678",
        ] {
            account.get(target).await;
        }
        account.post("/v1/calls", json!({"agent_id": "x", "to": "+5215512345678"})).await;
        account.post("/v1/calls", r#"{"to":"+5215512345678""#).await;
        server
            .client()
            .get("/v1/me")
            .header("Authorization", format!("Bearer {}x", account.token))
            .await;
        let rotated = account
            .post(&format!("/v1/webhooks/{id}/rotate-secret"), "{}")
            .await
            .assert(200);
        receiver
            .wait("every event", |all| {
                all.iter().filter(|one| one.kind() != "call.initiated").count()
                    >= 4
            })
            .await;
        let conversation = account.read(&format!("/v1/conversations/{}", &handle[5..])).await;
        let log = server.log();
        assert!(
            log.contains("\"answered\"") && log.contains("request_id"),
            "requests are logged: {log}"
        );
        let token = &account.token["service_live_".len()..];
        let mut words = vec![
            "5215512345678",
            "15005550006",
            "15005550003",
            "15005550007",
            "Xochitl",
            "xochitl",
            token,
            &token[..16],
            &secret[6..],
            &text(&rotated["secret"])[6..],
            "path-token",
            "confirm appointments",
        ];
        let turns = conversation["transcript"].as_array().cloned().unwrap_or_default();
        words.extend(turns.iter().map(|turn| text(&turn["text"])));
        words.push(text(&conversation["summary"]));
        assert!(words.len() > 14, "{conversation}");
        for line in log.lines() {
            offhook_tests::must::<serde_json::Value, _>(
                "each line is an object",
                serde_json::from_str(line),
            );
            for word in &words {
                assert!(!line.contains(word), "{word:?} is in the log: {line}");
            }
        }
    }
}
