//! Placing, reading and ending calls.

use serde_json::json;

use crate::it::app::{CUSTOMER, TestApp, members, text};

const ITEM: &str = "id call_id runtime channel agent status from to customer_phone \
    started_at ended_at duration_seconds credits summary has_audio termination_reason";

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_placed_and_read_while_it_lasts() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let body =
        format!(r#"{{"agent_id":"{agent}","to":"{CUSTOMER}","metadata":{{"z":1.50,"a":"x"}}}}"#);
    let answer = app.post("/v1/calls", body).await;
    let placed = answer.assert(201);
    let handle = text(&placed["id"]);
    let id = handle.trim_start_matches("call_").to_owned();
    let expected = json!({
        "id": handle, "agent_id": agent, "to": CUSTOMER, "status": "initiated",
        "created_at": "2026-04-30T18:32:11.123Z",
    });
    assert_eq!(placed, expected);
    assert_eq!(members(&placed), "id agent_id to status created_at");
    let location = format!("/v1/calls/{handle}");
    assert_eq!(answer.header("location"), Some(location.as_str()));
    assert_eq!(answer.header("idempotent-replayed"), None);
    assert!(answer.number("x-ratelimit-remaining") > 0);

    let read = app.get(&location).await;
    let call = read.assert(200);
    let expected = format!(
        "{ITEM} metadata failure_reason outcome conversation_id latency simulated opted_out consent compliance_rule"
    );
    assert_eq!(members(&call), expected);
    assert_eq!(call["status"], "initiated");
    assert_eq!(call["conversation_id"].as_str(), Some(id.as_str()));
    assert!(String::from_utf8_lossy(&read.body).contains(r#""metadata":{"z":1.50,"a":"x"}"#));

    let list = app.read("/v1/calls").await;
    let item = &list["data"][0];
    let expected = json!({
        "id": id, "call_id": handle, "runtime": "engine", "channel": "phone",
        "agent": {"id": agent, "name": "Sofía"}, "status": "unknown",
        "from": "+15005550100", "to": CUSTOMER, "customer_phone": CUSTOMER,
        "started_at": "2026-04-30T18:32:11.123Z", "ended_at": null, "duration_seconds": null,
        "credits": null, "summary": null, "has_audio": false, "termination_reason": null,
    });
    assert_eq!(item, &expected);
    assert_eq!(members(item), ITEM);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retried_key_answers_as_before_though_a_new_call_would_be_refused() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let place = |body: serde_json::Value, key: &str| {
        app.post("/v1/calls", body).header("Idempotency-Key", key)
    };
    let body = json!({"agent_id": agent, "to": CUSTOMER});
    // A refused request leaves its key free.
    let refused = app.post("/v1/calls", "no JSON");
    let refused = refused.header("Idempotency-Key", "k 1").await;
    refused.assert_error(400, "invalid_json");
    let refused = place(json!({"agent_id": agent}), "k 1").await;
    refused.assert_error(400, "invalid_body");
    let refused = place(json!({"agent_id": "x", "to": CUSTOMER}), "k 1").await;
    refused.assert_error(403, "agent_not_found");
    let first = place(body.clone(), "k 1").await;
    first.assert(201);
    assert_eq!(first.header("idempotent-replayed"), None);
    let archive = app.delete(&format!("/v1/agents/{agent}"));
    archive.await.assert(200);
    let again = place(body.clone(), "k 1").await;
    assert_eq!((again.status, &again.body), (201, &first.body));
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.header("location"), first.header("location"));
    assert_ne!(again.header("x-request-id"), first.header("x-request-id"));
    // The request that archived the agent also took a token.
    let expected = first.number("x-ratelimit-remaining") - 2;
    assert_eq!(again.number("x-ratelimit-remaining"), expected);
    // The use of the key is checked before the body's faults.
    for other in [
        json!({"agent_id": agent, "to": "+5215500000000"}),
        json!({"agent_id": agent, "to": CUSTOMER, "metadata": {"a": 1}}),
        json!({"agent_id": agent, "to": CUSTOMER, "unknown": 1}),
        json!({"agent_id": agent, "to": "5215500000000"}),
        json!({}),
        json!([]),
    ] {
        let other = place(other, "k 1").await;
        other.assert_error(409, "idempotency_conflict");
        assert_eq!(other.header("retry-after"), None);
    }
    // Absent, null and empty metadata are equal.
    for none in [json!(null), json!({})] {
        let same = json!({"agent_id": agent, "to": CUSTOMER, "metadata": none});
        assert_eq!(place(same, "k 1").await.body, first.body);
    }
    let fresh = place(body, "k2").await;
    fresh.assert_error(403, "agent_disabled");
    let list = app.read("/v1/calls").await;
    assert_eq!(list["data"].as_array().map(Vec::len), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_placed_says_why() {
    let app = TestApp::start().await;
    let draft = json!({"name": "Draft", "language": "en"});
    let draft = app.post("/v1/agents", draft).await.assert(201);
    let agent = app.agent().await;
    let paused = app.agent().await;
    let pause = app.patch(&format!("/v1/agents/{paused}"), json!({"status": "paused"}));
    pause.await.assert(200);
    let body = |agent: &str, to: &str| json!({"agent_id": agent, "to": to});
    let cases = [
        (json!({"to": CUSTOMER}), 400, "invalid_body"),
        (body(&agent, "5215512345678"), 400, "invalid_body"),
        (body("agent_unknown", CUSTOMER), 403, "agent_not_found"),
        (body(&text(&draft["id"]), CUSTOMER), 403, "agent_disabled"),
        (body(&paused, CUSTOMER), 403, "agent_disabled"),
    ];
    for (body, status, code) in cases {
        let answer = app.post("/v1/calls", body).await;
        answer.assert_error(status, code);
        assert!(answer.number("x-ratelimit-remaining") > 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queued_call_is_cancelled_and_an_ended_one_cannot_be() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let handle = text(&app.call(&agent, CUSTOMER).await["id"]);
    let hang_up = format!("/v1/calls/{handle}/hangup");
    let ended = app.request("POST", &hang_up).await.assert(202);
    assert_eq!(ended, json!({"id": handle, "status": "failed"}));
    let call = app.read(&format!("/v1/calls/{handle}")).await;
    assert_eq!(call["status"], "failed");
    assert_eq!(call["failure_reason"], "cancelled");
    assert_eq!(call["duration_seconds"], 0);
    let answer = app.request("POST", &hang_up).await;
    answer.assert_error(409, "conflict");
    assert_eq!(app.read(&format!("/v1/calls/{handle}")).await, call);
    let extra = app.post(&hang_up, r#"{"x":1}"#).await;
    let said = extra.assert_error(400, "invalid_body");
    assert_eq!(said, "`x`: unknown field");
    let absent = app.request("POST", "/v1/calls/x/hangup").await;
    absent.assert_error(404, "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_went_well_shows_how_it_ended() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let handle = text(&app.call(&agent, CUSTOMER).await["id"]);
    app.dial();
    let call = app.ended(&handle).await;
    assert_eq!(call["status"], "completed");
    assert_eq!(call["failure_reason"], json!(null));
    for field in ["ended_at", "summary", "termination_reason"] {
        assert!(call[field].is_string(), "{field}: {call}");
    }
    for field in ["duration_seconds", "credits"] {
        assert!(call[field].is_i64(), "{field}: {call}");
    }
    let me = app.read("/v1/me").await;
    assert_eq!(me["live_calls"], 0);
}
