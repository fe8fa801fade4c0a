//! Keys, scopes and the order of checks.

use std::collections::BTreeSet;
use std::time::Duration;

use offhook_domain::{Clock, Plan, Scope, Scopes};
use offhook_testkit::TestDatabase;

use crate::it::app::TestApp;
use crate::it::statements::Statements;

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_or_bad_key_is_401_without_rate_headers() {
    let app = TestApp::start().await;
    let well_formed = format!("service_live_{}", "0".repeat(64));
    let bad = [
        "",
        "Bearer",
        "Bearer ",
        "Basic abc",
        "Bearer x",
        "Bearer service_live_00",
        &format!("Bearer{}", app.token),
        &format!("Bearer {}0", app.token),
        &format!("Bearer {}", app.token.to_uppercase()),
        &format!("Bearer {well_formed}"),
        &app.token,
    ];
    let mut messages = BTreeSet::new();
    for value in bad {
        let answer = app.bare("GET", "/v1/me").header("Authorization", value);
        let answer = answer.await;
        messages.insert(answer.assert_error(401, "unauthorized"));
        for name in [
            "x-ratelimit-limit",
            "x-ratelimit-remaining",
            "x-ratelimit-reset",
        ] {
            assert_eq!(answer.header(name), None, "{value}");
        }
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
    assert_eq!(messages.len(), 1, "nobody learns which keys exist");
    let answer = app.bare("GET", "/v1/me").await;
    answer.assert_error(401, "unauthorized");
    let twice = app.get("/v1/me").key(&app.token).await;
    twice.assert_error(401, "unauthorized");
    for scheme in ["bearer", "BEARER", "bEaReR"] {
        let any_case = app.bare("GET", "/v1/me");
        let any_case = any_case.header("authorization", format!("{scheme} {}", app.token));
        any_case.await.assert(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_or_expired_key_is_refused_at_once() {
    let app = TestApp::start().await;
    let soon = app.clock.now().plus(Duration::from_secs(1));
    let expiring = app.key(app.account, Scopes::all(), false, Some(soon)).await;
    app.bare("GET", "/v1/me").key(&expiring).await.assert(200);
    app.clock.set(soon);
    let expired = app.bare("GET", "/v1/me").key(&expiring).await;
    expired.assert_error(401, "unauthorized");
    app.revoke(&app.token).await;
    app.get("/v1/me").await.assert_error(401, "unauthorized");
}

/// Neither the response nor its cost may reveal that a key was once valid.
#[tokio::test(flavor = "multi_thread")]
async fn unknown_expired_and_revoked_keys_are_answered_alike_after_as_many_statements() {
    let database = TestDatabase::sqlite();
    let statements = Statements::of(&database);
    let app = TestApp::on(database).await;
    let soon = app.clock.now().plus(Duration::from_secs(1));
    let expired = app.key(app.account, Scopes::all(), false, Some(soon)).await;
    let revoked = app.key(app.account, Scopes::all(), false, None).await;
    app.revoke(&revoked).await;
    app.clock.set(soon);
    let unknown = format!("service_live_{}", "0".repeat(64));
    app.rest();
    statements.settle().await;
    let mut seen = Vec::new();
    for key in [&unknown, &expired, &revoked] {
        let before = statements.sent();
        let mut answer = app.bare("GET", "/v1/calls").key(key).await;
        let mut sent = statements.sent() - before;
        // Background work may send a statement in between, so the test takes the minimum of several counts.
        for _ in 0..2 {
            let before = statements.sent();
            answer = app.bare("GET", "/v1/calls").key(key).await;
            sent = sent.min(statements.sent() - before);
        }
        let mut body = answer.json();
        body.as_object_mut().map(|body| body.remove("request_id"));
        let names: BTreeSet<_> = answer
            .headers()
            .iter()
            .map(|(name, _)| name.clone())
            .collect();
        seen.push((answer.status, body, names, sent));
        statements.settle().await;
    }
    assert_eq!(seen[0].0, 401);
    assert_eq!(seen[0].3, 1, "one look-up");
    assert_eq!(seen[1], seen[0], "expired");
    assert_eq!(seen[2], seen[0], "revoked");
}

#[tokio::test(flavor = "multi_thread")]
async fn me_says_who_asks_and_how_much_is_left() {
    let app = TestApp::on_plan(Plan::Pro).await;
    let answer = app.get("/v1/me").await;
    let me = answer.assert(200);
    let key = app
        .services
        .keys()
        .list(app.account)
        .await
        .unwrap()
        .remove(0);
    let expected = serde_json::json!({
        "account": {"id": app.account.to_string(), "name": "Acme", "plan": "pro"},
        "key": {
            "id": key.id.to_string(),
            "name": "test",
            "prefix": &app.token[..21],
            "scopes": Scope::ALL.iter().map(|scope| scope.as_str()).collect::<Vec<_>>(),
            "read_only": false,
            "created_at": "2026-04-30T18:32:11.123Z",
            "expires_at": null,
            "last_used_at": null,
        },
        "rate_limit": {"requests_per_minute": 40, "remaining": 39},
        "live_calls": 0,
    });
    assert_eq!(me, expected);
    assert_eq!(answer.number("x-ratelimit-limit"), 40);
    assert_eq!(answer.number("x-ratelimit-remaining"), 39);
    // 18:32:11.123456 and 1.5 s, rounded up.
    assert_eq!(answer.number("x-ratelimit-reset"), 1_777_573_933);
}

#[tokio::test(flavor = "multi_thread")]
async fn read_only_comes_before_scope_and_scope_before_plan() {
    let app = TestApp::start().await;
    let only_me: Scopes = [Scope::TeamRead].into_iter().collect();
    let poor = app.key(app.account, only_me, true, None).await;
    let ask = |method: &str, path: &str| app.bare(method, path).key(&poor);
    let refused = ask("POST", "/v1/agents").await;
    refused.assert_error(403, "forbidden");
    assert!(refused.number("x-ratelimit-remaining") >= 0);
    let message = ask("GET", "/v1/agents").await;
    let message = message.assert_error(403, "insufficient_scope");
    assert!(message.contains("agents:read"), "{message}");
    ask("GET", "/v1/me").await.assert(200);
    let free = app.stranger(Plan::Free).await;
    let me = app.bare("GET", "/v1/me").key(&free).await;
    assert_eq!(me.assert(200)["rate_limit"]["requests_per_minute"], 10);
    let list = app.bare("GET", "/v1/calls?limit=0").key(&free).await;
    list.assert_error(403, "plan_limit");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_check_comes_before_the_next_one() {
    let app = TestApp::start().await;
    // The route comes before the key.
    let answer = app.bare("GET", "/v1/nothing").await;
    answer.assert_error(404, "not_found");
    let wrong = app.bare("PUT", "/v1/agents").await;
    wrong.assert_error(405, "method_not_allowed");
    assert_eq!(wrong.header("allow"), Some("GET, POST"));
    // The key comes before the query.
    let bad = app.bare("GET", "/v1/agents?limit=0").await;
    bad.assert_error(401, "unauthorized");
    // The query comes before the body.
    let both = app.post("/v1/agents?x=1", "not json").await;
    let message = both.assert_error(400, "invalid_query");
    assert_eq!(message, "`x`: unknown parameter");
    // The key's syntax comes before the body.
    let key = app
        .post("/v1/calls", "not json")
        .header("Idempotency-Key", "");
    key.await.assert_error(400, "invalid_idempotency_key");
    // The body comes before the resource's state.
    let absent = "/v1/agents/0190163d-8694-739b-aea5-966c26f8ad91";
    let body = app.patch(absent, "not json").await;
    body.assert_error(400, "invalid_json");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_methods_name_the_right_ones() {
    let app = TestApp::start().await;
    let cases = [
        ("POST", "/v1/me", "GET"),
        ("PUT", "/v1/agents/x", "GET, PATCH, DELETE"),
        ("GET", "/v1/agents/x/publish", "POST"),
        ("PATCH", "/v1/webhooks/events", "GET"),
        ("PUT", "/v1/webhooks/x", "GET, PATCH, DELETE"),
        ("POST", "/v1/models", "GET"),
        ("OPTIONS", "/v1/calls", "GET, POST"),
        ("POST", "/healthz", "GET"),
    ];
    for (method, path, allow) in cases {
        let answer = app.request(method, path).await;
        answer.assert_error(405, "method_not_allowed");
        assert_eq!(answer.header("allow"), Some(allow), "{method} {path}");
        assert_eq!(answer.header("x-ratelimit-limit"), None);
    }
    // HEAD is treated like any other unlisted method; its response has no body.
    let head = app.request("HEAD", "/v1/me").await;
    assert_eq!((head.status, head.body.len()), (405, 0));
    assert_eq!(head.header("allow"), Some("GET"));
}

#[tokio::test(flavor = "multi_thread")]
async fn absent_and_malformed_ids_read_alike() {
    let app = TestApp::start().await;
    let message = app
        .get("/v1/agents/0190163d-8694-739b-aea5-966c26f8ad91")
        .await;
    let message = message.assert_error(404, "not_found");
    let paths = [
        "/v1/agents/x",
        "/v1/agents/%00",
        "/v1/agents/%ff%fe",
        "/v1/agents/00000000-0000-0000-0000-000000000000",
        "/v1/calls/call_x",
        "/v1/calls/0190163d-8694-739b-aea5-966c26f8ad91",
        "/v1/calls/call_0190163d-8694-739b-aea5-966c26f8ad91",
        "/v1/conversations/call_0190163d-8694-739b-aea5-966c26f8ad91",
        "/v1/conversations/x/turns",
        "/v1/conversations/x/events",
        "/v1/webhooks/x",
        "/v1/webhooks/deliveries/x",
        "/v1/agents/",
        "/v1/nothing",
        "/v1",
        "/",
    ];
    for path in paths {
        let answer = app.get(path).await;
        assert_eq!(answer.assert_error(404, "not_found"), message, "{path}");
    }
    let answer = app.get("/v1/agents/x?limit=1").await;
    answer.assert_error(400, "invalid_query");
}
