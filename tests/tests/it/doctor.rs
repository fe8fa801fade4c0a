//! `offhook doctor` names the failing check and its remedy: every check, and a ledger that another program has
//! changed.

use std::process::Output;

use offhook_testkit::fakes::calendar::FakeCalendar;
use offhook_testkit::fakes::oauth::{CLIENT_ID, CLIENT_SECRET, TOKEN_PATH};
use offhook_testkit::upstream::{Answer, Fault, UPSTREAM_WORDS, Upstream};
use offhook_tests::{Database, Options, Server, both, model_server, must, text};
use serde_json::json;

use crate::doctor_stores::said;
use crate::raw::write;

/// A damage to the ledger, its repair, and the report of it.
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
    // A larger purchase, with every later balance adjusted.
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

/// Arguments and variables that break a check, the check, and the report of it.
type Damage<'a> = (
    &'a [&'a str],
    &'a [(&'a str, &'a str)],
    &'a str,
    [&'a str; 2],
);

/// The findings about the ledger.
fn ledger(output: &Output) -> Vec<String> {
    let findings: Vec<serde_json::Value> = must("JSON", serde_json::from_slice(&output.stdout));
    let of_ledger = findings.iter().filter(|one| one["check"] == "ledger");
    of_ledger
        .map(|one| text(&one["message"]).to_owned())
        .collect()
}

/// The findings: the check, its state, and the message.
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

/// The failed checks.
pub(crate) fn failed(output: &Output) -> Vec<(String, String)> {
    let of = findings(output).into_iter();
    of.filter(|(_, state, _)| state == "failed")
        .map(|(hop, _, sentence)| (hop, sentence))
        .collect()
}

/// The doctor's finding about an integration with this token URL and secret.
async fn of_tokens(server: &Server, url: &str, secret: &str) -> (String, String) {
    let variables = [
        ("OFFHOOK_HTTP__PUBLIC_URL", "https://offhook.example"),
        ("OFFHOOK_INTEGRATIONS__HUBSPOT__CLIENT_ID", CLIENT_ID),
        ("OFFHOOK_INTEGRATIONS__HUBSPOT__CLIENT_SECRET", secret),
        ("OFFHOOK_INTEGRATIONS__HUBSPOT__TOKEN_URL", url),
    ];
    let (state, sentence) = said(server, "integrations", &variables).await;
    assert!(!sentence.contains(UPSTREAM_WORDS), "{sentence}");
    assert!(!sentence.contains(secret), "{sentence}");
    (state, sentence)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_endpoint_that_knows_the_client_is_well_and_what_is_none_is_told() {
    let server = Server::start(Options::on(Database::Sqlite)).await;
    let fake = FakeCalendar::start().await;
    let base = fake.upstream.base_url();
    let url = format!("{base}{TOKEN_PATH}");
    let (state, sentence) = of_tokens(&server, &url, CLIENT_SECRET).await;
    assert_eq!(state, "ok", "{sentence}");
    let redirect = "https://offhook.example/portal/integrations/callback";
    assert!(sentence.ends_with(redirect), "{sentence}");
    let asked = fake.upstream.asked_of("POST", TOKEN_PATH);
    let form = asked[0].form();
    let names: Vec<&str> = form.iter().map(|(name, _)| name.as_str()).collect();
    let all = ["grant_type", "refresh_token", "client_id", "client_secret"];
    assert_eq!((asked.len(), names), (1, all.to_vec()));

    let (state, sentence) = of_tokens(&server, &url, "an0ther-s3cret").await;
    assert_eq!(state, "failed", "{sentence}");
    let both = "`integrations.hubspot.client_id` and `integrations.hubspot.client_secret`";
    assert!(sentence.contains(both), "{sentence}");

    for (fault, expected, told) in [
        (Fault::Status(404), "failed", "404, is no token endpoint"),
        (Fault::Status(302), "failed", "302, is no token endpoint"),
        (Fault::Unknown, "failed", "200, is no token endpoint"),
        (Fault::Malformed, "failed", "200, is no token endpoint"),
        (Fault::Close, "failed", "gives no answer"),
        (Fault::RetryAfter(429, 60), "warning", "HTTP status 429"),
        (Fault::Status(500), "warning", "HTTP status 500"),
    ] {
        fake.upstream.fail("POST", TOKEN_PATH, fault, 1);
        let (state, sentence) = of_tokens(&server, &url, CLIENT_SECRET).await;
        assert_eq!(state, expected, "{fault:?}: {sentence}");
        assert!(sentence.contains(told), "{fault:?}: {sentence}");
    }
    let page = format!("{base}/nowhere");
    let (state, sentence) = of_tokens(&server, &page, CLIENT_SECRET).await;
    assert_eq!(state, "failed", "{sentence}");
    let setting = "correct `integrations.hubspot.token_url`";
    assert!(sentence.contains(setting), "{sentence}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_endpoint_may_refuse_in_words_of_its_own() {
    let server = Server::start(Options::on(Database::Sqlite)).await;
    for (member, word, expected) in [
        ("status", "BAD_REFRESH_TOKEN", "ok"),
        ("error", "bad_refresh_token", "ok"),
        ("error", "invalid_request", "ok"),
        ("error", "invalid_refresh_token", "ok"),
        ("status", "BAD_CLIENT_SECRET", "failed"),
        ("error", "invalid_client_id", "failed"),
        ("error", "unauthorized_client", "failed"),
        ("status", "error", "failed"),
    ] {
        let words = json!({member: word, "message": UPSTREAM_WORDS});
        let fake = Upstream::start(move |_| Answer::json(400, &words)).await;
        let (state, sentence) = of_tokens(&server, &fake.base_url(), CLIENT_SECRET).await;
        assert_eq!(state, expected, "{word}: {sentence}");
        let is_client = sentence.contains("does not take this service's client");
        assert_eq!(is_client, expected == "failed" && word != "error", "{word}");
    }
}

both! {
    async fn a_whole_service_has_no_fault_and_a_call_leaves_no_trace(database: Database) {
        let (server, account) = Server::furnished(database).await;
        let egress = format!("http://localhost:{}/healthz", server.address().port());
        let output = server.run(&["doctor", "--json", "--egress", &egress]).await;
        let found = findings(&output);
        assert!(output.status.success(), "{found:?}");
        let hops: Vec<&str> = found.iter().map(|(hop, _, _)| hop.as_str()).collect();
        let all = [
            "configuration", "service", "database", "clock", "ledger", "retention", "redis", "objects", "disk", "carrier", "egress",
            "call",
        ];
        assert_eq!(hops, all);
        for (hop, state, sentence) in &found {
            // Test servers run without fsync, and the doctor reports it. The machine's disk may be
            // nearly full.
            let good = state == "ok"
                || (hop == "disk" && state == "warning" && sentence.contains("make room"))
                || (hop == "database" && sentence.contains("`fsync` is off"))
                || (hop == "carrier" && state == "warning" && sentence.contains("nobody's phone rings"));
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
                // The URL is already set.
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
        let output = server.run(&["health"]).await;
        assert!(output.status.success() && output.stdout == b"ok\n", "{output:?}");
        assert!(server.run(&["health", "--ready"]).await.status.success());
        server.signal("KILL").await;
        server.ended().await;
        let output = server.run(&["health"]).await;
        assert_eq!(output.status.code(), Some(1));
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(errors.contains("is `offhook serve` running with this --data-dir?"), "{errors}");
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
            write(&server, &account, damage).await;
            let output = server.run(&["doctor", "--books", "--json"]).await;
            assert_eq!(output.status.code(), Some(1), "{damage}");
            let books: serde_json::Value = must("JSON", serde_json::from_slice(&output.stdout));
            let faults: Vec<&str> = books["faults"].as_array().into_iter().flatten().map(text).collect();
            let all = faults.join("\n");
            assert!(all.starts_with(&format!("account {}: ", account.id)), "{all}");
            for part in said {
                assert!(all.contains(part), "{part}: {all}");
            }
            assert!(!all.contains(&whole.id), "{all}");
            if damage == DAMAGE[0].0 {
                // The full examination reports the same.
                let looked = server.run(&["doctor"]).await;
                assert_eq!(looked.status.code(), Some(1));
                let words = String::from_utf8_lossy(&looked.stdout).into_owned();
                let told: Vec<&str> = words
                    .lines()
                    .filter_map(|line| line.strip_prefix("failed  ledger: "))
                    .collect();
                assert_eq!(told, faults);
                let errors = String::from_utf8_lossy(&looked.stderr).into_owned();
                assert!(errors.contains("found"), "{errors}");
                let output = server.run(&["doctor", "--json"]).await;
                assert_eq!(output.status.code(), Some(1));
                assert_eq!(ledger(&output), told);
            }
            write(&server, &account, undo).await;
            assert_eq!(server.cli(&["doctor", "--books"]).await, json!({"faults": []}), "after: {undo}");
        }
        let output = server.run(&["doctor", "--json"]).await;
        assert_eq!(ledger(&output), [GOOD]);
        assert!(output.status.success());
    }
}
