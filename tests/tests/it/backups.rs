//! Backups made while clients place calls. After a restore, no one is called again.

use std::path::Path;
use std::time::Duration;

use offhook_tests::{Account, Options, Server, SimulatorProcess, both, eventually, must, text};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::legacy;

const LIMIT: Duration = Duration::from_secs(60);

/// A callee who answers and says nothing.
const SILENT: &str = "+15005550010";
const CUSTOMER: &str = "+5215512345678";

async fn postgres(program: &str, arguments: &[&str]) {
    let output = must(
        program,
        Command::new(program).args(arguments).output().await,
    );
    assert!(output.status.success(), "{program}: {output:?}");
}

async fn backup(server: &Server, into: &Path) {
    let path = must("a path", into.to_str().ok_or("no text"));
    match server.database().url() {
        Some(url) => postgres("pg_dump", &["--format=custom", "--file", path, &url]).await,
        None => {
            let made = server.cli(&["backup", path]).await;
            assert_eq!(made["file"], path);
        }
    }
}

/// Restores a backup over everything; returns the output of `offhook restore`.
async fn restore(server: &Server, from: &Path) -> Value {
    let path = must("a path", from.to_str().ok_or("no text"));
    let Some(url) = server.database().url() else {
        let refused = server.run(&["restore", path]).await;
        assert!(!refused.status.success(), "there is a database");
        for file in ["offhook.db", "offhook.db-wal", "offhook.db-shm"] {
            let _ = std::fs::remove_file(server.data_dir().join(file));
        }
        return server.cli(&["restore", path]).await;
    };
    let empty = "DROP SCHEMA public CASCADE; CREATE SCHEMA public";
    postgres("psql", &["--quiet", "--command", empty, &url]).await;
    postgres(
        "pg_restore",
        &["--exit-on-error", "--no-owner", "--dbname", &url, path],
    )
    .await;
    server.cli(&["restore"]).await
}

/// Places a call under a key; returns the handle, and whether it was a replay.
async fn place(account: &Account, agent: &str, to: &str, key: &str) -> (String, bool) {
    let body = json!({"agent_id": agent, "to": to});
    let placed = account.post("/v1/calls", body).idempotency_key(key).await;
    let replayed = placed.header("idempotent-replayed") == Some("true");
    (text(&placed.assert(201)["id"]).to_owned(), replayed)
}

both! {
    async fn a_restored_backup_calls_nobody_again(database: Database) {
        let simulator = SimulatorProcess::start(1).await;
        let options = Options::on(database)
            .set("simulator.url", simulator.url())
            .set("plans.scale.live_calls", 1);
        let mut server = Server::start(options).await;
        let account = server.account("scale").await;
        let agent = account.agent().await;
        let (long, _) = place(&account, &agent, SILENT, "long").await;
        eventually("somebody who listens", LIMIT, || async {
            (simulator.dialed(&long) == 1).then_some(())
        })
        .await;
        let (waiting, _) = place(&account, &agent, SILENT, "waiting").await;
        let legacy = legacy::agents(&server, &account).await;
        let batch = json!({
            "name": "Spring", "agent_id": legacy[0]["id"], "recipients": [{"to": CUSTOMER}],
            "scheduled_at": "2099-01-01T00:00:00Z",
        });
        let batch = account.post("/v1/batch-calls", batch).await.assert(202);
        let folder = must("a folder", tempfile::tempdir());
        let file = folder.path().join("backup");
        // Calls are placed throughout the backup.
        let placing = tokio::spawn({
            let (account, agent) = (account.clone(), agent.clone());
            async move {
                let mut placed = Vec::new();
                for n in 0..40 {
                    placed.push(place(&account, &agent, SILENT, &format!("more {n}")).await.0);
                }
                placed
            }
        });
        backup(&server, &file).await;
        let later = must("calls", placing.await);
        // After the backup the waiting call is dialed.
        account.post(&format!("/v1/calls/{long}/hangup"), "{}").await.assert(202);
        eventually("the next call", LIMIT, || async {
            (simulator.dialed(&waiting) == 1).then_some(())
        })
        .await;
        server.signal("KILL").await;
        server.ended().await;
        let held = restore(&server, &file).await;
        assert_eq!(held["paused_batches"], 1, "{held}");
        assert!(held["expired_calls"].as_i64() >= Some(1), "{held}");
        let before: Vec<Value> = simulator.dials();
        server.start_again(&[]).await;
        let call = account.ended(&waiting).await;
        assert_eq!((&call["status"], &call["failure_reason"]), (&json!("failed"), &json!("expired")));
        let read = account.read(&format!("/v1/batch-calls/{}", text(&batch["id"]))).await;
        assert_eq!((&read["status"], &read["paused_reason"]), (&json!("paused"), &json!("customer")));
        // Keys from before the backup are known.
        assert_eq!(place(&account, &agent, SILENT, "waiting").await, (waiting.clone(), true));
        assert_eq!(place(&account, &agent, SILENT, "long").await, (long.clone(), true));
        for handle in &later {
            let found = account.get(&format!("/v1/calls/{handle}")).await;
            assert!([200, 404].contains(&found.status), "in the backup, or behind it");
        }
        let faults = server.cli(&["doctor", "--books"]).await;
        assert_eq!(faults, json!({"faults": []}));
        for dial in simulator.dials().iter().skip(before.len()) {
            assert!(!before.iter().any(|earlier| earlier["handle"] == dial["handle"]), "{dial}");
        }
        assert_eq!((simulator.dialed(&long), simulator.dialed(&waiting)), (1, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_its_owners_alone_and_replaces_nothing() {
    let server = Server::start(Options::on(offhook_tests::Database::Sqlite)).await;
    let file = server.data_dir().join("copy.db");
    backup(&server, &file).await;
    let mode = must("its mode", std::fs::metadata(&file)).permissions();
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777,
        0o600
    );
    let path = file.to_str().unwrap_or_default();
    let again = server.run(&["backup", path]).await;
    let errors = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(
        !again.status.success() && errors.contains("is there already: name another file"),
        "{errors}"
    );
    assert!(must("its size", std::fs::metadata(&file)).len() > 0);
    let serving = server.run(&["restore", path]).await;
    let errors = String::from_utf8_lossy(&serving.stderr).into_owned();
    assert!(errors.contains("another offhook serves"), "{errors}");
}
