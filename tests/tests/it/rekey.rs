//! Replacing the master key: interrupted anywhere, resumed, and without losing or revealing a secret.

use std::path::PathBuf;

use offhook_failpoints as failpoints;
use offhook_tests::{Account, Options, Received, Receiver, Server, both, must, text};
use serde_json::json;

use crate::deliveries::is_signed_by;

/// Must not appear in a dump.
const HEADER: &str = "Bearer a-tools-own-secret";

fn key_file(server: &Server) -> PathBuf {
    match server.database().is_shared() {
        true => server.data_dir().join("../key"),
        false => server.data_dir().join("master.key"),
    }
}

/// Sets these keys, in this order.
fn give(server: &Server, keys: &[&str]) {
    must(
        "the keys",
        std::fs::write(key_file(server), keys.join("\n")),
    );
}

/// The key that a server was started with, and another one.
fn keys(server: &Server) -> (String, String) {
    let old = must("the key", std::fs::read_to_string(key_file(server)));
    (old.trim().to_owned(), "08".repeat(32))
}

/// All stored data, as an intruder would have it.
async fn dump(server: &Server) -> Vec<u8> {
    let mut command = match server.database().url() {
        Some(url) => {
            let mut command = tokio::process::Command::new("pg_dump");
            command.arg(url);
            command
        }
        None => {
            let mut command = tokio::process::Command::new("cat");
            for file in ["offhook.db", "offhook.db-wal"] {
                let path = server.data_dir().join(file);
                if path.exists() {
                    command.arg(path);
                }
            }
            command
        }
    };
    let output = must("a dump", command.output().await);
    assert!(output.status.success(), "{output:?}");
    output.stdout
}

fn shows(dump: &[u8], secret: &str) -> bool {
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    [secret, hex.as_str()]
        .iter()
        .any(|text| dump.windows(text.len()).any(|part| part == text.as_bytes()))
}

/// An account with a secret of every kind, one of them rotated out but still signing.
async fn furnished(server: &Server, receiver: &Receiver) -> (Account, Vec<String>, String) {
    let account = server.account("scale").await;
    let (endpoint, first) = account.webhook(&receiver.url("/hooks")).await;
    let rotate = account.post(
        &format!("/v1/webhooks/{endpoint}/rotate-secret"),
        json!({"overlap_hours": 100}),
    );
    let second = rotate.await.assert(200);
    let second = text(&second["secret"]).to_owned();
    let tool = account.post(
        "/v1/agents/tools",
        json!({
            "name": "orders", "description": "Finds orders.", "kind": "http",
            "parameters": {"type": "object", "properties": {}},
            "http": {"method": "GET", "url": "https://shop.example.com/orders", "headers": {"Authorization": HEADER}},
        }),
    );
    let tool = tool.await.assert(201);
    let agent = account
        .agent_with(json!({
            "system_prompt": "You confirm appointments.",
            "first_message": "Hello.",
            "llm": {"provider": "scripted", "model": "scripted"},
            "tool_ids": [tool["id"]],
        }))
        .await;
    let credential = format!("sim_{}", account.id);
    let set = server.credential(&account.id, "legacy", &credential);
    set.await;
    (
        account,
        vec![first, second, HEADER.to_owned(), credential],
        agent,
    )
}

/// Places a call and checks that all secrets sign the delivery of its end.
async fn works(account: &Account, agent: &str, receiver: &Receiver, secrets: &[String]) {
    let handle = account.call(agent, "+5215512345678").await;
    assert_eq!(account.ended(&handle).await["status"], "completed");
    let is_end =
        |received: &Received| received.kind() == "call.completed" && received.call() == handle;
    let all = receiver
        .wait("the signed end of a call", |all| all.iter().any(is_end))
        .await;
    let end = all.iter().find(|received| is_end(received));
    for secret in secrets {
        assert!(end.is_some_and(|end| is_signed_by(end, secret)));
    }
}

async fn sentence(server: &Server, arguments: &[&str]) -> String {
    let output = server.run(arguments).await;
    assert!(!output.status.success(), "{arguments:?} should have failed");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

both! {
    async fn an_exchange_that_is_cut_short_is_taken_up_and_loses_nothing(database: Database) {
        let receiver = Receiver::start().await;
        let mut server = Server::start(Options::on(database)).await;
        let (old, new) = keys(&server);
        let (account, secrets, agent) = furnished(&server, &receiver).await;
        works(&account, &agent, &receiver, &secrets[..2]).await;
        let refused = sentence(&server, &["rekey"]).await;
        assert!(refused.contains("serve"), "{refused}");
        assert!(server.stop().await.success());
        give(&server, &[&new, &old]);
        for point in [failpoints::REKEY_AFTER_BATCH, failpoints::REKEY_BEFORE_END] {
            let died = server.run_with(&["rekey"], &[("OFFHOOK_FAILPOINT", point)]).await;
            assert!(!died.status.success(), "{point}");
            // Neither key alone opens everything.
            for alone in [&old, &new] {
                give(&server, &[alone]);
                let refused = sentence(&server, &["account", "list"]).await;
                assert!(refused.contains("master key"), "{refused}");
            }
            give(&server, &[&new, &old]);
        }
        let done = server.cli(&["rekey"]).await;
        assert_eq!(done["is_new"], true, "{done}");
        let again = server.cli(&["rekey"]).await;
        assert_eq!(again, json!({"secrets": 0, "is_new": false}));
        give(&server, &[&old]);
        let refused = sentence(&server, &["account", "list"]).await;
        assert!(refused.contains("another master key"), "{refused}");
        give(&server, &[&new]);
        server.start_again(&[]).await;
        works(&account, &agent, &receiver, &secrets[..2]).await;
        let synced = server.cli(&["legacy", "sync", "--account", &account.id]).await;
        assert_eq!(synced["listed"], 2, "the credential opens");
        let dumped = dump(&server).await;
        assert!(dumped.len() > 10_000);
        for secret in &secrets {
            assert!(!shows(&dumped, secret), "{secret}");
        }
    }

    async fn a_service_with_both_keys_goes_on_during_the_exchange(database: Database) {
        let receiver = Receiver::start().await;
        let mut server = Server::start(Options::on(database)).await;
        let (old, new) = keys(&server);
        let (account, secrets, agent) = furnished(&server, &receiver).await;
        assert!(server.stop().await.success());
        give(&server, &[&new, &old]);
        server.start_again(&[]).await;
        works(&account, &agent, &receiver, &secrets[..2]).await;
        let done = server.cli(&["rekey", "--while-serving"]).await;
        assert_eq!(done["is_new"], true);
        works(&account, &agent, &receiver, &secrets[..2]).await;
        assert!(server.stop().await.success());
        give(&server, &[&new]);
        server.start_again(&[]).await;
        works(&account, &agent, &receiver, &secrets[..2]).await;
    }
}
