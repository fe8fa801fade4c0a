//! `/v1/webhooks`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::it::app::{CUSTOMER, TestApp, data, members, text};

const ENDPOINT: &str =
    "id url description status disabled_reason secret_prefix created_at updated_at";

const DELIVERY: &str =
    "id webhook_id event_id type status attempts_count next_attempt_at created_at";

async fn endpoint(app: &TestApp) -> Value {
    let body = json!({"url": "https://example.com/hook"});
    app.post("/v1/webhooks", body).await.assert(201)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_shows_its_secret_once() {
    let app = TestApp::start().await;
    let made = endpoint(&app).await;
    assert_eq!(members(&made), format!("{ENDPOINT} secret"));
    let secret = text(&made["secret"]);
    assert!(secret.starts_with(&text(&made["secret_prefix"])));
    let target = format!("/v1/webhooks/{}", text(&made["id"]));
    let read = app.read(&target).await;
    assert_eq!(members(&read), ENDPOINT);
    let list = app.read("/v1/webhooks").await;
    let expected = json!({"data": [read], "has_more": false, "next_cursor": null});
    assert_eq!(list, expected);

    let change = json!({"description": "orders", "status": "disabled"});
    let changed = app.patch(&target, change).await.assert(200);
    assert_eq!(members(&changed), ENDPOINT);
    assert_eq!(changed["description"], "orders");
    assert_eq!(changed["status"], "disabled");
    app.clock.advance(Duration::from_secs(1));
    for nothing in [
        json!({}),
        json!({"description": "orders", "status": "disabled"}),
    ] {
        let same = app.patch(&target, nothing).await;
        assert_eq!(
            same.assert(200),
            changed,
            "what changes nothing moves nothing"
        );
    }
    let cleared = json!({"description": null, "status": "enabled"});
    let cleared = app.patch(&target, cleared).await.assert(200);
    assert_eq!(cleared["description"], json!(null));
    assert_ne!(cleared["updated_at"], changed["updated_at"]);
    let null = app.patch(&target, r#"{"url":null}"#).await;
    null.assert_error(400, "invalid_body");

    let rotate = format!("{target}/rotate-secret");
    let rotated = app.request("POST", &rotate).await.assert(200);
    assert_eq!(members(&rotated), format!("{ENDPOINT} secret"));
    assert_ne!(text(&rotated["secret"]), secret);
    let overlap = app.post(&rotate, r#"{"overlap_hours":169}"#).await;
    assert!(
        overlap
            .assert_error(400, "invalid_body")
            .starts_with("`overlap_hours`")
    );

    let deleted = app.delete(&target).await.assert(200);
    assert_eq!(deleted, json!({"id": made["id"], "deleted": true}));
    app.get(&target).await.assert_error(404, "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_names_the_event_types_that_it_chose() {
    let app = TestApp::start().await;
    let chosen =
        json!({"url": "https://example.com/hook", "events": ["billing.threshold", "call.failed"]});
    let made = app.post("/v1/webhooks", chosen).await.assert(201);
    assert_eq!(members(&made), format!("{ENDPOINT} events secret"));
    assert_eq!(made["events"], json!(["call.failed", "billing.threshold"]));
    let target = format!("/v1/webhooks/{}", text(&made["id"]));
    assert_eq!(app.read(&target).await["events"], made["events"]);
    for (wrong, message) in [
        (json!([]), "`events`: must not be empty"),
        (json!("call.failed"), "`events`: must be an array"),
        (
            json!(["call.failed", "call.rang"]),
            "`events[1]`: must be `call.initiated`, ",
        ),
        (
            json!(["call.failed", "call.failed"]),
            "`events[1]`: appears more than once",
        ),
    ] {
        for answer in [
            app.post(
                "/v1/webhooks",
                json!({"url": "https://example.com/", "events": wrong}),
            )
            .await,
            app.patch(&target, json!({"events": wrong})).await,
        ] {
            let refused = answer.assert_error(400, "invalid_body");
            assert!(refused.starts_with(message), "{refused}");
        }
    }
    let unset = app
        .patch(&target, json!({"events": null}))
        .await
        .assert(200);
    assert_eq!(members(&unset), ENDPOINT);
}

#[tokio::test(flavor = "multi_thread")]
async fn targets_that_are_not_public_https_are_refused() {
    let app = TestApp::start().await;
    for url in [
        "http://example.com/",
        "https://127.0.0.1/",
        "https://localhost/",
        "x",
    ] {
        let answer = app.post("/v1/webhooks", json!({"url": url})).await;
        let message = answer.assert_error(400, "invalid_body");
        assert!(message.starts_with("`url`"), "{url}: {message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_event_catalog_is_a_list_with_examples() {
    let app = TestApp::start().await;
    let list = app.read("/v1/webhooks/events").await;
    let types: Vec<&Value> = list["data"].as_array().into_iter().flatten().collect();
    assert_eq!(types.len(), 7);
    for (item, kind) in types.into_iter().zip([
        "call.initiated",
        "call.completed",
        "call.failed",
        "billing.threshold",
        "contact.opted_out",
        "campaign.completed",
        "campaign.paused",
    ]) {
        assert_eq!(members(item), "type description example");
        assert_eq!(item["type"], kind);
        assert_eq!(members(&item["example"]), "id type created_at data");
        assert_eq!(item["example"]["type"], kind);
    }
    let again = app.pages("/v1/webhooks/events?limit=2").await;
    assert_eq!(again, data(&list), "the examples are constant");
    // Each type can be sent as a test, and has the example's form.
    let test = format!("/v1/webhooks/{}/test", text(&endpoint(&app).await["id"]));
    for item in data(&list) {
        let sent = app.post(&test, json!({"type": item["type"]})).await;
        let sent = format!("/v1/webhooks/deliveries/{}", text(&sent.assert(202)["id"]));
        let payload = &app.read(&sent).await["payload"];
        assert_eq!(payload["type"], item["type"]);
        let expected = members(&item["example"]["data"]);
        assert_eq!(members(&payload["data"]), expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_tell_what_was_sent_and_can_be_asked_for_again() {
    let app = TestApp::start().await;
    let made = endpoint(&app).await;
    let target = format!("/v1/webhooks/{}", text(&made["id"]));
    let test = app
        .post(&format!("{target}/test"), r#"{"type":"call.failed"}"#)
        .await;
    let delivery = test.assert(202);
    assert_eq!(members(&delivery), DELIVERY);
    assert_eq!(delivery["type"], "call.failed");
    assert_eq!(delivery["status"], "pending");
    let one = format!("/v1/webhooks/deliveries/{}", text(&delivery["id"]));
    let story = app.read(&one).await;
    let expected = format!("{DELIVERY} payload attempts");
    assert_eq!(members(&story), expected);
    assert_eq!(story["payload"]["id"], delivery["event_id"]);
    let expected = "call_00000000-0000-7000-8000-000000000000";
    assert_eq!(story["payload"]["data"]["id"], expected);
    assert_eq!(story["attempts"], json!([]));
    let again = app.request("POST", &format!("{one}/redeliver")).await;
    assert_eq!(members(&again.assert(202)), DELIVERY);

    app.clock.advance(Duration::from_secs(1));
    let agent = app.agent().await;
    app.call(&agent, CUSTOMER).await;
    let types = |list: &Value| -> Vec<String> {
        let items = list["data"].as_array().into_iter().flatten();
        items.map(|item| text(&item["type"])).collect()
    };
    let list = app.read("/v1/webhooks/deliveries").await;
    assert_eq!(types(&list), ["call.initiated", "call.failed"]);
    let filters = "status=pending&type=call.initiated&from=2026-04-30&to=2026-04-30";
    let list = app.get(&format!("/v1/webhooks/deliveries?{filters}")).await;
    assert_eq!(types(&list.assert(200)), ["call.initiated"]);
    let other = text(&endpoint(&app).await["id"]);
    let mine = text(&made["id"]);
    app.post(&format!("/v1/webhooks/{other}/test"), "{}")
        .await
        .assert(202);
    for (id, count) in [(&mine, 2), (&other, 1)] {
        for state in ["", "&status=pending"] {
            let list = app
                .read(&format!("/v1/webhooks/deliveries?webhook_id={id}{state}"))
                .await;
            let to: Vec<_> = list["data"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|one| text(&one["webhook_id"]))
                .collect();
            assert_eq!(to, vec![id.clone(); count], "{state}");
        }
    }
    let faults = [
        ("status=x", "`status`"),
        ("webhook_id=x", "`webhook_id`"),
        ("type=x", "`type`"),
        ("from=x", "`from`"),
    ];
    app.refuses_queries("/v1/webhooks/deliveries", &faults)
        .await;

    let recover = format!("{target}/recover");
    let since = json!({"since": "2026-04-30T00:00:00Z"});
    let recovered = app.post(&recover, &since).await.assert(202);
    assert_eq!(members(&recovered), "count");
    let answer = app.request("POST", &recover).await;
    answer.assert_error(400, "invalid_json");
    let disable = app.patch(&target, r#"{"status":"disabled"}"#);
    disable.await.assert(200);
    for (target, body) in [
        (format!("{target}/test"), json!({})),
        (recover, since),
        (format!("{one}/redeliver"), json!({})),
    ] {
        app.post(&target, body).await.assert_error(409, "conflict");
    }
}
