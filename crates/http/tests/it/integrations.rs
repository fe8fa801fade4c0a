//! `/v1/integrations`.

use offhook_domain::{Clock as _, Plan, Scope, Scopes};
use serde_json::{Value, json};

use crate::it::app::TestApp;
use crate::it::client::must;

const ALL: &str = "/v1/integrations";

/// Every item, read in pages of `limit`.
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

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_catalog_is_listed_by_toolkit() {
    let app = TestApp::start().await;
    let list = all(&app, &app.token, 100).await;
    assert_eq!(all(&app, &app.token, 1).await, list);
    let offered = |toolkit: &str, name: &str, category: &str| {
        json!({
            "toolkit": toolkit,
            "name": name,
            "category": category,
            "native": true,
            "status": "available",
            "connected_at": null,
            "last_error": null,
        })
    };
    let expected = [
        offered("cal_com", "Cal.com", "calendar"),
        offered("google_calendar", "Google Calendar", "calendar"),
        offered("google_sheets", "Google Sheets", "spreadsheet"),
        offered("hubspot", "HubSpot", "crm"),
        offered("slack", "Slack", "messaging"),
    ];
    assert_eq!(list, expected);
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
    let store = app.services.store();
    let connected = app.clock.now();
    let shown = async |toolkit: &str| {
        let item = of(&all(&app, &app.token, 100).await, toolkit);
        json!([item["status"], item["connected_at"], item["last_error"]])
    };
    let calendar = || "google_calendar".to_owned();
    let said = "Access was denied.".to_owned();
    must(
        store
            .connecting_failed(app.account, calendar(), said, connected)
            .await,
    );
    let expected = json!(["error", null, "Access was denied."]);
    assert_eq!(shown("google_calendar").await, expected);
    let whose = (app.account, calendar());
    must(
        store
            .connect_integration(whose, "tokens", None, Vec::new(), connected)
            .await,
    );
    // Connecting clears the error.
    let expected = json!(["active", connected.to_string(), null]);
    assert_eq!(shown("google_calendar").await, expected);
    let expected = json!(["available", null, null]);
    assert_eq!(shown("hubspot").await, expected);

    let held = must(store.connection(app.account, calendar()).await);
    let tokens = must(held.ok_or("no connection")).id;
    let refused = Some("It takes none.".to_owned());
    must(store.judge_tokens(tokens, refused).await);
    let expected = json!(["error", connected.to_string(), "It takes none."]);
    assert_eq!(shown("google_calendar").await, expected);
    must(store.disconnect_integration(app.account, calendar()).await);
    let expected = json!(["disconnected", connected.to_string(), null]);
    assert_eq!(shown("google_calendar").await, expected);
    let stranger = app.stranger(Plan::Pro).await;
    let theirs = all(&app, &stranger, 100).await;
    assert!(theirs.iter().all(|item| item["status"] == "available"));
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
