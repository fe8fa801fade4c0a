//! A phone network that cannot be reached (`upstream_unreachable`).

use std::time::Duration;

use offhook_tests::{Options, Server, both, eventually};
use serde_json::json;

both! {
    async fn while_the_carrier_is_known_to_be_down_nothing_is_placed(database: Database) {
        // Nobody listens on port 9.
        let server = Server::start(Options::on(database).set("simulator.url", "http://127.0.0.1:9")).await;
        let account = server.account("scale").await;
        let agent = account.agent().await;
        // What fails makes it known.
        let handle = account.call(&agent, "+15005550001").await;
        let call = account.ended(&handle).await;
        assert_eq!(call["failure_reason"], "carrier_error", "{call}");
        let body = json!({"agent_id": agent, "to": "+15005550001"});
        eventually("a refusal", Duration::from_secs(10), || async {
            let answer = account.post("/v1/calls", &body).await;
            (answer.status != 201).then_some(answer)
        })
        .await
        .assert_error(502, "upstream_unreachable");
        let before = account.read("/v1/calls").await;
        account.post("/v1/calls", &body).await.assert_error(502, "upstream_unreachable");
        assert_eq!(account.read("/v1/calls").await["data"].as_array().map(Vec::len), before["data"].as_array().map(Vec::len));
    }
}
