//! Two processes on one PostgreSQL: each learns at once what the other does, however rarely it polls.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use offhook_services::{CallSettings, Looks};
use offhook_testkit::TestDatabase;
use serde_json::json;

use crate::it::app::{CUSTOMER, Setup, TestApp, text};
use crate::it::client::eventually;
use crate::it::stream::{Event, events};

/// Longer than any test.
const NEVER: Duration = Duration::from_secs(600);

/// Two processes, of which the first one dials. Both poll so rarely that only signals count.
async fn two(speed: f64) -> (TestApp, TestApp) {
    let database = TestDatabase::postgres().await;
    let looks = Looks {
        hangups: NEVER,
        streams: NEVER,
        deaf_streams: NEVER,
    };
    let setup = |sessions_at_most| Setup {
        database: Some(database.clone()),
        speed,
        calls: CallSettings {
            looks,
            sessions_at_most,
            ..CallSettings::default()
        },
        ..Setup::default()
    };
    let (owner, other) = (
        TestApp::with(setup(100)).await,
        TestApp::with(setup(0)).await,
    );
    owner.dial();
    other.dial();
    for app in [&owner, &other] {
        wait(|| async { app.services.health().hears_others() }).await;
    }
    (owner, other)
}

async fn wait<F: Future<Output = bool>>(mut condition: impl FnMut() -> F) {
    eventually(async || condition().await.then_some(())).await;
}

/// A request with the first process's account to the second process.
fn through(
    other: &TestApp,
    owner: &TestApp,
    method: &str,
    target: &str,
) -> crate::it::client::Request {
    other.bare(method, target).key(&owner.token)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: just test"]
async fn a_call_is_hung_up_through_any_process_at_once() {
    let (owner, other) = two(1.0).await;
    let agent = owner.agent().await;
    let calls = (0..5).map(|_| owner.call(&agent, CUSTOMER));
    let handles: Vec<String> = join_all(calls)
        .await
        .iter()
        .map(|c| text(&c["id"]))
        .collect();
    wait(|| async {
        let me = owner.get("/v1/me").await.assert(200);
        me["live_calls"] == 5
    })
    .await;
    let mut times = Vec::new();
    for handle in handles {
        let target = format!("/v1/calls/{handle}/hangup");
        let asked = Instant::now();
        let answer = through(&other, &owner, "POST", &target).await;
        assert_eq!(answer.assert(202)["status"], "initiated");
        let target = format!("/v1/calls/{handle}");
        wait(|| async {
            let call = through(&other, &owner, "GET", &target).await;
            call.assert(200)["status"] != "initiated"
        })
        .await;
        times.push(asked.elapsed());
    }
    // The polls are ten minutes apart, so signals did it; a busy machine may delay some of them.
    let quickest = times.iter().min();
    assert!(quickest < Some(&Duration::from_millis(500)), "{times:?}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: just test"]
async fn a_stream_through_another_process_tells_everything_while_it_happens() {
    let (owner, other) = two(60.0).await;
    let agent = owner.agent().await;
    let handle = text(&owner.call(&agent, CUSTOMER).await["id"]);
    let target = format!("/v1/conversations/{}/events", &handle[5..]);
    let stream = |app: &TestApp| {
        let request = through(app, &owner, "GET", &target).header("Connection", "close");
        async move { events(request.open().await).await }
    };
    let (here, there): (Vec<Event>, Vec<Event>) = tokio::join!(stream(&owner), stream(&other));
    assert!(here.len() > 5, "{here:?}");
    assert_eq!(here, there);
    assert_eq!(there.last().unwrap().2["state"], json!("completed"));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: just test"]
async fn a_change_of_an_endpoint_is_told() {
    let (owner, other) = two(1.0).await;
    let seen = || {
        let changes = &other.services.wakes().endpoint_changes;
        changes.load(std::sync::atomic::Ordering::SeqCst)
    };
    let made = owner.post("/v1/webhooks", json!({"url": "https://example.com/hook"}));
    let id = text(&made.await.assert(201)["id"]);
    let before = seen();
    let target = format!("/v1/webhooks/{id}");
    owner.request("DELETE", &target).await.assert(200);
    wait(|| async { seen() > before }).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: just test"]
async fn a_process_listens_anew_when_its_session_was_ended() {
    let database = TestDatabase::postgres().await;
    let app = TestApp::on(database.clone()).await;
    app.dial();
    let health = app.services.health();
    wait(|| async { health.hears_others() }).await;
    database.end_sessions().await;
    wait(|| async { !health.hears_others() }).await;
    wait(|| async { health.hears_others() }).await;
}
