//! Keys, scopes and plans.

use std::time::Duration;

use offhook_tests::{Answer, Options, Server, both, eventually};

fn assert_unauthorized(answer: &Answer) -> String {
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
