//! The request log (decision 6.9).

use std::time::Duration;

use offhook_tests::{Account, Options, Server, both, eventually, text};
use serde_json::{Value, json};

/// The entries of a query, once there are so many.
async fn logs(account: &Account, query: &str, count: usize) -> Vec<Value> {
    eventually("the log", Duration::from_secs(10), || async {
        let list = account.read(&format!("/v1/logs?{query}")).await;
        let entries = list["data"].as_array().cloned().unwrap_or_default();
        (entries.len() >= count).then_some(entries)
    })
    .await
}

both! {
    async fn what_was_asked_and_refused_is_in_the_accounts_log_alone(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let other = server.account("scale").await;
        let asked = account.get("/v1/calls?phone=%2B5215512345678").send().await;
        asked.assert(200);
        let placed = account
            .post("/v1/calls", json!({"agent_id": "nobody", "to": "+5215512345678"}))
            .send()
            .await;
        placed.assert_error(403, "agent_not_found");
        let narrow = server.key(&account.id, &["--scopes", "calls:read"]).await;
        narrow.get("/v1/agents").send().await.assert_error(403, "insufficient_scope");
        other.get("/v1/me").send().await.assert(200);
        account.get("/v1/calls/+5215512345678").send().await.assert_error(404, "not_found");

        let refused = logs(&account, "status=4xx", 3).await;
        let codes: Vec<_> = refused.iter().map(|entry| text(&entry["error"])).collect();
        assert_eq!(codes, ["not_found", "insufficient_scope", "agent_not_found"]);
        assert_eq!(refused[0]["path"], "/v1/calls/***");
        assert_eq!(refused[1]["key_id"], narrow.key_id.as_str());
        assert_eq!(refused[2]["method"], "POST");
        assert_eq!(refused[2]["request_id"], json!(placed.header("x-request-id")));
        let found = logs(&account, &format!("key_id={}", narrow.key_id), 1).await;
        assert_eq!(found, refused[1..2]);
        let listed = logs(&account, "path=/v1/calls&method=GET", 1).await;
        assert_eq!(listed[0]["status"], 200);
        assert_eq!(listed[0]["error"], Value::Null);
        assert_eq!(listed[0]["ip"], "127.0.0.1");
        assert_eq!(listed[0]["request_id"], json!(asked.header("x-request-id")));
        let theirs = logs(&other, "path=/v1/me", 1).await;
        assert_eq!(theirs.len(), 1);
        let request = text(&theirs[0]["request_id"]);
        let mine = account.read(&format!("/v1/logs?request_id={request}")).await;
        assert_eq!(mine["data"], json!([]));
    }

    async fn a_graceful_stop_writes_what_was_asked_last(database: Database) {
        let mut server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let mut asked = Vec::new();
        for _ in 0..20 {
            let answer = account.get("/v1/me").send().await;
            asked.push(answer.header("x-request-id").map(str::to_owned));
        }
        server.stop().await;
        server.start_again(&[]).await;
        let list = account.read("/v1/logs?path=/v1/me&limit=100").await;
        let entries = list["data"].as_array().cloned().unwrap_or_default();
        for request in asked {
            assert!(entries.iter().any(|entry| entry["request_id"] == json!(request)));
        }
    }
}
