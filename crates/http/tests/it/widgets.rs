//! `/v1/agents/{id}/widget`: which web pages may talk to an agent.

use offhook_domain::CredentialProvider;
use serde_json::{Value, json};

use crate::it::app::{TestApp, members, text};
use crate::it::client::{Answer, must};

async fn put(app: &TestApp, target: &str, body: Value) -> Answer {
    app.request("PUT", target).json(body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_widget_is_off_until_it_is_set_and_is_then_what_was_set() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let target = format!("/v1/agents/{agent}/widget");
    let off = app.read(&target).await;
    let expected = "enabled allowed_origins max_sessions_per_minute daily_credit_cap";
    assert_eq!(members(&off), expected);
    let expected = json!({
        "enabled": false, "allowed_origins": [], "max_sessions_per_minute": 10, "daily_credit_cap": null,
    });
    assert_eq!(off, expected);
    let set = json!({
        "enabled": true,
        "allowed_origins": ["https://b.example", "https://a.example:8443", "http://localhost:3000"],
        "max_sessions_per_minute": 3,
        "daily_credit_cap": 0,
    });
    assert_eq!(put(&app, &target, set.clone()).await.assert(200), set);
    assert_eq!(app.read(&target).await, set);
    // PUT replaces all settings: an omitted one gets its default.
    let least = json!({"enabled": false, "daily_credit_cap": null});
    assert_eq!(put(&app, &target, least).await.assert(200), expected);
    assert_eq!(app.read(&target).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_widget_that_cannot_be_is_refused_by_name() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let target = format!("/v1/agents/{agent}/widget");
    for (body, said) in [
        (json!({}), "`enabled`: is required"),
        (
            json!({"enabled": true}),
            "`allowed_origins`: must name at least one origin while the widget is enabled",
        ),
        (
            json!({"enabled": true, "allowed_origins": vec!["https://a.example"; 21]}),
            "`allowed_origins`: more than 20 items",
        ),
        (
            json!({"enabled": true, "allowed_origins": ["https://a.example/"]}),
            "`allowed_origins[0]`: must be written as browsers do: https://a.example",
        ),
        (
            json!({"enabled": true, "allowed_origins": ["https://a.example"], "color": "red"}),
            "`color`: unknown field",
        ),
    ] {
        let refused = put(&app, &target, body).await;
        assert_eq!(refused.assert_error(400, "invalid_body"), said);
    }
    let on = json!({"enabled": true, "allowed_origins": ["https://a.example"]});
    let draft = json!({"name": "Draft", "language": "en"});
    let draft = app.post("/v1/agents", draft).await.assert(201);
    let draft = format!("/v1/agents/{}/widget", text(&draft["id"]));
    let answer = put(&app, &draft, on.clone()).await;
    answer.assert_error(409, "conflict");
    let answer = put(&app, &draft, json!({"enabled": false})).await;
    answer.assert(200);

    let credentials = app.services.credentials();
    must(
        credentials
            .set(app.account, CredentialProvider::Legacy, "sim_acme")
            .await,
    );
    must(app.services.legacy().sync(app.account).await);
    let legacy = app.get("/v1/agents?runtime=legacy").await;
    let legacy = text(&legacy.assert(200)["data"][0]["id"]);
    let legacy = format!("/v1/agents/{legacy}/widget");
    let refused = put(&app, &legacy, json!({"enabled": false})).await;
    refused.assert_error(422, "unsupported_runtime");
    let off = app.read(&legacy).await;
    assert_eq!(off["enabled"], json!(false));

    let archive = app.delete(&format!("/v1/agents/{agent}"));
    archive.await.assert(200);
    let answer = put(&app, &target, on).await;
    answer.assert_error(409, "conflict");
}
