//! The life of an agent's status.

use offhook_tests::{Options, Server, both};
use serde_json::json;

both! {
    async fn only_the_documented_changes_of_status_are_allowed(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let agent = account.agent().await;
        let target = format!("/v1/agents/{agent}");
        let publish = format!("{target}/publish");
        let to = async |status: &str| {
            account
                .patch(&target, json!({"status": status}))
                .send()
                .await
        };
        assert_eq!(to("paused").await.assert(200)["status"], "paused");
        // Publishing while paused leaves it paused.
        assert_eq!(
            account.post(&publish, "{}").send().await.assert(200)["status"],
            "paused"
        );
        assert_eq!(to("active").await.assert(200)["status"], "active");
        for status in ["draft", "error"] {
            let message = to(status).await.assert_error(409, "conflict");
            assert!(message.contains("`status`"), "{message}");
        }
        assert_eq!(to("archived").await.assert(200)["status"], "archived");
        to("active").await.assert_error(409, "conflict");
        account
            .post(&publish, "{}")
            .send()
            .await
            .assert_error(409, "conflict");
        assert_eq!(to("paused").await.assert(200)["status"], "paused");
        let wrong = to("asleep").await.assert_error(400, "invalid_body");
        assert!(wrong.starts_with("`status`: must be `draft`"), "{wrong}");
    }

    async fn only_an_active_published_agent_takes_calls(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let agent = account.agent().await;
        let body = json!({"agent_id": agent, "to": "+15005550001"});
        let place = async || {
            account
                .post("/v1/calls", &body)
                .idempotency_key("k")
                .send()
                .await
        };
        let to = async |status: &str| {
            account
                .patch(&format!("/v1/agents/{agent}"), json!({"status": status}))
                .send()
                .await
                .assert(200)
        };
        for status in ["paused", "archived"] {
            to(status).await;
            place().await.assert_error(403, "agent_disabled");
        }
        to("paused").await;
        to("active").await;
        // A refused request leaves the key free; a replay works whatever the agent is now.
        let placed = place().await;
        placed.assert(201);
        to("paused").await;
        let replay = place().await;
        assert_eq!((replay.status, &replay.body), (201, &placed.body));
        let draft = account
            .post("/v1/agents", r#"{"name":"a","language":"en"}"#)
            .send()
            .await
            .assert(201);
        let call = account.post(
            "/v1/calls",
            json!({"agent_id": draft["id"], "to": "+15005550001"}),
        );
        call.send().await.assert_error(403, "agent_disabled");
    }
}
