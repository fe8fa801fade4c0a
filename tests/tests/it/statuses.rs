//! The life of an agent's status.

use offhook_tests::{Server, both};
use serde_json::json;

both! {
    async fn only_the_documented_changes_of_status_are_allowed(database: Database) {
        let (_server, account) = Server::furnished(database).await;
        let agent = account.agent().await;
        let target = format!("/v1/agents/{agent}");
        let publish = format!("{target}/publish");
        let to = async |status: &str| account.patch(&target, json!({"status": status})).await;
        assert_eq!(to("paused").await.assert(200)["status"], "paused");
        // Publishing while paused leaves it paused.
        assert_eq!(account.post(&publish, "{}").await.assert(200)["status"], "paused");
        assert_eq!(to("active").await.assert(200)["status"], "active");
        for status in ["draft", "error"] {
            let message = to(status).await.assert_error(409, "conflict");
            assert!(message.contains("`status`"), "{message}");
        }
        assert_eq!(to("archived").await.assert(200)["status"], "archived");
        to("active").await.assert_error(409, "conflict");
        let answer = account.post(&publish, "{}").await;
        answer.assert_error(409, "conflict");
        assert_eq!(to("paused").await.assert(200)["status"], "paused");
        let wrong = to("asleep").await.assert_error(400, "invalid_body");
        assert!(wrong.starts_with("`status`: must be `draft`"), "{wrong}");
    }
}
