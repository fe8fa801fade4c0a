//! Bodies of agents that are refused (decisions 1.2, 1.3 and 6.2).

use offhook_tests::{Options, Server, both};
use serde_json::json;

use crate::agents::{draft, target};

both! {
    async fn every_fault_of_an_agent_s_body_is_named(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let create = |member: &str| format!(r#"{{"name":"a","language":"en",{member}}}"#);
        for (body, message) in [
            ("[]".to_owned(), ""),
            ("{}".to_owned(), "`name`: is required"),
            (
                r#"{"name":null,"language":"en"}"#.to_owned(),
                "`name`: is required",
            ),
            (
                r#"{"name":"","language":"en"}"#.to_owned(),
                "`name`: must not be empty",
            ),
            (
                r#"{"name":1,"language":"en"}"#.to_owned(),
                "`name`: must be a string",
            ),
            (
                format!(r#"{{"name":"{}","language":"en"}}"#, "ñ".repeat(121)),
                "`name`: longer than 120 characters",
            ),
            (r#"{"name":"a"}"#.to_owned(), "`language`: is required"),
            (
                r#"{"name":"a","language":"e n"}"#.to_owned(),
                "`language`: must be a BCP 47",
            ),
            (
                r#"{"name":"a","language":"en","runtime":"legacy"}"#.to_owned(),
                "`runtime`",
            ),
            (create(r#""colour":1"#), "`colour`: unknown field"),
            (create(r#""name":"b""#), "`name`: appears more than once"),
            (create(r#""config":[]"#), "`config`: must be an object"),
            (
                create(r#""config":{"prompt":"x"}"#),
                "`config.prompt`: unknown field",
            ),
            (
                create(r#""config":{"llm":{"temperature":2.1}}"#),
                "`config.llm.temperature`: must be a number from 0 to 2",
            ),
            (
                create(r#""config":{"llm":{"routing":"x"}}"#),
                "`config.llm.routing`: must be `fixed` or `fastest`",
            ),
            (
                create(r#""config":{"llm":{"provider":"nobody"}}"#),
                "`config.llm.provider`: must be one of",
            ),
            (
                create(r#""config":{"llm":{"provider":"scripted","model":"x"}}"#),
                "`config.llm.model`",
            ),
            (
                create(r#""config":{"llm":{"fallback":[{"provider":"scripted"}]}}"#),
                "`config.llm.fallback[0].model`: is required",
            ),
            (
                create(r#""config":{"llm":{"endpoint":"http://10.0.0.1/v1"}}"#),
                "`config.llm.endpoint`: must begin with https://",
            ),
            (
                create(r#""config":{"system_prompt":"a\u0000b"}"#),
                "`config.system_prompt`: must not contain U+0000",
            ),
            (
                create(r#""config":{"conversation":{"max_duration_s":9}}"#),
                "`config.conversation.max_duration_s`: must be an integer from 10 to 7200",
            ),
            (
                create(r#""config":{"conversation":{"turns":{"endpointing_ms":199}}}"#),
                "`config.conversation.turns.endpointing_ms`: must be an integer from 200 to 3000",
            ),
            (
                create(r#""config":{"conversation":{"turns":{"voicemail":"x"}}}"#),
                "`config.conversation.turns.voicemail`: must be `hang_up`, `leave_message` or `ignore`",
            ),
            (
                create(
                    r#""config":{"conversation":{"calling_hours":{"timezone":"Mars/X","days":[1],"start":"09:00","end":"10:00"}}}"#,
                ),
                "`config.conversation.calling_hours.timezone`",
            ),
            (
                create(
                    r#""config":{"conversation":{"calling_hours":{"timezone":"UTC","days":[0],"start":"09:00","end":"10:00"}}}"#,
                ),
                "`config.conversation.calling_hours.days[0]`",
            ),
            (
                create(r#""config":{"dynamic_variables":{"a b":{}}}"#),
                "`config.dynamic_variables",
            ),
        ] {
            let answer = account.post("/v1/agents", &body).send().await;
            let said = answer.assert_error(400, "invalid_body");
            assert!(said.starts_with(message), "{body}: {said}");
        }
        assert_eq!(account.read("/v1/agents").await["data"], json!([]));
    }

    async fn a_place_that_has_no_sound_and_a_rate_that_calls_do_not_carry_are_refused(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let agent = draft(&account).await;
        for (config, said) in [
            (
                json!({"conversation": {"audio": {"ambient": "beach"}}}),
                "`config.conversation.audio.ambient`: must be one of `office`, `cafe`, `street`",
            ),
            (
                json!({"voice": {"sample_rate": 16_000}}),
                "`config.voice.sample_rate`: not available yet: calls carry 8000 Hz; write 8000 or leave it out",
            ),
        ] {
            let answer = account
                .patch(&target(&agent), json!({"config": config}))
                .send()
                .await;
            assert_eq!(answer.assert_error(400, "invalid_body"), said);
        }
        assert_eq!(account.read(&target(&agent)).await, agent);
        let sounds = json!({"conversation": {"audio": {"ambient": "cafe"}, "recording": {"enabled": true}}});
        let changed = account.patch(&target(&agent), json!({"config": sounds}));
        let changed = changed.send().await.assert(200);
        assert_eq!(changed["config"]["conversation"]["audio"]["ambient"], "cafe");
        assert_eq!(changed["config"]["conversation"]["recording"]["enabled"], true);
    }

    async fn members_that_are_read_only_or_may_not_be_null_are_refused_by_name(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let agent = draft(&account).await;
        for field in [
            "id",
            "runtime",
            "created_at",
            "updated_at",
            "phone_numbers",
            "current_version",
            "published_version",
        ] {
            let answer = account
                .patch(&target(&agent), json!({field: agent[field]}))
                .send()
                .await;
            let said = answer.assert_error(400, "invalid_body");
            assert!(said.starts_with(&format!("`{field}`: ")), "{said}");
        }
        for field in ["name", "language", "status", "config"] {
            let answer = account
                .patch(&target(&agent), json!({field: null}))
                .send()
                .await;
            assert_eq!(
                answer.assert_error(400, "invalid_body"),
                format!("`{field}`: must not be null")
            );
        }
        let nothing = account
            .patch(&target(&agent), "{}")
            .send()
            .await
            .assert(200);
        assert_eq!(nothing, agent);
    }
}
