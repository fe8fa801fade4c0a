//! Legacy agents of the simulated provider: the operator stores a credential, the service lists its agents, and each
//! call is dialed once even if the process dies.

use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use offhook_failpoints as failpoints;
use offhook_tests::{
    Account, Database, Options, Server, SimulatorProcess, both, eventually, must, text,
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

const LIMIT: Duration = Duration::from_secs(30);

/// The expiry of a dead process's leases, and the time until the service accepts that the provider does not know a
/// call.
const SETTLED_WITHIN: Duration = Duration::from_secs(300);

const SIGABRT: i32 = 6;

/// A callee who answers and says nothing.
const SILENT: &str = "+15005550010";

/// Stores a credential while the service runs; returns its agents, the one with a number first.
pub(crate) async fn agents(server: &Server, account: &Account) -> Vec<Value> {
    let secret = format!("sim_{}", account.id);
    let stored = server.credential(&account.id, "legacy", &secret).await;
    assert_eq!(stored["provider"], "legacy");
    assert!(stored.get("secret").is_none());
    eventually("the legacy agents", LIMIT, || async {
        let list = account.read("/v1/agents?runtime=legacy").await;
        let mut agents = list["data"].as_array().cloned().unwrap_or_default();
        agents.sort_by_key(|agent| agent["name"] != "Reception");
        (agents.len() == 2).then_some(agents)
    })
    .await
}

/// Failpoints in the life of a batch's calls; earlier calls already pass some of them.
const POINTS: [&str; 7] = [
    "dial.before_claim",
    "dial.after_claim:3",
    "dial.after_answer:3",
    "dial.after_turn:5",
    "close.after_closing:2",
    "close.before_commit:2",
    "close.after_commit:2",
];

/// Posts a batch to a process that may die before it responds; returns the batch's path.
pub(crate) fn posted(account: &Account, agent: &Value, recipients: usize) -> JoinHandle<String> {
    let recipients: Vec<Value> = (0..recipients)
        .map(|n| json!({"to": format!("+521551234{n:04}"), "metadata": {"n": n}}))
        .collect();
    let body = json!({"name": "Spring", "agent_id": agent, "recipients": recipients}).to_string();
    let account = account.clone();
    tokio::spawn(async move {
        let made = eventually("an answer", SETTLED_WITHIN, || async {
            let post = account.post("/v1/batch-calls", &body);
            let answer = post.idempotency_key("spring").try_send().await.ok()?;
            (answer.status == 202).then(|| answer.json())
        })
        .await;
        format!("/v1/batch-calls/{}", text(&made["id"]))
    })
}

/// Continues a batch whose process has died; returns the counts and the recipients at its end.
pub(crate) async fn outlived(
    server: &mut Server,
    account: &Account,
    posting: JoinHandle<String>,
) -> (Value, Vec<Value>) {
    server.start_again(&[]).await;
    let target = must("a client", posting.await);
    let batch = eventually("the end of the batch", SETTLED_WITHIN, || async {
        let answer = account.get(&target).try_send().await.ok()?;
        let batch = (answer.status == 200).then(|| answer.json())?;
        (batch["status"] == "completed").then_some(batch)
    })
    .await;
    let rows = format!("{target}/recipients?limit=100");
    let rows = account.read(&rows).await["data"].take();
    let faults = server.cli(&["doctor", "--books"]).await;
    assert_eq!(faults, json!({"faults": []}), "the books add up");
    let rows = rows.as_array().cloned().unwrap_or_default();
    assert_eq!(batch["counts"]["total"], rows.len());
    (batch["counts"].clone(), rows)
}

/// Waits until the process has aborted at its failpoint.
pub(crate) async fn aborts(server: &mut Server) {
    let status = server.ended_within(SETTLED_WITHIN).await;
    assert_eq!(status.signal(), Some(SIGABRT), "{status}");
}

/// Plays a scene for each failpoint concurrently, each in its own database.
pub(crate) async fn at_each<F>(
    points: impl IntoIterator<Item = &'static str>,
    database: Database,
    scene: fn(&'static str, Database) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let mut playing = Vec::new();
    for point in points {
        let database = match database {
            Database::Sqlite => Database::Sqlite,
            Database::Postgres(_) => Database::postgres().await,
        };
        playing.push((point, tokio::spawn(scene(point, database))));
    }
    let mut failed = Vec::new();
    for (point, play) in playing {
        if play.await.is_err() {
            failed.push(point);
        }
    }
    assert!(failed.is_empty(), "{failed:?}: see above");
}

/// Runs a batch in a process that aborts at a failpoint, and checks the result for each recipient.
async fn aborted(point: &'static str, database: Database) {
    const RECIPIENTS: usize = 12;
    let simulator = SimulatorProcess::start(50).await;
    let options = Options::on(database)
        .in_haste()
        .set("simulator.url", simulator.url());
    let mut server = Server::start(options).await;
    let account = server.account("pro").await;
    let agents = agents(&server, &account).await;
    assert!(server.stop().await.success());
    server.start_again(&[("OFFHOOK_FAILPOINT", point)]).await;
    let posting = posted(&account, &agents[0]["id"], RECIPIENTS);
    aborts(&mut server).await;
    let (counts, rows) = outlived(&mut server, &account, posting).await;
    assert_eq!(rows.len(), RECIPIENTS);
    let completed = called_once(&simulator, &rows);
    for none in ["pending", "dialing", "cancelled"] {
        assert_eq!(counts[none], 0, "{point}: {counts}");
    }
    assert_eq!(counts["completed"], completed, "{point}: {counts}");
    let untouched =
        failpoints::OF_BATCHES.contains(&point) || point == failpoints::DIAL_BEFORE_CLAIM;
    if untouched {
        assert_eq!(completed, RECIPIENTS, "{point}: nobody was called yet");
    }
}

/// Checks that the called recipients were dialed once, and the others at most once; returns how many were called.
fn called_once(simulator: &SimulatorProcess, rows: &[Value]) -> usize {
    let mut completed = 0;
    for row in rows {
        let dials = simulator.dials();
        let dialed = dials.iter().filter(|dial| dial["to"] == row["to"]).count();
        match (text(&row["status"]), row["failure_reason"].as_str()) {
            ("completed", _) => {
                assert_eq!(dialed, 1, "{row}");
                completed += 1;
            }
            ("failed", Some("interrupted" | "carrier_error")) => assert!(dialed <= 1, "{row}"),
            _ => panic!("{row}"),
        }
    }
    completed
}

both! {
    async fn a_credential_brings_agents_whose_calls_are_dialed_once(database: Database) {
        let simulator = SimulatorProcess::start(200).await;
        let server = Server::start(Options::on(database).set("simulator.url", simulator.url())).await;
        let account = server.account("scale").await;
        let agents = agents(&server, &account).await;
        for reference in ["id", "provider_agent_id"] {
            let handle = account.call(text(&agents[0][reference]), "+5215512345678").await;
            let call = account.ended(&handle).await;
            assert_eq!(call["status"], "completed", "{call}");
            assert_eq!(call["runtime"], "legacy");
            assert_eq!(simulator.dialed(&handle), 1);
            let audio = format!("/v1/conversations/{}/audio", text(&call["conversation_id"]));
            let recording = account.get(&audio).await;
            assert_eq!(recording.status, 200);
            assert!(recording.body.starts_with(b"RIFF"));
        }
        let list = server.cli(&["account", "credential", "list", "--account", &account.id]).await;
        assert_eq!(list[0]["provider"], "legacy");
        let synced = server.cli(&["legacy", "sync", "--account", &account.id]).await;
        assert_eq!(synced, json!({"listed": 2, "added": 0, "archived": 0}));
    }

    async fn a_batch_calls_nobody_twice_when_its_process_dies(database: Database) {
        let simulator = SimulatorProcess::start(20).await;
        let mut server = Server::start(Options::on(database).in_haste().set("simulator.url", simulator.url())).await;
        let account = server.account("pro").await;
        let agents = agents(&server, &account).await;
        let posting = posted(&account, &agents[0]["id"], 40);
        eventually("some calls that have ended", LIMIT, || async {
            let batches = account.read("/v1/batch-calls").await;
            (batches["data"][0]["counts"]["completed"].as_i64() > Some(3)).then_some(())
        })
        .await;
        server.kill().await;
        let (counts, rows) = outlived(&mut server, &account, posting).await;
        let completed = called_once(&simulator, &rows);
        let all = json!({
            "total": 40, "pending": 0, "dialing": 0, "completed": completed, "failed": 40 - completed, "cancelled": 0,
        });
        assert_eq!(counts, all);
        assert!(rows.iter().all(|row| row["failure_reason"] != "carrier_error"));
    }

    async fn a_batch_whose_process_aborts_at_any_point_calls_nobody_twice_and_loses_nobody(database: Database) {
        at_each(POINTS.iter().chain(failpoints::OF_BATCHES).copied(), database, aborted).await;
    }

    async fn a_legacy_call_whose_process_dies_is_interrupted_and_never_dialed_again(database: Database) {
        let simulator = SimulatorProcess::start(1).await;
        let mut server = Server::start(Options::on(database).in_haste().set("simulator.url", simulator.url())).await;
        let account = server.account("scale").await;
        let agents = agents(&server, &account).await;
        let handle = account.call(text(&agents[0]["id"]), SILENT).await;
        let conversation = format!("/v1/conversations/{}", handle.trim_start_matches("call_"));
        eventually("somebody who answers", LIMIT, || async {
            let read = account.read(&conversation).await;
            (read["messages_count"] != 0 || simulator.dialed(&handle) > 0).then_some(())
        })
        .await;
        server.crash_and_restart().await;
        let call = account.ended_within(&handle, SETTLED_WITHIN).await;
        assert_eq!(call["failure_reason"], "interrupted", "{call}");
        assert_eq!(simulator.dialed(&handle), 1);
        let again = account.call(text(&agents[0]["id"]), "+15005550001").await;
        assert_eq!(account.ended(&again).await["failure_reason"], "busy");
    }
}
