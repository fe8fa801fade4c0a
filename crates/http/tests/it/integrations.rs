//! `/v1/integrations`.

use std::time::Duration;

use offhook_domain::IntegrationStatus::{
    self, Active, Available, Connecting, Disconnected, Error, Expired,
};
use offhook_domain::{Clock as _, Plan, Scope, Scopes};
use serde_json::{Value, json};

use crate::app::TestApp;
use crate::client::must;

const ALL: &str = "/v1/integrations";

/// Every item, read by pages of `limit`.
async fn all(app: &TestApp, token: &str, limit: usize) -> Vec<Value> {
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let target = format!("{ALL}?limit={limit}{cursor}");
        let page = app.bare("GET", &target).key(token).await.assert(200);
        let items = page["data"].as_array().cloned().unwrap_or_default();
        assert!(items.len() <= limit);
        seen.extend(items);
        assert_eq!(page["has_more"], page["next_cursor"].is_string());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return seen,
        }
    }
}

fn of(list: &[Value], toolkit: &str) -> Value {
    let found = list.iter().find(|item| item["toolkit"] == toolkit);
    found.cloned().unwrap_or_default()
}

async fn set(
    app: &TestApp,
    toolkit: &str,
    status: IntegrationStatus,
    error: Option<&str>,
) -> Result<(), String> {
    let integrations = app.services.integrations();
    let set = integrations.set(app.account, toolkit, status, error).await;
    set.map(drop).map_err(|error| error.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_catalog_is_listed_by_toolkit() {
    let app = TestApp::start().await;
    let list = all(&app, &app.token, 100).await;
    assert!(list.len() >= 40, "{}", list.len());
    for limit in [1, 7, 20] {
        assert_eq!(all(&app, &app.token, limit).await, list);
    }
    let keys: Vec<_> = list.iter().map(|item| item["toolkit"].as_str()).collect();
    assert!(keys.is_sorted(), "{keys:?}");
    let (slack, gmail) = (of(&list, "slack"), of(&list, "gmail"));
    assert_eq!(slack["native"], true);
    assert_eq!(gmail["native"], false);
    let expected = json!({
        "toolkit": "slack",
        "name": "Slack",
        "category": "communication",
        "native": true,
        "status": "available",
        "connected_at": null,
        "last_error": null,
    });
    assert_eq!(slack, expected);
    for (query, start) in [
        ("limit=101", "`limit`"),
        ("cursor=x", "`cursor`"),
        ("status=active", "`status`"),
    ] {
        let answer = app.get(&format!("{ALL}?{query}")).await;
        let message = answer.assert_error(400, "invalid_query");
        assert!(message.starts_with(start), "{message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_shows_its_status_to_its_account_alone() {
    let app = TestApp::start().await;
    let connected = app.clock.now().to_string();
    for (toolkit, status, error) in [
        ("slack", Active, None),
        ("hubspot", Active, None),
        (
            "hubspot",
            Expired,
            Some("The authorization was taken back."),
        ),
        ("gmail", Connecting, None),
        ("notion", Error, Some("Access was denied.")),
        ("stripe", Active, None),
    ] {
        must(set(&app, toolkit, status, error).await);
    }
    app.clock.advance(Duration::from_secs(60));
    must(set(&app, "stripe", Disconnected, None).await);
    let list = all(&app, &app.token, 100).await;
    for (toolkit, status, connected_at, last_error) in [
        ("slack", "active", json!(connected), json!(null)),
        (
            "hubspot",
            "expired",
            json!(connected),
            json!("The authorization was taken back."),
        ),
        ("gmail", "connecting", json!(null), json!(null)),
        ("notion", "error", json!(null), json!("Access was denied.")),
        ("stripe", "disconnected", json!(connected), json!(null)),
        ("asana", "available", json!(null), json!(null)),
    ] {
        let item = of(&list, toolkit);
        let shown = (&item["status"], &item["connected_at"], &item["last_error"]);
        assert_eq!(
            shown,
            (&json!(status), &connected_at, &last_error),
            "{toolkit}"
        );
    }
    // Connected again, it forgets what was wrong.
    must(set(&app, "hubspot", Active, None).await);
    let item = of(&all(&app, &app.token, 100).await, "hubspot");
    assert_eq!(item["status"], "active");
    assert_eq!(item["last_error"], json!(null));
    assert_ne!(item["connected_at"], json!(connected));
    let stranger = app.stranger(Plan::Pro).await;
    let theirs = all(&app, &stranger, 100).await;
    assert_eq!(theirs.len(), list.len());
    assert!(theirs.iter().all(|item| item["status"] == "available"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_cannot_be_is_refused() {
    let app = TestApp::start().await;
    for (toolkit, status, error, start) in [
        ("salck", Active, None, "--toolkit salck"),
        ("slack", Available, None, "--status available"),
        ("slack", Error, None, "--status error needs"),
        ("slack", Error, Some(" "), "--status error needs"),
        ("slack", Active, Some("x"), "--error belongs"),
        (
            "slack",
            Error,
            Some(&*"x".repeat(501)),
            "--error must have at most 500",
        ),
    ] {
        let refused = set(&app, toolkit, status, error).await.unwrap_err();
        assert!(refused.starts_with(start), "{refused}");
    }
    let list = all(&app, &app.token, 100).await;
    assert!(list.iter().all(|item| item["status"] == "available"));
}

#[tokio::test(flavor = "multi_thread")]
async fn integrations_need_their_scope_and_a_read_only_key_will_do() {
    let app = TestApp::start().await;
    let reads: Scopes = [Scope::IntegrationsRead].into_iter().collect();
    let key = app.key(app.account, reads, true, None).await;
    app.bare("GET", ALL).key(&key).await.assert(200);
    let other: Scopes = [Scope::TeamRead].into_iter().collect();
    let key = app.key(app.account, other, false, None).await;
    let answer = app.bare("GET", ALL).key(&key).await;
    answer.assert_error(403, "insufficient_scope");
    let free = app.stranger(Plan::Free).await;
    let answer = app.bare("GET", ALL).key(&free).await;
    answer.assert_error(403, "plan_limit");
    app.bare("GET", ALL).await.assert_error(401, "unauthorized");
}
