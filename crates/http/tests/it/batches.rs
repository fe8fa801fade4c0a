//! `/v1/batch-calls`.

use std::fmt::Write as _;
use std::time::Duration;

use offhook_domain::CredentialProvider;
use serde_json::{Value, json};

use crate::it::app::{CUSTOMER, TestApp, text};
use crate::it::client::{Answer, must};

const ALL: &str = "/v1/batch-calls";

/// The id of a legacy agent.
async fn agent(app: &TestApp) -> String {
    let credentials = app.services.credentials();
    let provider = CredentialProvider::Legacy;
    must(credentials.set(app.account, provider, "sim_acme").await);
    must(app.services.legacy().sync(app.account).await);
    let list = app.read("/v1/agents?runtime=legacy&q=reception").await;
    text(&list["data"][0]["id"])
}

async fn create(app: &TestApp, body: &Value) -> Answer {
    app.post(ALL, body).await
}

fn batch(agent: &str, recipients: Value) -> Value {
    json!({"name": "Spring", "agent_id": agent, "recipients": recipients})
}

/// Waits until a batch is over; returns it.
async fn ended(app: &TestApp, id: &str) -> Value {
    let target = format!("{ALL}/{id}");
    let over = ["completed", "failed", "cancelled"];
    app.in_time(&target, |batch| {
        over.contains(&text(&batch["status"]).as_str())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_calls_everybody_once_and_tells_of_each() {
    let app = TestApp::start().await;
    let agent = agent(&app).await;
    app.dial();
    let hook = json!({"url": "https://example.com/hook"});
    app.post("/v1/webhooks", hook).await.assert(201);
    let body = batch(
        &agent,
        json!([
            {"to": CUSTOMER, "metadata": {"name": "Ana", "n": 1.5}},
            {"to": "+15005550001"},
            {"to": "+5215512345679", "metadata": null},
        ]),
    );
    let answer = create(&app, &body).await;
    let made = answer.assert(202);
    let id = text(&made["id"]);
    assert_eq!(
        answer.header("location"),
        Some(format!("{ALL}/{id}").as_str())
    );
    let expected = json!({
        "id": id,
        "name": "Spring",
        "agent_id": agent,
        "phone_number_id": null,
        "status": "running",
        "paused_reason": null,
        "scheduled_at": null,
        "counts": {"total": 3, "pending": 3, "dialing": 0, "completed": 0, "failed": 0, "cancelled": 0},
        "created_at": made["created_at"],
        "started_at": made["created_at"],
        "ended_at": null,
    });
    assert_eq!(made, expected);
    let batch = ended(&app, &id).await;
    assert_eq!(batch["status"], "completed");
    let counts = json!({"total": 3, "pending": 0, "dialing": 0, "completed": 2, "failed": 1, "cancelled": 0});
    assert_eq!(batch["counts"], counts);
    let list = app.read(&format!("{ALL}/{id}/recipients")).await;
    let rows = list["data"].as_array().cloned().unwrap_or_default();
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0]["metadata"].to_string(), r#"{"name":"Ana","n":1.5}"#);
    assert_eq!(rows[1]["status"], "failed");
    assert_eq!(rows[1]["failure_reason"], "busy");
    assert_eq!(rows[2]["metadata"], json!({}));
    for row in &rows {
        let call = app
            .read(&format!("/v1/calls/{}", text(&row["call_id"])))
            .await;
        assert_eq!((&call["to"], &call["status"]), (&row["to"], &row["status"]));
        assert_eq!(call["runtime"], "legacy");
        assert_eq!(call["metadata"], row["metadata"]);
    }
    let failed = app
        .get(&format!("{ALL}/{id}/recipients?status=failed&limit=1"))
        .await;
    let expected = json!({"data": [rows[1]], "has_more": false, "next_cursor": null});
    assert_eq!(failed.assert(200), expected);

    // Only the busy recipient is called again.
    let retried = app.request("POST", &format!("{ALL}/{id}/retry")).await;
    let retried = retried.assert(202);
    assert_eq!(retried["status"], "running");
    assert_eq!(retried["counts"]["pending"], 1);
    assert_eq!(ended(&app, &id).await["counts"], counts);
    let again = app.read(&format!("{ALL}/{id}/recipients")).await;
    assert_eq!((&again["data"][0], &again["data"][2]), (&rows[0], &rows[2]));
    assert_ne!(again["data"][1]["call_id"], rows[1]["call_id"]);
    // No client placed these calls, but webhooks report their ends.
    for (kind, told) in [
        ("call.initiated", 0),
        ("call.completed", 2),
        ("call.failed", 2),
    ] {
        let list = app
            .read(&format!("/v1/webhooks/deliveries?type={kind}"))
            .await;
        assert_eq!(list["data"].as_array().map(Vec::len), Some(told), "{kind}");
    }
}

fn form(fields: &[(&str, &str)]) -> (String, Vec<u8>) {
    let mut body = String::new();
    for (name, value) in fields {
        let file = if *name == "file" {
            "; filename=\"r.csv\""
        } else {
            ""
        };
        let _ = write!(
            body,
            "--b0undary\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n{value}\r\n"
        );
    }
    body.push_str("--b0undary--\r\n");
    (
        "multipart/form-data; boundary=b0undary".to_owned(),
        body.into_bytes(),
    )
}

async fn upload(app: &TestApp, fields: &[(&str, &str)], key: Option<&str>) -> Answer {
    let (kind, body) = form(fields);
    let mut request = app
        .request("POST", ALL)
        .header("Content-Type", kind)
        .body(body);
    if let Some(key) = key {
        request = request.header("Idempotency-Key", key);
    }
    request.await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_comes_as_a_csv_file_too() {
    let app = TestApp::start().await;
    let agent = agent(&app).await;
    let csv = "name,to\r\n\"Ana, A.\",+5215512345678\r\nBea,+5215512345679\r\n";
    let fields = [
        ("name", "Spring"),
        ("agent_id", agent.as_str()),
        ("scheduled_at", "2030-01-01"),
        ("file", csv),
    ];
    let first = upload(&app, &fields, Some("k")).await;
    let made = first.assert(202);
    assert_eq!(made["status"], "scheduled");
    assert_eq!(made["started_at"], json!(null));
    assert_eq!(made["scheduled_at"], "2030-01-01T00:00:00.000Z");
    let again = upload(&app, &fields, Some("k")).await;
    assert_eq!((again.status, &again.body), (202, &first.body));
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    let mut other = fields;
    other[3].1 = "to\n+5215512345678\n";
    let answer = upload(&app, &other, Some("k")).await;
    answer.assert_error(409, "idempotency_conflict");
    let rows = app
        .read(&format!("{ALL}/{}/recipients", text(&made["id"])))
        .await;
    assert_eq!(rows["data"][0]["metadata"], json!({"name": "Ana, A."}));
    assert_eq!(rows["data"][1]["to"], "+5215512345679");

    for (at, value, start) in [
        (0, "", "`name`: must not be empty"),
        (1, "x", "`agent_id`: no agent"),
        (2, "soon", "`scheduled_at`: must be"),
        (
            3,
            "to\n1\n+5215512345678\n2\n",
            "`file`: 2 bad rows; row 2: `to`: ",
        ),
        (3, "number\n", "`file`: the first row must name"),
    ] {
        let mut wrong = fields;
        wrong[at].1 = value;
        let message = upload(&app, &wrong, None).await;
        let message = message.assert_error(400, "invalid_body");
        assert!(message.starts_with(start), "{message}");
    }
    let message = upload(&app, &fields[..3], None).await;
    let message = message.assert_error(400, "invalid_body");
    assert_eq!(message, "`file`: is required");
    let unknown = [&fields[..], &[("more", "x")]].concat();
    let message = upload(&app, &unknown, None).await;
    let message = message.assert_error(400, "invalid_body");
    assert_eq!(message, "`more`: unknown field");
    let twice = [&fields[..], &[("name", "x")]].concat();
    let message = upload(&app, &twice, None).await;
    let message = message.assert_error(400, "invalid_body");
    assert_eq!(message, "`name`: is given more than once");
    let broken = app
        .request("POST", ALL)
        .header("Content-Type", "multipart/form-data; boundary=x");
    let answer = broken.body("nonsense").await;
    answer.assert_error(400, "invalid_json");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_metadata_of_a_recipient_is_the_same_however_it_is_written() {
    let app = TestApp::start().await;
    let agent = agent(&app).await;
    let sent = |recipient: Value| {
        let body = batch(&agent, json!([recipient, {"to": "+5215512345679"}]));
        app.post(ALL, &body).header("Idempotency-Key", "k")
    };
    let first = sent(json!({"to": CUSTOMER})).await;
    first.assert(202);
    for metadata in [json!({}), Value::Null] {
        let again = sent(json!({"metadata": metadata, "to": CUSTOMER})).await;
        assert_eq!((again.status, &again.body), (202, &first.body));
    }
    let other = sent(json!({"to": CUSTOMER, "metadata": {"a": 1}})).await;
    other.assert_error(409, "idempotency_conflict");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_batch_is_said() {
    let app = TestApp::start().await;
    let agent = agent(&app).await;
    let good = json!([{"to": CUSTOMER}]);
    let with = |field: &str, value: Value| {
        let mut body = batch(&agent, good.clone());
        body[field] = value;
        body
    };
    let nobody = "0190163d-8694-739b-aea5-966c26f8ad91";
    let rows =
        json!([{"to": "1"}, {"to": CUSTOMER}, {"metadata": {}}, {"to": CUSTOMER, "x": 1}, 7]);
    for (body, start) in [
        (json!({}), "`name`: is required"),
        (with("name", json!(" ")), "`name`: must not be blank"),
        (with("agent_id", json!(nobody)), "`agent_id`: no agent"),
        (
            with("phone_number_id", json!("x")),
            "`phone_number_id`: must be a UUID",
        ),
        (
            with("phone_number_id", json!(nobody)),
            "`phone_number_id`: no number",
        ),
        (with("scheduled_at", json!("x")), "`scheduled_at`: must be"),
        (with("recipients", json!(null)), "`recipients`: is required"),
        (
            with("recipients", json!([])),
            "`recipients`: must not be empty",
        ),
        (
            with("recipients", rows),
            "`recipients`: 4 bad rows; `recipients[0].to`: must begin with `+`",
        ),
        (with("more", json!(1)), "`more`: unknown field"),
    ] {
        let message = create(&app, &body).await.assert_error(400, "invalid_body");
        assert!(message.starts_with(start), "{message}");
    }
    let many = json!(vec![json!({"to": CUSTOMER}); 10_001]);
    let message = create(&app, &with("recipients", many)).await;
    let message = message.assert_error(400, "invalid_body");
    assert_eq!(message, "`recipients`: more than 10000 items");
    let engine = app.agent().await;
    let refused = create(&app, &batch(&engine, good.clone())).await;
    refused.assert_error(422, "unsupported_runtime");
    let (_, huge) = form(&[("file", &"x".repeat(20 * 1024 * 1024))]);
    let huge = app
        .request("POST", ALL)
        .header("Content-Type", "application/json")
        .body(huge);
    huge.await.assert_error(413, "payload_too_large");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_paused_resumed_cancelled_and_tried_again_as_its_state_allows() {
    let app = TestApp::start().await;
    let agent = agent(&app).await;
    let recipients = json!([{"to": CUSTOMER}, {"to": CUSTOMER}]);
    let send = async || {
        let request = app.post(ALL, batch(&agent, recipients.clone()));
        request.header("Idempotency-Key", "one").await
    };
    let first = send().await;
    let made = first.assert(202);
    let id = text(&made["id"]);
    let step = async |name: &str| app.request("POST", &format!("{ALL}/{id}/{name}")).await;
    step("resume").await.assert_error(409, "conflict");
    step("retry").await.assert_error(409, "conflict");
    let paused = step("pause").await.assert(200);
    assert_eq!(paused["status"], "paused");
    assert_eq!(paused["paused_reason"], "customer");
    step("pause").await.assert_error(409, "conflict");
    assert_eq!(step("resume").await.assert(200)["status"], "running");
    step("pause").await.assert(200);
    let cancelled = step("cancel").await.assert(200);
    assert_eq!(cancelled["status"], "cancelled");
    assert_eq!(cancelled["counts"]["cancelled"], 2);
    for name in ["pause", "resume", "cancel"] {
        step(name).await.assert_error(409, "conflict");
    }
    let retry = async |body: &str| {
        let request = app.post(&format!("{ALL}/{id}/retry"), body);
        request.header("Idempotency-Key", "two").await
    };
    let retried = retry("{}").await;
    assert_eq!(retried.assert(202)["status"], "running");
    let again = retry("{}").await;
    assert_eq!((again.status, &again.body), (202, &retried.body));
    retry(r#"{"x":1}"#)
        .await
        .assert_error(409, "idempotency_conflict");
    // The first response stays unchanged.
    let replayed = send().await;
    assert_eq!((replayed.status, &replayed.body), (202, &first.body));

    let list = async |query: &str| {
        let list = app.read(&format!("{ALL}?{query}")).await;
        list["data"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(list("status=running").await, 1);
    assert_eq!(list("status=cancelled").await, 0);
    assert_eq!(list(&format!("agent_id={agent}")).await, 1);
    app.refuses_queries(ALL, &[("status=x", "`status`")]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_begins_at_its_time_and_waits_for_credits() {
    let setup = crate::it::app::Setup {
        credits: 15,
        ..crate::it::app::Setup::default()
    };
    let app = TestApp::with(setup).await;
    let agent = agent(&app).await;
    app.dial();
    let begins = app.clock.clone();
    let begins = offhook_domain::Clock::now(&begins).plus(Duration::from_secs(3_600));
    let mut body = batch(
        &agent,
        json!([{"to": "+15005550001"}, {"to": "+15005550001"}]),
    );
    body["scheduled_at"] = json!(begins);
    let made = create(&app, &body).await.assert(202);
    let target = format!("{ALL}/{}", text(&made["id"]));
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(app.read(&target).await["status"], "scheduled");
    app.clock.advance(Duration::from_secs(3_600));
    // Ten credits are reserved for each call: the second call waits until the first releases its credits.
    let waited = std::cell::Cell::new(false);
    let batch = app.in_time(&target, |batch| {
        waited.set(waited.get() || batch["paused_reason"] == "no_credits");
        batch["status"] == "completed"
    });
    let batch = batch.await;
    assert_eq!(batch["counts"]["failed"], 2);
    assert!(waited.get());
}
