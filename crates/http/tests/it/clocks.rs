//! A machine whose clock is stepped by an hour, in the embedded service.

use std::time::Duration;

use serde_json::json;

use crate::it::app::{CUSTOMER, TestApp, text};
use crate::it::client::eventually;

const HOUR: i64 = 3_600_000_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_step_of_the_clock_expires_no_queued_call() {
    for step in [HOUR, -HOUR] {
        let app = TestApp::start().await;
        let agent = app.agent().await;
        let handle = text(&app.call(&agent, CUSTOMER).await["id"]);
        app.clock.step(step);
        app.dial();
        assert_eq!(app.ended(&handle).await["status"], "completed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_of_the_clock_ages_no_idempotency_key() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let place = || {
        let body = json!({"agent_id": agent, "to": CUSTOMER});
        app.post("/v1/calls", body).header("Idempotency-Key", "one")
    };
    let first = place().await.assert(201);
    app.clock.step(25 * HOUR);
    let again = place().await;
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.assert(201), first);
    app.clock.advance(Duration::from_secs(24 * 3_600));
    assert_ne!(place().await.assert(201), first);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_of_the_clock_lengthens_no_call() {
    for step in [HOUR, -HOUR] {
        let app = TestApp::at_speed(1.0).await;
        let agent = app.agent().await;
        app.dial();
        let handle = text(&app.call(&agent, CUSTOMER).await["id"]);
        let target = format!("/v1/conversations/{}", &handle[5..]);
        eventually(async || {
            app.clock.advance(Duration::from_millis(50));
            (app.read(&target).await["transcript"] != json!([])).then_some(())
        })
        .await;
        app.clock.step(step);
        app.clock.advance(Duration::from_secs(10));
        let target = format!("/v1/calls/{handle}/hangup");
        app.post(&target, "{}").await.assert(202);
        let call = app.ended(&handle).await;
        let seconds = call["duration_seconds"].as_i64().unwrap();
        assert!((10..120).contains(&seconds), "{call}");
    }
}
