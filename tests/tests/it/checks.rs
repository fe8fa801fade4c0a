//! The order in which a request is checked, and what every answer carries (decisions 1.5–1.7, 1.11).

use offhook_tests::{Options, Server, both};

use crate::auth::{assert_counted, assert_unauthorized};

both! {
    async fn each_check_comes_before_the_next(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let bare = server.client();
        // The route before the key.
        bare.get("/v1/nothing")
            .send()
            .await
            .assert_error(404, "not_found");
        bare.delete("/v1/me")
            .send()
            .await
            .assert_error(405, "method_not_allowed");
        // The key before everything that follows.
        assert_unauthorized(&bare.post("/v1/calls?x=1", "no JSON").send().await);
        // Read-only before the scope, the scope before the plan.
        let poor = server
            .key(&account.id, &["--scopes", "team:read", "--read-only"])
            .await;
        poor.post("/v1/agents", "{}")
            .send()
            .await
            .assert_error(403, "forbidden");
        poor.get("/v1/agents")
            .send()
            .await
            .assert_error(403, "insufficient_scope");
        let free = server.account("free").await;
        let free = server.key(&free.id, &["--scopes", "team:read"]).await;
        free.get("/v1/agents")
            .send()
            .await
            .assert_error(403, "insufficient_scope");
        // The query before the body, the body before the state.
        let query = account.post("/v1/agents?x=1", "no JSON").send().await;
        assert_eq!(
            query.assert_error(400, "invalid_query"),
            "`x`: unknown parameter"
        );
        let absent = "/v1/agents/0190163d-8694-739b-aea5-966c26f8ad91";
        account
            .patch(absent, "no JSON")
            .send()
            .await
            .assert_error(400, "invalid_json");
        account
            .patch(absent, "{}")
            .send()
            .await
            .assert_error(404, "not_found");
        // The key's syntax before the body.
        let request = account.post("/v1/calls", "no JSON").idempotency_key("");
        request
            .send()
            .await
            .assert_error(400, "invalid_idempotency_key");
    }

    async fn every_answer_carries_its_headers(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let mut ids = std::collections::HashSet::new();
        for target in [
            "/v1/me",
            "/v1/calls?limit=0",
            "/v1/calls/call_x",
            "/v1/agents",
            "/v1/webhooks",
        ] {
            let answer = account
                .get(target)
                .header("X-Request-Id", "mine")
                .send()
                .await;
            assert_counted(&answer);
            let id = answer.header("x-request-id").unwrap_or_default().to_owned();
            assert!(ids.insert(id.clone()) && id.len() == 36, "{id}");
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        }
        let open = server.client().get("/v1/models").send().await;
        open.assert(200);
        for name in [
            "x-ratelimit-limit",
            "x-ratelimit-remaining",
            "x-ratelimit-reset",
            "cache-control",
        ] {
            assert_eq!(open.header(name), None, "{open:?}");
        }
    }

    async fn unknown_paths_and_wrong_methods_are_told_apart(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let absent = account
            .get("/v1/agents/0190163d-8694-739b-aea5-966c26f8ad91")
            .send()
            .await;
        let message = absent.assert_error(404, "not_found");
        for target in [
            "/",
            "/v1",
            "/v1/",
            "/v2/me",
            "/v1/nothing",
            "/v1/me/x",
            "/v1/agents/x",
            "/v1/agents/%00",
        ] {
            let answer = account.get(target).send().await;
            assert_eq!(answer.assert_error(404, "not_found"), message, "{target}");
        }
        for (method, target, allow) in [
            ("POST", "/v1/me", "GET"),
            ("PUT", "/v1/agents", "GET, POST"),
            ("DELETE", "/v1/calls", "GET, POST"),
            ("GET", "/v1/calls/call_x/hangup", "POST"),
            ("PUT", "/v1/webhooks/x", "GET, PATCH, DELETE"),
            ("POST", "/v1/webhooks/events", "GET"),
        ] {
            let answer = account.request(method, target).send().await;
            answer.assert_error(405, "method_not_allowed");
            assert_eq!(answer.header("allow"), Some(allow), "{method} {target}");
        }
    }
}
