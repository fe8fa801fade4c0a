//! Keys, scopes and plans (interface, Authentication; decisions §3).

use std::time::Duration;

use offhook_domain::Timestamp;
use offhook_tests::{Account, Answer, Options, Server, both, eventually, unix_millis};
use serde_json::json;

/// Every endpoint that needs a scope, with an id that names nothing.
const ENDPOINTS: [(&str, &str, &str); 23] = [
    ("GET", "/v1/agents", "agents:read"),
    ("POST", "/v1/agents", "agents:write"),
    (
        "GET",
        "/v1/agents/0190163d-8694-739b-aea5-966c26f8ad91",
        "agents:read",
    ),
    (
        "PATCH",
        "/v1/agents/0190163d-8694-739b-aea5-966c26f8ad91",
        "agents:write",
    ),
    (
        "POST",
        "/v1/agents/0190163d-8694-739b-aea5-966c26f8ad91/publish",
        "agents:write",
    ),
    ("GET", "/v1/calls", "calls:read"),
    ("POST", "/v1/calls", "calls:write"),
    (
        "GET",
        "/v1/calls/call_0190163d-8694-739b-aea5-966c26f8ad91",
        "calls:read",
    ),
    (
        "POST",
        "/v1/calls/call_0190163d-8694-739b-aea5-966c26f8ad91/hangup",
        "calls:write",
    ),
    ("GET", "/v1/conversations", "conversations:read"),
    (
        "GET",
        "/v1/conversations/0190163d-8694-739b-aea5-966c26f8ad91",
        "conversations:read",
    ),
    (
        "GET",
        "/v1/conversations/0190163d-8694-739b-aea5-966c26f8ad91/turns",
        "conversations:read",
    ),
    (
        "GET",
        "/v1/conversations/0190163d-8694-739b-aea5-966c26f8ad91/events",
        "conversations:read",
    ),
    ("GET", "/v1/webhooks", "webhooks:read"),
    ("POST", "/v1/webhooks", "webhooks:write"),
    ("GET", "/v1/webhooks/events", "webhooks:read"),
    ("GET", "/v1/webhooks/deliveries", "webhooks:read"),
    (
        "PATCH",
        "/v1/webhooks/0190163d-8694-739b-aea5-966c26f8ad91",
        "webhooks:write",
    ),
    (
        "DELETE",
        "/v1/webhooks/0190163d-8694-739b-aea5-966c26f8ad91",
        "webhooks:write",
    ),
    (
        "POST",
        "/v1/webhooks/0190163d-8694-739b-aea5-966c26f8ad91/rotate-secret",
        "webhooks:write",
    ),
    (
        "POST",
        "/v1/webhooks/0190163d-8694-739b-aea5-966c26f8ad91/test",
        "webhooks:write",
    ),
    (
        "POST",
        "/v1/webhooks/0190163d-8694-739b-aea5-966c26f8ad91/recover",
        "webhooks:write",
    ),
    (
        "POST",
        "/v1/webhooks/deliveries/0190163d-8694-739b-aea5-966c26f8ad91/redeliver",
        "webhooks:write",
    ),
];

const SCOPES: [&str; 7] = [
    "agents:read",
    "agents:write",
    "calls:read",
    "calls:write",
    "conversations:read",
    "webhooks:read",
    "webhooks:write",
];

pub(crate) fn assert_unauthorized(answer: &Answer) -> String {
    for name in [
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
    ] {
        assert_eq!(answer.header(name), None, "{answer:?}");
    }
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    answer.assert_error(401, "unauthorized")
}

pub(crate) fn assert_counted(answer: &Answer) {
    let (limit, remaining) = (
        answer.number("x-ratelimit-limit"),
        answer.number("x-ratelimit-remaining"),
    );
    assert!((0..limit).contains(&remaining), "{answer:?}");
    let ahead = answer.number("x-ratelimit-reset") - offhook_tests::unix_seconds();
    assert!(
        (-1..=61).contains(&ahead),
        "the next token is {ahead} s away"
    );
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

both! {
    async fn a_request_without_a_good_key_is_401(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let bare = server.client();
        let unknown = format!("Bearer service_live_{}", "0".repeat(64));
        let mut message = None;
        for value in [
            "",
            "Bearer",
            "Bearer ",
            "Basic dXNlcjpwYXNz",
            "Bearer x",
            "Bearer service_live_00",
            &unknown,
            &account.token,
            &format!("Bearer{}", account.token),
            &format!("Bearer {}0", account.token),
            &format!("Bearer {}", account.token.to_uppercase()),
        ] {
            let answer = bare
                .get("/v1/me")
                .header("Authorization", value)
                .send()
                .await;
            let said = assert_unauthorized(&answer);
            // Nobody learns which keys exist.
            assert_eq!(*message.get_or_insert(said.clone()), said);
        }
        assert_unauthorized(&bare.get("/v1/calls").send().await);
        let twice = account
            .get("/v1/me")
            .header("Authorization", format!("Bearer {}", account.token));
        assert_unauthorized(&twice.send().await);
        for scheme in ["Bearer", "bearer", "BEARER", "bEaReR"] {
            let value = format!("{scheme} {}", account.token);
            bare.get("/v1/me")
                .header("Authorization", value)
                .send()
                .await
                .assert(200);
        }
    }

    async fn a_key_that_the_command_line_revokes_is_refused_at_once(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let other = server.key(&account.id, &["--scopes", "agents:read"]).await;
        account.read("/v1/me").await;
        let revoked = server.cli(&["key", "revoke", &account.key_id]).await;
        assert!(revoked["revoked_at"].is_string(), "{revoked}");
        assert_unauthorized(&account.get("/v1/me").send().await);
        other.read("/v1/me").await;
        let again = server.cli(&["key", "revoke", &account.key_id]).await;
        assert_eq!(again["revoked_at"], revoked["revoked_at"]);
    }

    async fn an_expired_key_is_refused(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let lasting = server
            .key(
                &account.id,
                &["--scopes", "all", "--expires-at", "2999-01-01"],
            )
            .await;
        let me = lasting.read("/v1/me").await;
        assert_eq!(me["key"]["expires_at"], "2999-01-01T00:00:00.000Z");
        let end = Timestamp::from_micros((unix_millis() + 2_000) * 1_000);
        let ending = server
            .key(
                &account.id,
                &["--scopes", "all", "--expires-at", &end.to_string()],
            )
            .await;
        let limit = Duration::from_secs(20);
        let refused = eventually("the key's end", limit, async || {
            let answer = ending.get("/v1/me").send().await;
            (answer.status == 401).then_some(answer)
        });
        assert_unauthorized(&refused.await);
        assert!(unix_millis() >= end.unix_millis(), "refused too early");
        let output = server
            .run(&["key", "create", "--account", &account.id, "--name", "x", "--scopes", "all", "--expires-at", "2020-01-01"])
            .await;
        assert!(!output.status.success());
        assert_eq!(
            String::from_utf8_lossy(&output.stderr),
            "error: --expires-at 2020-01-01T00:00:00.000Z has passed; name a time to come, or none for a key without an end\n"
        );
    }

    async fn me_tells_the_account_the_key_and_what_is_left(database: Database) {
        let server =
            Server::start(Options::on(database).default_of("plans.pro.requests_per_minute")).await;
        let account = server.account("pro").await;
        let narrow = ["--scopes", "calls:write,agents:read", "--read-only"];
        let key = server.key(&account.id, &narrow).await;
        let answer = key.get("/v1/me").send().await;
        let mut me = answer.assert(200);
        assert_counted(&answer);
        assert!(
            me["key"]["created_at"]
                .as_str()
                .is_some_and(|at| at.ends_with('Z')),
            "{me}"
        );
        me["key"]["created_at"] = json!(null);
        let expected = json!({
            "account": {"id": account.id, "name": "Acme", "plan": "pro"},
            "key": {
                "id": key.key_id,
                "name": "test",
                "prefix": &key.token[..21],
                "scopes": ["agents:read", "calls:write"],
                "read_only": true,
                "created_at": null,
                "expires_at": null,
                "last_used_at": null,
            },
            "rate_limit": {"requests_per_minute": 40, "remaining": 39},
            "live_calls": 0,
        });
        assert_eq!(me, expected);
        let listed = server.cli(&["key", "list", "--account", &account.id]).await;
        assert!(
            !listed.to_string().contains(&key.token),
            "a token is shown once"
        );
    }

    async fn every_endpoint_needs_exactly_its_scope(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let read_only = server
            .key(&account.id, &["--scopes", "all", "--read-only"])
            .await;
        let one: Vec<Account> = {
            let mut keys = Vec::new();
            for scope in SCOPES {
                keys.push(server.key(&account.id, &["--scopes", scope]).await);
            }
            keys
        };
        for (method, target, scope) in ENDPOINTS {
            let ask = |key: &Account| key.request(method, target).send();
            for (key, other) in one.iter().zip(SCOPES) {
                let answer = ask(key).await;
                if other == scope {
                    assert!(
                        ![401, 403].contains(&answer.status),
                        "{method} {target}: {answer:?}"
                    );
                } else {
                    let message = answer.assert_error(403, "insufficient_scope");
                    assert!(message.contains(scope), "{method} {target}: {message}");
                    assert_counted(&answer);
                }
            }
            let answer = ask(&read_only).await;
            if scope.ends_with(":write") {
                answer.assert_error(403, "forbidden");
            } else {
                assert_ne!(answer.status, 403, "{method} {target}: {answer:?}");
            }
        }
        for key in one.iter().chain([&read_only]) {
            key.read("/v1/me").await;
        }
    }

    async fn a_free_account_reads_me_alone(database: Database) {
        let server =
            Server::start(Options::on(database).default_of("plans.starter.requests_per_minute"))
                .await;
        let account = server.account("free").await;
        let me = account.read("/v1/me").await;
        assert_eq!(
            me["rate_limit"]["requests_per_minute"], 10,
            "the Starter bucket"
        );
        let answer = account.get("/v1/calls?limit=0").send().await;
        answer.assert_error(403, "plan_limit");
        assert_counted(&answer);
    }

    async fn the_last_use_of_a_key_is_written_down(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        account.read("/v1/me").await;
        eventually("a last use", Duration::from_secs(15), || async {
            let me = account.read("/v1/me").await;
            me["key"]["last_used_at"].as_str().map(str::to_owned)
        })
        .await;
        let keys = server.cli(&["key", "list", "--account", &account.id]).await;
        crate::calls::assert_timestamp(&keys[0]["last_used_at"]);
    }
}
