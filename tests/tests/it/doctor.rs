//! `offhook doctor` names the hop that fails and says what to do: every hop, and books that something else than the service
//! wrote to.

use std::process::Output;

use offhook_tests::{Options, Server, both, model_server, must, text};
use serde_json::json;

use crate::raw::write;

/// What is done to the books, what undoes it, and what is said of it.
const DAMAGE: [(&str, &str, [&str; 2]); 13] = [
    (
        "UPDATE wallets SET balance = balance + 1 WHERE account_id = ID",
        "UPDATE wallets SET balance = balance - 1 WHERE account_id = ID",
        [
            "the balance is",
            "set `balance` in the account's row of `wallets` to",
        ],
    ),
    (
        "UPDATE wallets SET reserved = reserved + 7 WHERE account_id = ID",
        "UPDATE wallets SET reserved = reserved - 7 WHERE account_id = ID",
        [
            "7 credits are reserved, and the reservations add up to 0",
            "set `reserved` in the account's row of `wallets` to 0",
        ],
    ),
    (
        "INSERT INTO reservations (conversation_id, account_id, month, credits) \
           SELECT id, account_id, 24000, 5 FROM conversations WHERE account_id = ID; \
         UPDATE wallets SET reserved = reserved + 5 WHERE account_id = ID",
        "DELETE FROM reservations; UPDATE wallets SET reserved = reserved - 5 WHERE account_id = ID",
        [
            "1 reservation of no call that goes on",
            "delete these rows of `reservations`",
        ],
    ),
    (
        "CREATE TABLE kept AS SELECT * FROM ledger WHERE account_id = ID AND seq = 2; \
         DELETE FROM ledger WHERE account_id = ID AND seq = 2",
        "INSERT INTO ledger SELECT * FROM kept; DROP TABLE kept",
        [
            "entry 3 of the ledger does not follow",
            "restore it from the last backup",
        ],
    ),
    (
        "CREATE TABLE kept AS SELECT * FROM ledger WHERE account_id = ID AND seq = 3; \
         DELETE FROM ledger WHERE account_id = ID AND seq = 3",
        "INSERT INTO ledger SELECT * FROM kept; DROP TABLE kept",
        [
            "the wallet counts 3 entries of the ledger, and there are 2",
            "restore it from the last backup",
        ],
    ),
    (
        "UPDATE ledger SET amount_credits = amount_credits + 1 WHERE account_id = ID AND seq = 2",
        "UPDATE ledger SET amount_credits = amount_credits - 1 WHERE account_id = ID AND seq = 2",
        [
            "entry 2 of the ledger does not follow",
            "restore it from the last backup",
        ],
    ),
    // A purchase that is made larger, with every balance behind it.
    (
        "UPDATE ledger SET amount_credits = amount_credits + 1 WHERE account_id = ID AND seq = 2; \
         UPDATE ledger SET balance_after_credits = balance_after_credits + 1 WHERE account_id = ID AND seq >= 2; \
         UPDATE wallets SET balance = balance + 1 WHERE account_id = ID",
        "UPDATE ledger SET amount_credits = amount_credits - 1 WHERE account_id = ID AND seq = 2; \
         UPDATE ledger SET balance_after_credits = balance_after_credits - 1 WHERE account_id = ID AND seq >= 2; \
         UPDATE wallets SET balance = balance - 1 WHERE account_id = ID",
        [
            "1 line of invoices for an entry that the ledger does not have",
            "(`invoice_lines`, `ledger`)",
        ],
    ),
    (
        "UPDATE conversations SET credits = credits + 1 WHERE account_id = ID",
        "UPDATE conversations SET credits = credits - 1 WHERE account_id = ID",
        [
            "1 ended conversation with other credits than the ledger's debit took",
            "(`conversations`, `ledger`)",
        ],
    ),
    (
        "UPDATE invoices SET amount_cents = amount_cents + 1 WHERE account_id = ID",
        "UPDATE invoices SET amount_cents = amount_cents - 1 WHERE account_id = ID",
        ["1 invoice has another amount", "set `amount_cents`"],
    ),
    (
        "UPDATE usage_days SET credits = credits + 1 WHERE account_id = ID",
        "UPDATE usage_days SET credits = credits - 1 WHERE account_id = ID",
        ["the daily totals say", "(`usage_days`)"],
    ),
    (
        "UPDATE usage_days SET conversations = conversations - 1 WHERE account_id = ID",
        "UPDATE usage_days SET conversations = conversations + 1 WHERE account_id = ID",
        [
            "1 ended conversation in the database, and the daily totals say 0",
            "(`usage_days`)",
        ],
    ),
    (
        "UPDATE usage_days SET duration_seconds = duration_seconds + 5 WHERE account_id = ID",
        "UPDATE usage_days SET duration_seconds = duration_seconds - 5 WHERE account_id = ID",
        ["seconds, and the daily totals say", "(`usage_days`)"],
    ),
    (
        "CREATE TABLE kept AS SELECT * FROM wallets WHERE account_id = ID; DELETE FROM wallets WHERE account_id = ID",
        "INSERT INTO wallets SELECT * FROM kept; DROP TABLE kept",
        [
            "it has no row in `wallets`",
            "restore it from the last backup",
        ],
    ),
];

const GOOD: &str = "the books of every account add up";

/// Arguments and variables that damage a hop, the hop, and what is said of it.
type Damage<'a> = (
    &'a [&'a str],
    &'a [(&'a str, &'a str)],
    &'a str,
    [&'a str; 2],
);

/// The sentences about the ledger.
fn ledger(output: &Output) -> Vec<String> {
    let findings: Vec<serde_json::Value> = must("JSON", serde_json::from_slice(&output.stdout));
    let of_ledger = findings.iter().filter(|one| one["check"] == "ledger");
    of_ledger
        .map(|one| text(&one["message"]).to_owned())
        .collect()
}

/// What was found: the hop, how it is, and what is said of it.
pub(crate) fn findings(output: &Output) -> Vec<(String, String, String)> {
    let listed: Vec<serde_json::Value> = must("JSON", serde_json::from_slice(&output.stdout));
    let member = |one: &serde_json::Value, name| text(&one[name]).to_owned();
    listed
        .iter()
        .map(|one| {
            (
                member(one, "check"),
                member(one, "status"),
                member(one, "message"),
            )
        })
        .collect()
}

/// The hops that failed.
pub(crate) fn failed(output: &Output) -> Vec<(String, String)> {
    let of = findings(output).into_iter();
    of.filter(|(_, state, _)| state == "failed")
        .map(|(hop, _, sentence)| (hop, sentence))
        .collect()
}

both! {
    async fn a_whole_service_has_no_fault_and_a_call_leaves_no_trace(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let egress = format!("http://localhost:{}/healthz", server.address().port());
        let output = server.run(&["doctor", "--json", "--egress", &egress]).await;
        let found = findings(&output);
        assert!(output.status.success(), "{found:?}");
        let hops: Vec<&str> = found.iter().map(|(hop, _, _)| hop.as_str()).collect();
        let all = [
            "configuration", "service", "database", "clock", "ledger", "redis", "objects", "disk", "carrier", "egress", "call",
        ];
        assert_eq!(hops, all);
        for (hop, state, sentence) in &found {
            // The servers of tests write without fsync, and are told so.
            let good = state == "ok" || (hop == "database" && sentence.contains("`fsync` is off"));
            assert!(good, "{hop} {state}: {sentence}");
        }
        assert_eq!(server.cli(&["account", "list"]).await.as_array().map(Vec::len), Some(1));
        let calls = account.read("/v1/calls").await;
        assert_eq!(calls["data"], json!([]));
    }

    async fn each_damaged_hop_is_named_with_its_remedy(database: Database) {
        let mut server = Server::start(Options::on(database)).await;
        let directory = server.data_dir();
        let file = |name: &str, content: &str| {
            let path = directory.join(name);
            must("a file", std::fs::write(&path, content));
            path.to_string_lossy().into_owned()
        };
        let unknown = file("unknown.toml", "listne = \"127.0.0.1:1\"");
        let open = file("open.toml", "listen = \"0.0.0.0:8080\"");
        let away = file("away.toml", "[simulator]\nurl = \"http://127.0.0.1:9\"");
        let far = file(
            "far.toml",
            "[integrations.hubspot]\nclient_id = \"id\"\nclient_secret = \"s\"\ntoken_url = \"http://127.0.0.1:9/\"",
        );
        let key = file("another-key", &"08".repeat(32));
        let closed = ["--database-url", "postgres://nobody@127.0.0.1:9/none"];
        let shared = server.database().is_shared();
        let damages: [Damage<'_>; 10] = [
            (&["--config", &unknown], &[], "configuration", ["unknown setting `listne`", "did you mean"]),
            (&["--config", &open], &[("OFFHOOK_WEBHOOKS__ALLOW_PRIVATE_TARGETS", "false")], "configuration", ["0.0.0.0:8080", "listen on 127.0.0.1"]),
            (&closed, &[("OFFHOOK_MASTER_KEY_FILE", &key)], "database", ["unavailable", "see that the server of `database_url` runs"]),
            (&[], &[("OFFHOOK_MASTER_KEY_FILE", &key)], "database", ["another master key", "the key that the service was first started with"]),
            (&["--config", &away], &[], "carrier", ["`simulator.url` cannot be connected to", "start it with `offhook simulator`"]),
            (&["--config", &far], &[], "integrations", ["its token_url gives no answer", "correct `integrations.hubspot.token_url`"]),
            (&["--egress", "https://nowhere.invalid/"], &[], "egress", ["the name does not resolve", "resolver"]),
            (&["--egress", "http://localhost:9/"], &[], "egress", ["no connection can be made", "firewall"]),
            (&["--egress", "ftp://example.com/"], &[], "egress", ["the URL may not be a webhook's", "give one that may"]),
            (&[], &[("TMPDIR", "/nowhere")], "call", ["no temporary directory", "see that the temporary directory can be written"]),
        ];
        for (arguments, variables, hop, said) in damages {
            if shared && arguments == closed {
                // The URL is given already.
                continue;
            }
            let arguments = [&["doctor", "--json"][..], arguments].concat();
            let output = server.run_with(&arguments, variables).await;
            assert_eq!(output.status.code(), Some(1), "{arguments:?}");
            let failed = failed(&output);
            assert_eq!(failed.len(), 1, "{arguments:?}: {failed:?}");
            assert_eq!(failed[0].0, hop, "{failed:?}");
            for part in said {
                assert!(failed[0].1.contains(part), "{part}: {failed:?}");
            }
        }
        server.signal("KILL").await;
        server.ended().await;
        let failed = failed(&server.run(&["doctor", "--json"]).await);
        assert_eq!(failed.len(), 1, "{failed:?}");
        assert_eq!(failed[0].0, "service");
        assert!(failed[0].1.contains("nothing answers") && failed[0].1.contains("start it"), "{failed:?}");
    }

    async fn a_supervisor_can_ask_for_a_sign_of_life(database: Database) {
        let mut server = Server::start(Options::on(database)).await;
        assert!(server.run(&["health"]).await.status.success());
        assert!(server.run(&["health", "--ready"]).await.status.success());
        server.signal("KILL").await;
        server.ended().await;
        let output = server.run(&["health"]).await;
        assert_eq!(output.status.code(), Some(1));
        assert!(!output.stderr.is_empty());
    }

    async fn damaged_books_are_told_with_their_account_and_what_to_do(database: Database) {
        let options = Options::on(database)
            .set("models.openai.base_url", model_server().await)
            .set("models.openai.api_key", "sk-test");
        let mut server = Server::start(options).await;
        let account = server.account_with("scale", 100).await;
        let whole = server.account_with("pro", 7).await;
        let buy = ["wallet", "credit", "--account", &account.id, "--type", "purchase", "--credits", "50"];
        server.cli(&[&buy[..], &["--description", "More"]].concat()).await;
        let agent = account
            .agent_with(json!({
                "system_prompt": "Talk.",
                "first_message": "Hello, this is Eva.",
                "llm": {"provider": "openai", "model": "gpt-4.1"},
                "conversation": {"max_duration_s": 60},
            }))
            .await;
        let handle = account.call(&agent, "+5215512345678").await;
        let call = account.ended(&handle).await;
        assert!(call["credits"].as_i64() > Some(0), "{call}");
        assert!(server.stop().await.success());
        for (damage, undo, said) in DAMAGE {
            assert_eq!(ledger(&server.run(&["doctor", "--json"]).await), [GOOD], "before: {damage}");
            write(&server, &account, damage).await;
            let looked = server.run(&["doctor"]).await;
            assert_eq!(looked.status.code(), Some(1), "{damage}");
            let words = String::from_utf8_lossy(&looked.stdout).into_owned();
            let told: Vec<&str> = words
                .lines()
                .filter_map(|line| line.strip_prefix("failed  ledger: "))
                .collect();
            let all = told.join("\n");
            assert!(all.starts_with(&format!("account {}: ", account.id)), "{words}");
            for part in said {
                assert!(all.contains(part), "{part}: {words}");
            }
            assert!(!words.contains(&whole.id), "{words}");
            let errors = String::from_utf8_lossy(&looked.stderr).into_owned();
            assert!(errors.contains("found"), "{errors}");
            let output = server.run(&["doctor", "--json"]).await;
            assert_eq!(output.status.code(), Some(1));
            assert_eq!(ledger(&output), told);
            write(&server, &account, undo).await;
        }
        let output = server.run(&["doctor", "--json"]).await;
        assert_eq!(ledger(&output), [GOOD]);
        assert!(output.status.success());
    }
}
