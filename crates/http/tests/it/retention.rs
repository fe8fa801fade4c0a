//! Conversations are visible within the plan's retention window, and deleted after it.

use std::time::Duration;

use offhook_domain::Plan;
use offhook_services::PlanChangeError;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::it::app::{CUSTOMER, TestApp, text};
use crate::it::client::must;
use crate::it::legacy;

async fn days(app: &TestApp, days: u64) {
    app.clock.advance(Duration::from_secs(days * 86_400));
}

async fn sweep(app: &TestApp) {
    let never = CancellationToken::new();
    let done = app.services.retention().sweep(&never).await;
    assert!(must(done), "the sweep was due");
}

/// The status codes of all reads of a call.
async fn statuses(app: &TestApp, handle: &str) -> Vec<u16> {
    let id = handle.trim_start_matches("call_");
    let mut statuses = Vec::new();
    for target in [
        format!("/v1/calls/{handle}"),
        format!("/v1/conversations/{id}"),
        format!("/v1/conversations/{id}/turns"),
        format!("/v1/conversations/{id}/events"),
    ] {
        statuses.push(app.get(&target).await.status);
    }
    statuses
}

async fn listed(app: &TestApp) -> usize {
    let list = app.read("/v1/calls").await;
    list["data"].as_array().map_or(0, Vec::len)
}

/// Rows that still exist, visible or not.
async fn stored(app: &TestApp) -> i64 {
    let end = app.clock.advance(Duration::ZERO);
    must(
        app.services
            .store()
            .conversations_before(app.account, end)
            .await,
    )
}

async fn ended_call(app: &TestApp) -> String {
    let agent = app.agent().await;
    app.dial();
    let call: Value = app.call(&agent, CUSTOMER).await;
    let handle = text(&call["id"]);
    app.ended(&handle).await;
    handle
}

async fn set_plan(app: &TestApp, plan: Plan) -> Vec<String> {
    let changes = app.services.plan_changes();
    let change = must(changes.look(app.account, plan).await);
    let losses = change.losses();
    must(changes.make(change).await);
    losses
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_ends_with_its_window_and_is_deleted_then() {
    let app = TestApp::start().await;
    let handle = ended_call(&app).await;
    days(&app, 364).await;
    assert_eq!(statuses(&app, &handle).await, [200; 4]);
    days(&app, 1).await;
    assert_eq!(statuses(&app, &handle).await, [404; 4]);
    assert_eq!(listed(&app).await, 0);
    assert_eq!(stored(&app).await, 1);
    sweep(&app).await;
    assert_eq!(stored(&app).await, 0);
    // The spent credits stay spent.
    let again = must(
        app.services
            .retention()
            .sweep(&CancellationToken::new())
            .await,
    );
    assert!(!again, "done for now");
}

/// The files of recordings, complete and partial.
fn files(app: &TestApp) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(app.recordings()) else {
        return Vec::new();
    };
    let names = entries.map(|entry| must(entry).file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_goes_with_its_conversation_file_and_row() {
    let app = TestApp::start().await;
    let agents = legacy::agents(&app).await;
    app.dial();
    let call = app.call(&text(&agents[0]["id"]), CUSTOMER).await;
    let recorded = text(&call["id"]);
    assert_eq!(app.ended(&recorded).await["has_audio"], true);
    let id = recorded.trim_start_matches("call_");
    assert_eq!(files(&app), [format!("{id}.wav")]);
    // A process that died while storing a recording left a file that no row names.
    let lost = app.agent().await;
    let lost = text(&app.call(&lost, CUSTOMER).await["id"]);
    assert_eq!(app.ended(&lost).await["has_audio"], false);
    let lost = lost.trim_start_matches("call_");
    let left = app.recordings().join(format!("{lost}.wav"));
    must(std::fs::write(left, b"RIFF"));
    days(&app, 364).await;
    sweep(&app).await;
    assert_eq!((files(&app).len(), stored(&app).await), (2, 2));
    days(&app, 1).await;
    let audio = format!("/v1/conversations/{id}/audio");
    app.get(&audio).await.assert_error(404, "not_found");
    sweep(&app).await;
    assert_eq!((files(&app).len(), stored(&app).await), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_that_died_between_the_file_and_the_row_is_made_up_for() {
    let app = TestApp::start().await;
    let agents = legacy::agents(&app).await;
    app.dial();
    let call = app.call(&text(&agents[0]["id"]), CUSTOMER).await;
    assert_eq!(app.ended(&text(&call["id"])).await["has_audio"], true);
    for file in files(&app) {
        must(std::fs::remove_file(app.recordings().join(file)));
    }
    days(&app, 365).await;
    sweep(&app).await;
    assert_eq!(stored(&app).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shorter_window_hides_at_once_and_deletes_30_days_later() {
    let app = TestApp::start().await;
    let handle = ended_call(&app).await;
    days(&app, 31).await;
    sweep(&app).await;
    let losses = set_plan(&app, Plan::Starter).await;
    assert_eq!(losses.len(), 2, "{losses:?}");
    assert!(losses[0].contains("(1 as of now)"), "{losses:?}");
    assert!(losses[1].starts_with("knowledge"), "{losses:?}");
    assert_eq!(statuses(&app, &handle).await, [404; 4]);
    days(&app, 29).await;
    sweep(&app).await;
    assert_eq!(stored(&app).await, 1);
    // Changed back in time, nothing is lost.
    assert_eq!(set_plan(&app, Plan::Scale).await, [""; 0]);
    assert_eq!(statuses(&app, &handle).await, [200; 4]);
    set_plan(&app, Plan::Starter).await;
    days(&app, 30).await;
    sweep(&app).await;
    assert_eq!(stored(&app).await, 0);
    set_plan(&app, Plan::Scale).await;
    assert_eq!(statuses(&app, &handle).await, [404; 4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_window_nothing_is_deleted() {
    let app = TestApp::start().await;
    let handle = ended_call(&app).await;
    set_plan(&app, Plan::Enterprise).await;
    days(&app, 4_000).await;
    sweep(&app).await;
    assert_eq!(statuses(&app, &handle).await, [200; 4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_changes_of_plan_the_second_is_looked_at_again() {
    let app = TestApp::start().await;
    let changes = app.services.plan_changes();
    let first = must(changes.look(app.account, Plan::Pro).await);
    let second = must(changes.look(app.account, Plan::Free).await);
    assert_eq!(second.losses().len(), 3);
    must(changes.make(first).await);
    let refused = changes.make(second).await;
    assert!(matches!(refused, Err(PlanChangeError::Changed)));
}
