//! Bodies and the Idempotency-Key header.

use crate::it::app::{CUSTOMER, TestApp};
use crate::it::client::exchange;

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_json_is_invalid_json() {
    let app = TestApp::start().await;
    for body in ["", "{", "{}x", "\u{feff}{}", "nul", "{'a':1}"] {
        let answer = app.post("/v1/agents", body).await;
        answer.assert_error(400, "invalid_json");
    }
    let untyped = app.request("POST", "/v1/agents").body("{}").await;
    untyped.assert_error(400, "invalid_json");
    let text = app
        .request("POST", "/v1/agents")
        .header("Content-Type", "text/plain");
    text.body("{}").await.assert_error(400, "invalid_json");
    let charset = app.request("POST", "/v1/agents");
    let charset = charset.header("Content-Type", "application/json; charset=utf-8");
    charset.body("{}").await.assert_error(400, "invalid_body");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_in_a_body_begins_with_its_field() {
    let app = TestApp::start().await;
    for (body, field) in [
        ("[]", "the body"),
        ("{}", "`name`"),
        (r#"{"language":"en"}"#, "`name`"),
        (r#"{"name":1,"language":2}"#, "`name`"),
        (r#"{"name":"a","name":"b","language":"en"}"#, "`name`"),
        (r#"{"name":"a\u0000","language":"en"}"#, "`name`"),
        (r#"{"name":"a","language":"en","x":1}"#, "`x`"),
        (r#"{"name":"a","language":"en","id":"x"}"#, "`id`"),
    ] {
        let answer = app.post("/v1/agents", body).await;
        let message = answer.assert_error(400, "invalid_body");
        assert!(message.starts_with(field), "{body}: {message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_body_is_an_empty_object_where_nothing_is_required() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let target = format!("/v1/agents/{agent}");
    app.request("PATCH", &target).await.assert(200);
    let publish = app.request("POST", &format!("{target}/publish")).await;
    publish.assert(200);
    let answer = app.request("POST", "/v1/agents").await;
    answer.assert_error(400, "invalid_json");
    let answer = app.request("POST", "/v1/calls").await;
    answer.assert_error(400, "invalid_json");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_over_1_mib_is_refused_by_its_announcement_and_by_its_length() {
    let app = TestApp::start().await;
    let at_most = format!("\"{}\"", "a".repeat(1024 * 1024 - 2));
    let answer = app.post("/v1/agents", &at_most).await;
    answer.assert_error(400, "invalid_body");
    let answer = app.post("/v1/agents", format!("{at_most} ")).await;
    answer.assert_error(413, "payload_too_large");
    let head = format!(
        "POST /v1/agents HTTP/1.1\r\nHost: test\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\n",
        app.token
    );
    // Announced but never sent: the response does not wait for it.
    let announced = format!("{head}Content-Length: 10485760\r\n\r\n");
    let answer = exchange(app.address, announced.as_bytes()).await;
    assert!(answer.starts_with(b"HTTP/1.1 413"), "{answer:?}");
    let mut chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
    for _ in 0..17 {
        chunked.extend(b"10000\r\n");
        chunked.extend(vec![b'a'; 65_536]);
        chunked.extend(b"\r\n");
    }
    chunked.extend(b"0\r\n\r\n");
    let answer = exchange(app.address, &chunked).await;
    assert!(answer.starts_with(b"HTTP/1.1 413"), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idempotency_key_is_one_header_of_printable_ascii() {
    let app = TestApp::start().await;
    let body = format!(r#"{{"agent_id":"x","to":"{CUSTOMER}"}}"#);
    let long = "k".repeat(256);
    for key in ["", " \t ", "é", "a\tb", long.as_str()] {
        let request = app.post("/v1/calls", &body).header("Idempotency-Key", key);
        request.await.assert_error(400, "invalid_idempotency_key");
    }
    let twice = app.post("/v1/calls", &body).header("Idempotency-Key", "a");
    let twice = twice.header("Idempotency-Key", "a").await;
    twice.assert_error(400, "invalid_idempotency_key");
    let good = app
        .post("/v1/calls", &body)
        .header("Idempotency-Key", &long[1..]);
    good.await.assert_error(403, "agent_not_found");
}
