//! Several real processes on one PostgreSQL.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use offhook_signing::verify;
use offhook_tests::{
    Account, Database, Options, Received, Receiver, Server, eventually, must, text, unix_seconds,
};
use serde_json::json;

/// A callee who talks.
const PERSON: &str = "+5215512345678";

/// The expiry of a dead process's leases, judged after as long a time of the observer's own renewals, with room for a
/// busy machine.
const TAKEN_OVER_WITHIN: Duration = Duration::from_secs(150);

/// The directory of libfaketime on Debian and Ubuntu.
const LIBRARIES: &str = "/usr/lib";

struct Nodes {
    a: Server,
    b: Server,
    /// The account, used through each server.
    on_a: Account,
    on_b: Account,
}

impl Nodes {
    async fn start(change: impl Fn(Options) -> Options) -> Self {
        Self::start_with(change, &[]).await
    }

    /// `variables` are in the environment of the second server.
    async fn start_with(change: impl Fn(Options) -> Options, variables: &[(&str, &str)]) -> Self {
        let options = change(Options::on(Database::postgres().await));
        let a = Server::start(options.clone()).await;
        let b = Server::join(options, variables).await;
        let on_a = a.account("scale").await;
        let on_b = on_a.through(&b);
        Self { a, b, on_a, on_b }
    }
}

async fn talking(account: &Account, handle: &str) {
    let target = format!("/v1/conversations/{}", &handle[5..]);
    eventually("a turn", Duration::from_secs(20), || async {
        account.read(&target).await["transcript"].get(0).cloned()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: just test"]
async fn a_call_is_read_and_hung_up_through_every_node() {
    let nodes = Nodes::start(|options| options.set("simulator.speed", 4)).await;
    let agent = nodes.on_a.agent().await;
    for (here, there) in [(&nodes.on_a, &nodes.on_b), (&nodes.on_b, &nodes.on_a)] {
        let handle = here.call(&agent, PERSON).await;
        talking(there, &handle).await;
        let asked = Instant::now();
        let hang_up = there.post(&format!("/v1/calls/{handle}/hangup"), "{}");
        let answer = hang_up.await.assert(202);
        assert_eq!(answer, json!({"id": handle, "status": "initiated"}));
        let call = here.ended(&handle).await;
        let took = asked.elapsed();
        // Half a second to obey; the rest is for the summary and a busy machine. A lease would take 45 s.
        assert!(took < Duration::from_secs(10), "{took:?}");
        assert_eq!(call["termination_reason"], "api_hangup");
        assert_eq!(there.read(&format!("/v1/calls/{handle}")).await, call);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: just test"]
async fn a_key_that_a_command_revokes_ends_on_every_node_at_once() {
    let nodes = Nodes::start(|options| options).await;
    for account in [&nodes.on_a, &nodes.on_b] {
        account.read("/v1/me").await;
    }
    nodes.b.cli(&["key", "revoke", &nodes.on_a.key_id]).await;
    for account in [&nodes.on_a, &nodes.on_b] {
        let answer = account.get("/v1/me").await;
        answer.assert_error(401, "unauthorized");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: just test"]
async fn a_second_node_without_redis_is_not_ready_until_it_is_alone() {
    let mut nodes = Nodes::start(|options| options).await;
    let ready = async |server: &Server| {
        let answer = server.client().get("/readyz").await;
        (answer.status, answer.text())
    };
    let (status, why) = ready(&nodes.b).await;
    assert_eq!(status, 503, "{why}");
    assert!(why.contains("redis_url"), "{why}");
    assert_eq!(ready(&nodes.a).await.0, 200);
    // A stopping node signs off and frees its place.
    assert!(nodes.a.stop().await.success());
    eventually(
        "the second node's turn",
        Duration::from_secs(10),
        || async { (ready(&nodes.b).await.0 == 200).then_some(()) },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: just test"]
async fn what_a_node_leaves_when_it_is_killed_is_ended_and_told_by_another() {
    let receiver = Receiver::start().await;
    let mut nodes = Nodes::start(|options| options.in_haste().set("simulator.speed", 1)).await;
    nodes.on_a.webhook(&receiver.url("/")).await;
    let agent = nodes.on_a.agent().await;
    let mut handles = Vec::new();
    for _ in 0..6 {
        handles.push(nodes.on_a.call(&agent, PERSON).await);
    }
    for handle in &handles {
        talking(&nodes.on_b, handle).await;
    }
    nodes.a.kill().await;
    let mut statuses = HashMap::new();
    for handle in &handles {
        let call = nodes.on_b.ended_within(handle, TAKEN_OVER_WITHIN).await;
        *statuses.entry(call["failure_reason"].clone()).or_insert(0) += 1;
    }
    // The other node may have dialed some of them, and these continue.
    let interrupted = statuses.get(&json!("interrupted")).copied();
    assert!(interrupted.unwrap_or(0) > 0, "{statuses:?}");
    let terminal = |call: &str, all: &[Received]| -> BTreeSet<String> {
        let ends = all.iter().filter(|one| {
            one.call() == call && matches!(one.kind().as_str(), "call.failed" | "call.completed")
        });
        ends.map(|one| text(&one.json()["id"]).to_owned()).collect()
    };
    let all = receiver
        .wait_within(TAKEN_OVER_WITHIN, "the end of every call", |all| {
            handles.iter().all(|call| !terminal(call, all).is_empty())
        })
        .await;
    for call in &handles {
        assert_eq!(terminal(call, &all).len(), 1, "one end of {call}");
    }
}

/// The library that changes a process's wall clock, but not its monotonic clock.
pub(crate) fn faketime() -> String {
    let machines = must("the libraries", std::fs::read_dir(LIBRARIES));
    let found = machines
        .filter_map(Result::ok)
        .map(|machine| machine.path().join("faketime/libfaketime.so.1"))
        .find(|library| library.exists());
    let found: PathBuf = found.unwrap_or_else(|| panic!("libfaketime is missing: run `just test`"));
    found.to_string_lossy().into_owned()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: just test"]
async fn a_node_stepped_by_an_hour_changes_no_call_delivery_or_key() {
    let directory = must("a directory", tempfile::tempdir());
    let step = directory.path().join("step");
    let turn = |by: &str| must("a step", std::fs::write(&step, by));
    turn("+0");
    let receiver = Receiver::start().await;
    let nodes = Nodes::start_with(
        // Queued calls also wait for the stepped node, and its keys have not expired yet.
        |options| options.set("simulator.speed", 8),
        &[
            ("LD_PRELOAD", &faketime()),
            ("FAKETIME_TIMESTAMP_FILE", &step.to_string_lossy()),
            ("FAKETIME_NO_CACHE", "1"),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
            ("NO_FAKE_STAT", "1"),
        ],
    )
    .await;
    let (_, secret) = nodes.on_a.webhook(&receiver.url("/")).await;
    let agent = nodes.on_a.agent().await;
    let place = async |account: &Account, key: &str| {
        let body = json!({"agent_id": agent, "to": PERSON});
        let placed = account.post("/v1/calls", body).idempotency_key(key);
        text(&placed.await.assert(201)["id"]).to_owned()
    };
    for by in ["+3600", "-3600"] {
        turn("+0");
        let (mut handles, mut keys) = (Vec::new(), Vec::new());
        for number in 0..3 {
            let key = format!("{by} {number}");
            handles.push(place(&nodes.on_b, &key).await);
            keys.push(key);
        }
        for handle in &handles {
            talking(&nodes.on_a, handle).await;
        }
        turn(by);
        // The stepped node finds its keys unchanged, and places and dials as if nothing had happened.
        for (key, handle) in keys.iter().zip(&handles) {
            assert_eq!(place(&nodes.on_b, key).await, *handle);
        }
        nodes.on_b.get("/v1/me").await.assert(200);
        handles.push(place(&nodes.on_b, &format!("{by} later")).await);
        for handle in &handles {
            let call = nodes.on_a.ended(handle).await;
            assert_eq!(call["status"], "completed", "{by}: {call}");
            let seconds = call["duration_seconds"].as_i64();
            assert!((1..300).contains(&seconds.unwrap_or(-1)), "{by}: {call}");
        }
        let all = receiver
            .wait("the ends", |all| {
                handles.iter().all(|handle| {
                    let ends =
                        |one: &&Received| one.call() == *handle && one.kind() == "call.completed";
                    all.iter().find(ends).is_some()
                })
            })
            .await;
        // A receiver with a tolerance of five minutes accepts signatures of both nodes.
        let secret = must("a secret", secret.parse());
        for one in all {
            let signature = one.header("x-service-signature").unwrap_or_default();
            let verified = verify(signature, &one.body, &secret, unix_seconds(), 300);
            assert!(verified.is_ok(), "{by}: {signature}: {verified:?}");
        }
    }
}
