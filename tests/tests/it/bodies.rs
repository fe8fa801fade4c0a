//! Bodies that POST /v1/calls refuses, and its limits to the exact character.

use offhook_tests::{Server, both};
use serde_json::json;

both! {
    async fn every_limit_is_exact(database: Database) {
        let (_server, account) = Server::furnished(database).await;
        let agent = account.agent().await;
        let full = {
            let (a, b) = ("a".repeat(2_000), "b".repeat(2_000));
            let c = "c".repeat(5_120 - 4_000 - r#"{"a":"","b":"","c":""}"#.len());
            format!(r#"{{ "a": "{a}", "b": "{b}",   "c": "{c}" }}"#)
        };
        for metadata in [
            format!(r#"{{"{}":1}}"#, "ñ".repeat(64)),
            format!(r#"{{"año":"{}"}}"#, "ñ".repeat(2_000)),
            full,
            r#"{"":""}"#.to_owned(),
        ] {
            let body =
                format!(r#"{{"agent_id":"{agent}","to":"+15005550001","metadata":{metadata}}}"#);
            account.post("/v1/calls", body).await.assert(201);
        }
        for to in ["+1234567", "+123456789012345"] {
            account.post("/v1/calls", json!({"agent_id": agent, "to": to})).await.assert(201);
        }
        for absent in ["x", "agent_0", &"a".repeat(255), "0190163d-8694-739b-aea5-966c26f8ad91"] {
            let body = json!({"agent_id": absent, "to": "+15005550001"});
            let answer = account.post("/v1/calls", body).await;
            answer.assert_error(403, "agent_not_found");
        }
    }
}
