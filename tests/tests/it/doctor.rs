//! `offhook doctor` sees books that something else than the service wrote to, and says how to put them right.

use offhook_tests::{Options, Server, both, model_server, must};
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

both! {
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
            assert_eq!(server.cli(&["doctor"]).await, json!({"faults": []}), "before: {damage}");
            write(&server, &account, damage).await;
            let looked = server.run(&["doctor"]).await;
            assert_eq!(looked.status.code(), Some(1), "{damage}");
            let words = String::from_utf8_lossy(&looked.stdout).into_owned();
            assert!(words.starts_with(&format!("account {}: ", account.id)), "{words}");
            for part in said {
                assert!(words.contains(part), "{part}: {words}");
            }
            assert!(!words.contains(&whole.id), "{words}");
            let errors = String::from_utf8_lossy(&looked.stderr).into_owned();
            assert!(errors.contains("in the books"), "{errors}");
            let output = server.run(&["doctor", "--json"]).await;
            assert_eq!(output.status.code(), Some(1));
            let listed: serde_json::Value = must("JSON", serde_json::from_slice(&output.stdout));
            let lines: Vec<&str> = words.lines().collect();
            assert_eq!(listed, json!({"faults": lines}));
            write(&server, &account, undo).await;
        }
        assert_eq!(server.cli(&["doctor"]).await, json!({"faults": []}));
    }
}
