//! `GET /v1/logs`.

use std::time::Duration;

use offhook_domain::{Clock as _, Plan, Scope, Scopes};
use offhook_metrics::metrics;
use offhook_services::PageRequest;
use offhook_services::store::LogFilter;
use offhook_testkit::TestDatabase;
use serde_json::{Value, json};

use crate::it::app::{TestApp, text};
use crate::it::client::must;
use crate::it::raw;

/// The request log, including everything answered so far.
async fn logs(app: &TestApp, query: &str) -> Vec<Value> {
    must(app.services.request_logs().flush().await);
    let list = app.read(&format!("/v1/logs{query}")).await;
    list["data"].as_array().cloned().unwrap_or_default()
}

fn column(entries: &[Value], name: &str) -> Vec<Value> {
    entries.iter().map(|entry| entry[name].clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_and_refusals_behind_a_key_are_logged_whole_and_nothing_else_is() {
    let app = TestApp::start().await;
    let nothing = "0190163d-8694-739b-aea5-966c26f8ad91";
    let missing = app.get(&format!("/v1/agents/{nothing}?")).await;
    missing.assert_error(404, "not_found");
    app.clock.advance(Duration::from_secs(1));
    let listed = app.get("/v1/calls?phone=%2B5215512345678").await;
    listed.assert(200);
    // None of these requests belongs to the account.
    let answer = app.bare("GET", "/v1/calls").await;
    answer.assert_error(401, "unauthorized");
    app.bare("GET", "/v1/models").await.assert(200);
    let answer = app.request("PUT", "/v1/calls").await;
    answer.assert_error(405, "method_not_allowed");
    app.get("/v1/nowhere").await.assert_error(404, "not_found");
    let entries = logs(&app, "").await;
    let key = must(app.services.keys().list(app.account).await).remove(0);
    let mut first = entries[0].clone();
    assert_eq!(text(&first["id"]).len(), 36);
    assert!(first["duration_ms"].is_u64());
    first["id"] = json!(null);
    first["duration_ms"] = json!(0);
    let expected = json!({
        "id": null,
        "request_id": listed.header("x-request-id"),
        "method": "GET",
        "path": "/v1/calls",
        "status": 200,
        "error": null,
        "key_id": key.id,
        "key_prefix": key.prefix,
        "ip": "127.0.0.1",
        "duration_ms": 0,
        "created_at": app.clock.now().to_string(),
    });
    assert_eq!(first, expected);
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[1]["path"], format!("/v1/agents/{nothing}"));
    assert_eq!(entries[1]["error"], "not_found");
    let expected = json!(missing.header("x-request-id"));
    assert_eq!(entries[1]["request_id"], expected);
    // Reading the log is itself logged.
    assert_eq!(column(&logs(&app, "?path=/v1/logs").await, "status"), [200]);
}

/// The resource that the log shows for the newest request with this method and path.
async fn about(app: &TestApp, method: &str, path: &str) -> Option<(String, String)> {
    let logs = app.services.request_logs();
    must(logs.flush().await);
    let filter = LogFilter {
        method: Some(method.to_owned()),
        path: Some(path.to_owned()),
        ..LogFilter::default()
    };
    let page = PageRequest {
        after: None,
        limit: 1,
    };
    let entry = must(logs.list(app.account, filter, page).await)
        .items
        .remove(0);
    let about = entry.about()?;
    Some((about.kind.to_string(), about.id.to_string()))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_knows_what_its_request_made_or_was_about() {
    let app = TestApp::start().await;
    let known = |kind: &str, id: &str| Some((kind.to_owned(), id.to_owned()));
    let agent = app.agent().await;
    let expected = known("agent", &agent);
    assert_eq!(about(&app, "POST", "/v1/agents").await, expected);
    let call = app.call(&agent, "+5215512345678").await;
    let handle = text(&call["id"]);
    let call = known("conversation", handle.trim_start_matches("call_"));
    assert_eq!(about(&app, "POST", "/v1/calls").await, call);
    let path = format!("/v1/calls/{handle}");
    app.read(&path).await;
    assert_eq!(about(&app, "GET", &path).await, call);
    let hook = json!({"url": "https://example.com/hook"});
    let hook = app.post("/v1/webhooks", hook).await.assert(201);
    let hook = text(&hook["id"]);
    let expected = known("webhook", &hook);
    assert_eq!(about(&app, "POST", "/v1/webhooks").await, expected);
    let test = format!("/v1/webhooks/{hook}/test");
    let sent = app.post(&test, "{}").await.assert(202);
    let expected = known("delivery", &text(&sent["id"]));
    assert_eq!(about(&app, "POST", &test).await, expected);
    // A list has no resource, and neither has an id that does not exist.
    app.read("/v1/calls").await;
    assert_eq!(about(&app, "GET", "/v1/calls").await, None);
    let lost = "/v1/agents/0190163d-8694-739b-aea5-966c26f8ad91";
    app.get(lost).await.assert_error(404, "not_found");
    assert_eq!(about(&app, "GET", lost).await, None);
    // The API's response stays the same.
    let entry = &logs(&app, "?path=/v1/agents").await[0];
    assert_eq!(entry["resource"], Value::Null);
    assert_eq!(entry["resource_id"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_by_limit_scope_and_form_are_in_the_log() {
    let app = TestApp::start().await;
    let narrow: Scopes = [Scope::CallsRead].into_iter().collect();
    let narrow = app.key(app.account, narrow, false, None).await;
    let answer = app.bare("GET", "/v1/agents").key(&narrow).await;
    answer.assert_error(403, "insufficient_scope");
    let answer = app.get("/v1/agents?limit=0").await;
    answer.assert_error(400, "invalid_query");
    let answer = app.post("/v1/agents", "{").await;
    answer.assert_error(400, "invalid_json");
    for lost in ["/v1/calls/+5215512345678", "/v1/calls/undefined"] {
        app.get(lost).await.assert_error(404, "not_found");
    }
    let entries = logs(&app, "").await;
    let codes = column(&entries, "error");
    for code in [
        "insufficient_scope",
        "invalid_query",
        "invalid_json",
        "not_found",
    ] {
        assert!(codes.contains(&json!(code)), "{code}: {codes:?}");
    }
    assert!(column(&entries, "path").contains(&json!("/v1/calls/***")));
    assert!(column(&entries, "path").contains(&json!("/v1/calls/undefined")));
    let of_key = entries
        .iter()
        .find(|entry| entry["error"] == "insufficient_scope");
    let of_key = text(&of_key.unwrap_or(&Value::Null)["key_id"]);
    let entries = logs(&app, &format!("?key_id={of_key}")).await;
    assert_eq!(column(&entries, "error"), ["insufficient_scope"]);

    let app = TestApp::on_plan(Plan::Starter).await;
    for _ in 0..10 {
        app.read("/v1/me").await;
    }
    let answer = app.get("/v1/me").await;
    answer.assert_error(429, "rate_limit_exceeded");
    app.clock.advance(Duration::from_secs(60));
    assert_eq!(column(&logs(&app, "?status=429").await, "path"), ["/v1/me"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_method_that_the_interface_has_is_in_the_log_and_can_be_asked_for() {
    let app = TestApp::start().await;
    let nobody = "/v1/agents/0190163d-8694-739b-aea5-966c26f8ad91";
    for (method, path) in [
        ("GET", nobody.to_owned()),
        ("POST", format!("{nobody}/publish")),
        ("PUT", format!("{nobody}/widget")),
        ("PATCH", nobody.to_owned()),
        (
            "DELETE",
            "/v1/knowledge/documents/0190163d-8694-739b-aea5-966c26f8ad91".to_owned(),
        ),
    ] {
        app.request(method, &path).json(json!({})).await;
        let entries = logs(&app, &format!("?method={method}&path={path}")).await;
        assert_eq!(column(&entries, "method"), [method]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_client_goes_away_is_in_the_log() {
    let database = TestDatabase::sqlite();
    let app = TestApp::on(database.clone()).await;
    let remaining = async || {
        let answer = app.get("/v1/me").await;
        answer.number("x-ratelimit-remaining")
    };
    let before = remaining().await;
    // No writes until this is dropped.
    let other = raw::hold(&database);
    let body = json!({
        "name": "Eva",
        "language": "en-US",
        "config": {
            "system_prompt": "You confirm appointments.",
            "llm": {"provider": "scripted", "model": "scripted"},
        },
    });
    let gone = app.post("/v1/agents", body).open().await;
    // The account is known once the request is counted; then the request waits to write.
    let mut asked = 1;
    while remaining().await > before - asked - 1 {
        asked += 1;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    drop(gone);
    let is_dropped = || {
        metrics()
            .text()
            .contains("\noffhook_http_requests_in_flight 0\n")
    };
    while !is_dropped() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    drop(other);
    let entries = logs(&app, "?path=/v1/agents").await;
    assert_eq!(column(&entries, "status"), [499], "{entries:?}");
    assert_eq!(column(&entries, "error"), [Value::Null]);
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_choose_entries_and_faults_are_named() {
    let app = TestApp::start().await;
    app.agent().await;
    let lost = app.get("/v1/webhooks/x").await;
    lost.assert_error(404, "not_found");
    let request = lost.header("x-request-id").unwrap_or_default();
    for (query, statuses) in [
        ("?status=4xx", vec![404]),
        ("?status=404", vec![404]),
        ("?status=5xx", vec![]),
        ("?status=201", vec![201]),
        ("?method=POST", vec![200, 201]),
        ("?method=DELETE", vec![]),
        ("?path=/v1/agents", vec![201]),
        ("?path=/v1/agent_", vec![]),
        ("?from=2100-01-01", vec![]),
        ("?to=2000-01-01", vec![]),
        (&format!("?request_id={request}"), vec![404]),
        ("?key_id=0190163d-8694-739b-aea5-966c26f8ad91", vec![]),
    ] {
        let mut found: Vec<_> = logs(&app, query).await;
        found.retain(|entry| entry["path"] != "/v1/logs");
        let mut found: Vec<_> = found
            .iter()
            .filter_map(|entry| entry["status"].as_u64())
            .collect();
        found.sort_unstable();
        assert_eq!(found, statuses, "{query}");
    }
    let status = "`status`: must be a status such as `404`, or a class of them such as `4xx`";
    let faults = [
        ("status=600", status),
        ("status=4x", status),
        ("status=4XX", status),
        ("status=+404", status),
        ("status=", status),
        (
            "method=get",
            "`method`: must be `GET`, `POST`, `PUT`, `PATCH` or `DELETE`",
        ),
        ("key_id=x", "`key_id`: must be a UUID"),
        ("request_id=x", "`request_id`: must be a UUID"),
        (
            "from=x&status=x",
            "`from`: must be an ISO 8601 date or datetime, such as 2026-04-30 or 2026-04-30T18:32:11Z",
        ),
        ("error=x", "`error`: unknown parameter"),
    ];
    app.refuses_queries("/v1/logs", &faults).await;
    let long = app.get(&format!("/v1/logs?path={}", "x".repeat(501))).await;
    let expected = "`path`: longer than 500 characters";
    assert_eq!(long.assert_error(400, "invalid_query"), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_are_shown_for_30_days_and_page_by_key() {
    let app = TestApp::start().await;
    for _ in 0..5 {
        app.read("/v1/me").await;
    }
    let all = column(&logs(&app, "?path=/v1/me").await, "id");
    assert_eq!(all.len(), 5);
    let paged = app.pages("/v1/logs?limit=2&path=/v1/me").await;
    assert_eq!(column(&paged, "id"), all);
    app.clock.advance(Duration::from_secs(30 * 86_400 + 1));
    assert_eq!(logs(&app, "?path=/v1/me").await, [] as [Value; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_buffer_drops_entries_and_counts_them_while_requests_are_answered() {
    let app = TestApp::start().await;
    let logs = app.services.request_logs();
    let fill = || offhook_services::Logged {
        told: None,
        account: app.account,
        key: offhook_domain::KeyId::nil(),
        key_prefix: String::new(),
        request: offhook_domain::RequestId::nil(),
        method: "GET".to_owned(),
        path: "/v1/filled".to_owned(),
        status: 200,
        error: None,
        ip: None,
        took: Duration::ZERO,
        at: offhook_domain::Timestamp::from_micros(0),
        about: None,
    };
    while logs.dropped() == 0 {
        logs.push(fill());
    }
    app.read("/v1/me").await;
    assert_eq!(logs.dropped(), 2);
    must(logs.flush().await);
    assert_eq!(
        column(&self::logs(&app, "?path=/v1/me").await, "id").len(),
        0
    );
    app.read("/v1/me").await;
    assert_eq!(
        column(&self::logs(&app, "?path=/v1/me").await, "id").len(),
        1
    );
}
