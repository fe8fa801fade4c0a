//! Webhook endpoints (decision 6.8).

use offhook_tests::{Account, Options, Server, both, text};
use serde_json::{Value, json};

use crate::calls::assert_timestamp;

async fn create(account: &Account, url: &str) -> Value {
    account
        .post("/v1/webhooks", json!({"url": url, "description": "orders"}))
        .send()
        .await
        .assert(201)
}

fn target(endpoint: &Value) -> String {
    format!("/v1/webhooks/{}", text(&endpoint["id"]))
}

fn without_secret(endpoint: &Value) -> Value {
    let mut endpoint = endpoint.clone();
    if let Some(members) = endpoint.as_object_mut() {
        members.shift_remove("secret");
    }
    endpoint
}

both! {
    async fn an_endpoint_lives_from_its_creation_to_its_deletion(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let made = create(&account, "http://localhost:9/hooks").await;
        let secret = text(&made["secret"]);
        assert!(
            secret.starts_with("whsec_") && secret.len() == 49,
            "{secret}"
        );
        assert_timestamp(&made["created_at"]);
        let expected = json!({
            "id": made["id"],
            "url": "http://localhost:9/hooks",
            "description": "orders",
            "status": "enabled",
            "disabled_reason": null,
            "secret_prefix": made["secret_prefix"],
            "created_at": made["created_at"],
            "updated_at": made["created_at"],
            "secret": secret,
        });
        assert_eq!(made, expected);
        assert!(secret.starts_with(text(&made["secret_prefix"])));
        // The secret is shown this once.
        let shown = without_secret(&made);
        assert_eq!(account.read(&target(&made)).await, shown);
        let list = account.read("/v1/webhooks").await;
        assert_eq!(
            list,
            json!({"data": [shown], "has_more": false, "next_cursor": null})
        );
        let patch =
            json!({"url": "http://localhost:9/other", "description": null, "status": "disabled"});
        let patched = account
            .patch(&target(&made), patch)
            .send()
            .await
            .assert(200);
        let mut expected = shown.clone();
        expected["url"] = json!("http://localhost:9/other");
        expected["description"] = json!(null);
        expected["status"] = json!("disabled");
        expected["updated_at"] = patched["updated_at"].clone();
        expected["disabled_reason"] = patched["disabled_reason"].clone();
        assert_eq!(patched, expected);
        let enabled = account
            .patch(&target(&made), r#"{"status":"enabled"}"#)
            .send()
            .await
            .assert(200);
        assert_eq!(
            (&enabled["status"], &enabled["disabled_reason"]),
            (&json!("enabled"), &json!(null))
        );
        let deleted = account.delete(&target(&made)).send().await.assert(200);
        assert_eq!(deleted, json!({"id": made["id"], "deleted": true}));
        account
            .get(&target(&made))
            .send()
            .await
            .assert_error(404, "not_found");
        account
            .delete(&target(&made))
            .send()
            .await
            .assert_error(404, "not_found");
        assert_eq!(account.read("/v1/webhooks").await["data"], json!([]));
    }

    async fn every_fault_of_an_endpoint_s_body_is_named(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let made = create(&account, "http://localhost:9/").await;
        for (body, message) in [
            ("{}", "`url`: is required"),
            (r#"{"url":null}"#, "`url`: is required"),
            (r#"{"url":1}"#, "`url`: must be a string"),
            (r#"{"url":"hooks"}"#, "`url`: must be a whole URL"),
            (
                r#"{"url":"ftp://example.com/"}"#,
                "`url`: must begin with https://",
            ),
            (
                r#"{"url":"https://a:b@example.com/"}"#,
                "`url`: must not contain a user name or password",
            ),
            (
                r##"{"url":"https://example.com/#x"}"##,
                "`url`: must not have a fragment",
            ),
            (
                r#"{"url":"https://example.com/ x"}"#,
                "`url`: must not contain spaces",
            ),
            (
                r#"{"url":"https://example.com","description":1}"#,
                "`description`: must be a string",
            ),
            (
                r#"{"url":"https://example.com","events":[]}"#,
                "`events`: unknown field",
            ),
            (
                r#"{"url":"https://example.com","url":"https://example.com"}"#,
                "`url`: appears more than once",
            ),
        ] {
            let answer = account.post("/v1/webhooks", body).send().await;
            let said = answer.assert_error(400, "invalid_body");
            assert!(said.starts_with(message), "{body}: {said}");
        }
        for (body, message) in [
            (r#"{"url":null}"#, "`url`: must not be null"),
            (r#"{"status":null}"#, "`status`: must not be null"),
            (
                r#"{"status":"off"}"#,
                "`status`: must be `enabled` or `disabled`",
            ),
            (r#"{"secret":"x"}"#, "`secret`: unknown field"),
        ] {
            let said = account
                .patch(&target(&made), body)
                .send()
                .await
                .assert_error(400, "invalid_body");
            assert_eq!(said, message);
        }
        for (action, body, message) in [
            (
                "rotate-secret",
                r#"{"overlap_hours":169}"#,
                "`overlap_hours`: must be an integer from 0 to 168",
            ),
            (
                "rotate-secret",
                r#"{"overlap_hours":-1}"#,
                "`overlap_hours`: must be an integer from 0 to 168",
            ),
            (
                "test",
                r#"{"type":"call.lost"}"#,
                "`type`: must be `call.initiated`, `call.completed` or `call.failed`",
            ),
            ("recover", "{}", "`since`: is required"),
            (
                "recover",
                r#"{"since":"yesterday"}"#,
                "`since`: must be an ISO 8601 date or datetime",
            ),
            (
                "recover",
                r#"{"since":"2020-01-01"}"#,
                "`since`: must be within the last 14 days",
            ),
        ] {
            let answer = account
                .post(&format!("{}/{action}", target(&made)), body)
                .send()
                .await;
            let said = answer.assert_error(400, "invalid_body");
            assert!(said.starts_with(message), "{action} {body}: {said}");
        }
    }

    async fn without_private_targets_only_public_https_urls_are_taken(database: Database) {
        let server =
            Server::start(Options::on(database).default_of("webhooks.allow_private_targets")).await;
        let account = server.account("scale").await;
        for url in [
            "http://example.com/",
            "https://localhost/",
            "https://hooks.localhost/",
            "https://printer.local/",
            "https://metadata.google.internal/",
            "https://127.0.0.1/",
            "https://127.1/",
            "https://0x7f.1/",
            "https://2130706433/",
            "https://10.0.0.1/",
            "https://169.254.169.254/latest/meta-data",
            "https://8.8.8.8/",
            "https://[::1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://[64:ff9b::7f00:1]/",
            "https://[2606:4700::1111]/",
            "https://example.com:25/",
            "https://example.com:1023/",
            "https://user@example.com/",
            "https://example.com/#fragment",
            "https://intranet/",
            "https://example.com./",
            &format!("https://example.com/{}", "x".repeat(2_040)),
        ] {
            let answer = account
                .post("/v1/webhooks", json!({"url": url}))
                .send()
                .await;
            let said = answer.assert_error(400, "invalid_body");
            assert!(said.starts_with("`url`: "), "{url}: {said}");
        }
        for url in [
            "https://example.com/hooks?a=b",
            "https://EXAMPLE.com:8443",
            "https://example.com:443/",
            "https://xn--bcher-kva.example/",
        ] {
            create(&account, url).await;
        }
    }

    async fn an_account_has_at_most_20_endpoints(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let (account, other) = (server.account("scale").await, server.account("scale").await);
        // In parallel, so that no two pass the check at once.
        let all: Vec<_> = (0..25)
            .map(|n| {
                tokio::spawn(
                    account
                        .post(
                            "/v1/webhooks",
                            json!({"url": format!("http://localhost:9/{n}")}),
                        )
                        .send(),
                )
            })
            .collect();
        let mut statuses = Vec::new();
        for one in all {
            statuses.push(offhook_tests::must("an answer", one.await).status);
        }
        statuses.sort_unstable();
        assert_eq!(statuses, [[201; 20].as_slice(), &[409; 5]].concat());
        create(&other, "http://localhost:9/").await;
        let page = account.read("/v1/webhooks?limit=100").await;
        assert_eq!(page["data"].as_array().map(Vec::len), Some(20));
        account
            .delete(&target(&page["data"][7]))
            .send()
            .await
            .assert(200);
        create(&account, "http://localhost:9/").await;
        let full = account
            .post("/v1/webhooks", json!({"url": "http://localhost:9/"}))
            .send()
            .await;
        full.assert_error(409, "conflict");
    }

    async fn the_event_catalog_shows_each_type_with_an_example(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let list = account.read("/v1/webhooks/events").await;
        let data = list["data"].as_array().cloned().unwrap_or_default();
        let types: Vec<_> = data.iter().map(|item| text(&item["type"])).collect();
        assert_eq!(types, ["call.initiated", "call.completed", "call.failed"]);
        for item in &data {
            let example = &item["example"];
            assert_eq!(example["type"], item["type"]);
            let members: Vec<_> = example
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, _)| name.as_str())
                .collect();
            assert_eq!(members, ["id", "type", "created_at", "data"]);
            assert!(!text(&item["description"]).is_empty());
        }
    }
}
