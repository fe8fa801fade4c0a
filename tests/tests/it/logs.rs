//! The request log.

use offhook_tests::{Server, both};
use serde_json::json;

both! {
    async fn a_graceful_stop_writes_what_was_asked_last(database: Database) {
        let (mut server, account) = Server::furnished(database).await;
        let mut asked = Vec::new();
        for _ in 0..20 {
            let answer = account.get("/v1/me").await;
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
