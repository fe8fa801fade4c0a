//! The outcome of a call to each of the simulator's numbers.

use std::time::Duration;

use offhook_tests::{Account, Options, Receiver, Server, both, eventually, text};
use serde_json::{Value, json};

/// An ended call, and its events in order of arrival.
async fn outcome(
    account: &Account,
    receiver: &Receiver,
    agent: &str,
    to: &str,
    limit: Duration,
) -> (Value, Vec<Value>) {
    let handle = account.call(agent, to).await;
    let call = account.ended_within(&handle, limit).await;
    let what = format!("two events of {to}");
    let received = receiver.wait(&what, |all| {
        all.iter().filter(|one| one.call() == handle).count() == 2
    });
    let events = received
        .await
        .into_iter()
        .filter(|one| one.call() == handle)
        .map(|one| one.json());
    (call, events.collect())
}

fn assert_initiated(event: &Value, agent: &str, to: &str) {
    let expected = json!({
        "id": event["id"],
        "type": "call.initiated",
        "created_at": event["created_at"],
        "data": {"id": event["data"]["id"], "agent_id": agent, "to": to, "metadata": {}},
    });
    assert_eq!(*event, expected);
}

fn assert_failed(call: &Value, events: &[Value], agent: &str, to: &str, reason: &str) {
    assert_eq!(call["status"], "failed", "{call}");
    assert_eq!(call["failure_reason"], reason, "{call}");
    assert_eq!(call["termination_reason"], json!(null), "{call}");
    assert_eq!(call["credits"], 0, "{call}");
    super::calls::assert_timestamp(&call["ended_at"]);
    assert_initiated(&events[0], agent, to);
    let expected = json!({
        "id": events[1]["id"],
        "type": "call.failed",
        "created_at": events[1]["created_at"],
        "data": {"id": call["call_id"], "agent_id": agent, "status": "failed", "reason": reason},
    });
    assert_eq!(events[1], expected);
}

fn assert_completed(call: &Value, events: &[Value], agent: &str, to: &str, reason: &str) {
    assert_eq!(call["status"], "completed", "{call}");
    assert_eq!(call["failure_reason"], json!(null), "{call}");
    assert_eq!(call["termination_reason"], reason, "{call}");
    assert_initiated(&events[0], agent, to);
    let expected = json!({
        "id": events[1]["id"],
        "type": "call.completed",
        "created_at": events[1]["created_at"],
        "data": {
            "id": call["call_id"],
            "agent_id": agent,
            "status": "completed",
            "duration_seconds": call["duration_seconds"],
            "transcript_summary": call["summary"],
            "termination_reason": reason,
            "started_at": call["started_at"],
            "ended_at": call["ended_at"],
        },
    });
    assert_eq!(events[1], expected);
}

async fn started(options: Options) -> (Server, Account, Receiver, String) {
    let server = Server::start(options).await;
    let account = server.account("scale").await;
    let receiver = Receiver::start().await;
    account.webhook(&receiver.url("/")).await;
    let agent = account.agent().await;
    (server, account, receiver, agent)
}

const SOON: Duration = Duration::from_secs(20);

both! {
    async fn a_call_that_nobody_takes_fails_with_its_reason(database: Database) {
        let (_server, account, receiver, agent) = started(Options::on(database)).await;
        for (to, reason) in [
            ("+15005550001", "busy"),
            ("+15005550002", "no_answer"),
            ("+15005550003", "rejected"),
            ("+15005550005", "invalid_number"),
            ("+15005550007", "carrier_error"),
        ] {
            let (call, events) = outcome(&account, &receiver, &agent, to, SOON).await;
            assert_failed(&call, &events, &agent, to, reason);
            assert_eq!(call["duration_seconds"], 0, "{call}");
            assert_eq!(call["latency"], json!(null), "{call}");
            let conversation = account
                .read(&format!("/v1/conversations/{}", text(&call["id"])))
                .await;
            assert_eq!(conversation["transcript"], json!([]));
        }
    }

    async fn a_call_that_is_answered_completes_with_its_reason(database: Database) {
        let (_server, account, receiver, agent) = started(Options::on(database)).await;
        for (to, reason) in [
            ("+5215512345678", "customer_hangup"),
            ("+15005550004", "voicemail"),
            ("+15005550006", "customer_hangup"),
            ("+15005550009", "customer_hangup"),
        ] {
            let (call, events) = outcome(&account, &receiver, &agent, to, SOON).await;
            assert_completed(&call, &events, &agent, to, reason);
            assert!(call["duration_seconds"].as_i64() >= Some(1), "{call}");
        }
    }

    async fn a_call_that_is_not_dialed_in_time_expires(database: Database) {
        let options = Options::on(database)
            .set("simulator.speed", 1)
            .set("plans.scale.live_calls", 1)
            .set("calls.max_queue_seconds", 2);
        let server = Server::start(options).await;
        let account = server.account("scale").await;
        let receiver = Receiver::start().await;
        account.webhook(&receiver.url("/")).await;
        let agent = account.agent().await;
        let ringing = account.call(&agent, "+15005550002").await;
        eventually("a live call", SOON, || async {
            (account.read("/v1/me").await["live_calls"] == 1).then_some(())
        })
        .await;
        let (call, events) = outcome(&account, &receiver, &agent, "+5215512345678", SOON).await;
        assert_failed(&call, &events, &agent, "+5215512345678", "expired");
        assert_eq!(account.read(&format!("/v1/calls/{ringing}")).await["status"], "initiated");
    }

    async fn the_lease_ends_a_call_whose_carrier_never_reports(database: Database) {
        let (_server, account, receiver, agent) = started(Options::on(database).in_haste()).await;
        let to = "+15005550008";
        let (call, events) =
            outcome(&account, &receiver, &agent, to, Duration::from_secs(110)).await;
        assert_failed(&call, &events, &agent, to, "interrupted");
    }
}
