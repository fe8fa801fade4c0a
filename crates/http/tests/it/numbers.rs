//! `/v1/phone-numbers`.

use std::time::Duration;

use offhook_domain::Plan;
use serde_json::{Value, json};

use crate::it::app::{CUSTOMER, TestApp, text};

const ALL: &str = "/v1/phone-numbers";

async fn number(app: &TestApp, number: &str) -> Value {
    let body = json!({"phone_number": number, "label": "Desk"});
    app.post(ALL, body).await.assert(201)
}

fn target(number: &Value) -> String {
    format!("{ALL}/{}", text(&number["id"]))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_is_taken_read_changed_and_given_back() {
    let app = TestApp::start().await;
    let made = number(&app, "+15005550123").await;
    let expected = json!({
        "id": made["id"],
        "phone_number": "+15005550123",
        "label": "Desk",
        "provider": "simulator",
        "agent_id": null,
        "created_at": made["created_at"],
        "updated_at": made["created_at"],
    });
    assert_eq!(made, expected);
    let one = target(&made);
    assert_eq!(app.read(&one).await, made);
    let list = app.read(ALL).await;
    let expected = json!({"data": [made], "has_more": false, "next_cursor": null});
    assert_eq!(list, expected);

    app.clock.advance(Duration::from_secs(1));
    let agent = app.agent().await;
    let patch = async |body: Value| app.patch(&one, body).await;
    let changed = patch(json!({"label": "", "agent_id": agent})).await;
    let changed = changed.assert(200);
    assert_eq!(changed["label"], "");
    assert_eq!(changed["agent_id"], json!(agent));
    assert_ne!(changed["updated_at"], made["updated_at"]);
    // The engine agent itself lists no numbers, as documented.
    let read = app.read(&format!("/v1/agents/{agent}")).await;
    assert_eq!(read["phone_numbers"], json!([]));
    for (filter, shown) in [
        (agent.as_str(), 1),
        ("0190163d-8694-739b-aea5-966c26f8ad91", 0),
    ] {
        let list = app.read(&format!("{ALL}?agent_id={filter}")).await;
        assert_eq!(list["data"].as_array().map(Vec::len), Some(shown), "{list}");
    }
    // An empty patch changes nothing.
    assert_eq!(patch(json!({})).await.assert(200), changed);
    let cleared = patch(json!({"agent_id": null})).await.assert(200);
    assert_eq!(cleared["agent_id"], json!(null));

    let deleted = app.delete(&one).await.assert(200);
    assert_eq!(deleted, json!({"id": made["id"], "deleted": true}));
    app.get(&one).await.assert_error(404, "not_found");
    app.delete(&one).await.assert_error(404, "not_found");
    patch(json!({})).await.assert_error(404, "not_found");
    let answer = patch(json!({"label": "x"})).await;
    answer.assert_error(404, "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_number_is_said() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let stranger = app.stranger(Plan::Pro).await;
    let made = number(&app, "+15005550123").await;
    let create = async |body: Value| app.post(ALL, body).await;
    let faults = [
        (json!({}), "`phone_number`: is required"),
        (
            json!({"phone_number": "15005550124"}),
            "`phone_number`: must begin with `+`",
        ),
        (
            json!({"phone_number": "+15005550124", "label": "x".repeat(121)}),
            "`label`: longer",
        ),
        (
            json!({"phone_number": "+15005550124", "agent_id": "x"}),
            "`agent_id`: must be a UUID",
        ),
        (
            json!({"phone_number": "+15005550124", "more": 1}),
            "`more`: unknown field",
        ),
        (
            json!({"phone_number": "+15005550124", "agent_id": "0190163d-8694-739b-aea5-966c26f8ad91"}),
            "`agent_id`: no agent",
        ),
    ];
    app.refuses_bodies(ALL, &faults).await;
    let again = create(json!({"phone_number": "+15005550123"})).await;
    let again = again.assert_error(409, "conflict");
    assert!(again.contains("already"), "{again}");
    // The message is the same for another account's number, a shared number and a real number.
    let theirs = app.bare("POST", ALL).key(&stranger);
    let theirs = theirs.json(json!({"phone_number": "+15005550123"})).await;
    let theirs = theirs.assert_error(409, "conflict");
    for other in ["+15005550100", "+5215512345678", "+150055501234"] {
        let message = create(json!({"phone_number": other})).await;
        let message = message.assert_error(409, "conflict");
        assert_eq!(message, theirs);
    }
    let patch = async |body: Value| app.patch(&target(&made), body).await;
    let answer = patch(json!({"label": null})).await;
    answer.assert_error(400, "invalid_body");
    let archive = app.request("PATCH", &format!("/v1/agents/{agent}"));
    let answer = archive.json(json!({"status": "archived"})).await;
    answer.assert(200);
    let message = patch(json!({"agent_id": agent})).await;
    let message = message.assert_error(409, "conflict");
    assert!(
        message.starts_with("`agent_id`: the agent is archived"),
        "{message}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_comes_from_the_agents_number_or_else_the_accounts_oldest() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let from = async || {
        let placed = app.call(&agent, CUSTOMER).await;
        let call = app.get(&format!("/v1/calls/{}", text(&placed["id"])));
        text(&call.await.assert(200)["from"])
    };
    assert_eq!(from().await, "+15005550100");
    number(&app, "+15005550123").await;
    app.clock.advance(Duration::from_secs(1));
    let second = number(&app, "+15005550124").await;
    assert_eq!(from().await, "+15005550123");
    let assign = app.request("PATCH", &target(&second));
    assign.json(json!({"agent_id": agent})).await.assert(200);
    assert_eq!(from().await, "+15005550124");
}
