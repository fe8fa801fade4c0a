//! Errors from a resource's state (`conflict` and `unsupported_runtime`) that no other test of the resource covers.

use offhook_domain::CredentialProvider;
use serde_json::json;

use crate::it::app::{CUSTOMER, TestApp, text};
use crate::it::client::must;

/// The first legacy agent that this credential lists.
async fn legacy(app: &TestApp, credential: &str) -> String {
    let credentials = app.services.credentials();
    let set = credentials.set(app.account, CredentialProvider::Legacy, credential);
    must(set.await);
    must(app.services.legacy().sync(app.account).await);
    let list = app.get("/v1/agents?runtime=legacy&status=active");
    let list = list.await.assert(200);
    text(&list["data"][0]["id"])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_legacy_agent_has_no_versions_settings_or_campaigns_and_is_not_archived_here() {
    let app = TestApp::start().await;
    let agent = legacy(&app, "sim_acme").await;
    let one = format!("/v1/agents/{agent}");
    for (method, target) in [
        ("DELETE", one.clone()),
        ("GET", format!("{one}/versions")),
        ("GET", format!("{one}/versions/1")),
    ] {
        let answer = app.request(method, &target).await;
        answer.assert_error(422, "unsupported_runtime");
    }
    let settings = app.request("PUT", &format!("{one}/settings"));
    let answer = settings.json(json!({"caller_memory": 1})).await;
    answer.assert_error(422, "unsupported_runtime");
    let campaign = json!({"name": "Spring", "agent_id": agent});
    let answer = app.post("/v1/campaigns", campaign).await;
    let message = answer.assert_error(422, "unsupported_runtime");
    assert!(message.contains("POST /v1/batch-calls"), "{message}");
    assert_eq!(app.read(&one).await["status"], "active");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_its_provider_lists_no_longer_makes_no_batch_calls() {
    let app = TestApp::start().await;
    let agent = legacy(&app, "sim_acme").await;
    legacy(&app, "sim_other").await;
    let batch = json!({"name": "Spring", "agent_id": agent, "recipients": [{"to": CUSTOMER}]});
    let answer = app.post("/v1/batch-calls", batch).await;
    let message = answer.assert_error(409, "conflict");
    assert!(
        message.starts_with("`agent_id`: the agent is `archived`"),
        "{message}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_that_was_copied_makes_a_new_agent() {
    let app = TestApp::start().await;
    let target = format!("/v1/agents/{}", app.agent().await);
    let change = json!({"config": {"first_message": "Good morning."}});
    let copied = app.patch(&target, change).await.assert(200);
    assert_eq!(copied["config"]["version"], 2);
    let agent = json!({"name": "Eva", "language": copied["language"], "config": copied["config"]});
    let made = app.post("/v1/agents", agent).await.assert(201);
    assert_eq!(
        (&made["current_version"], &made["config"]["version"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(made["config"]["first_message"], "Good morning.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_is_read_and_keeps_its_name_if_the_new_one_is_taken() {
    let app = TestApp::start().await;
    let folder = async |name: &str| {
        let body = json!({"name": name});
        app.post("/v1/knowledge/folders", body).await.assert(201)
    };
    let rooms = folder("Rooms").await;
    folder("Pools").await;
    let one = format!("/v1/knowledge/folders/{}", text(&rooms["id"]));
    let taken = app.patch(&one, r#"{"name":"pools"}"#);
    taken.await.assert_error(409, "conflict");
    assert_eq!(app.read(&one).await, rooms);
}
