//! Agents: bodies, versions, publishing.

use offhook_tests::{Account, Server, both, text};
use serde_json::{Value, json};

/// A configuration with every default filled in.
fn full_config(version: i64) -> Value {
    json!({
        "version": version,
        "system_prompt": "You confirm appointments.",
        "first_message": "Hola, habla Sofía.",
        "language": "es-MX",
        "llm": {
            "provider": "scripted",
            "model": "scripted",
            "temperature": 0.7,
            "routing": "fixed",
            "fallback": [],
            "endpoint": null,
        },
        "stt": {"provider": null, "model": null, "language": null, "settings": {}, "sample_rate": null},
        "voice": {
            "provider": null,
            "model": null,
            "voice_id": null,
            "language": null,
            "fallback_voices": {},
            "settings": {},
            "sample_rate": null,
        },
        "knowledge_base": {"doc_ids": [], "folder_ids": [], "mode": "off", "top_k": 4},
        "dynamic_variables": {"lead_name": {"default": "friend"}},
        "conversation": {
            "max_duration_s": 600,
            "recording": {"enabled": false, "consent_text": null},
            "turns": {
                "endpointing_ms": 700,
                "interruptions": true,
                "silence_timeout_s": 20,
                "voicemail": "hang_up",
            },
            "audio": {"ambient": null, "speed": 1},
            "pronunciation": [],
            "calling_hours": null,
        },
        "tool_ids": [],
    })
}

fn sent_config() -> Value {
    json!({
        "system_prompt": "You confirm appointments.",
        "first_message": "Hola, habla Sofía.",
        "llm": {"provider": "scripted", "model": "scripted"},
        "dynamic_variables": {"lead_name": {"default": "friend"}},
    })
}

pub(crate) async fn draft(account: &Account) -> Value {
    let body = json!({"name": "Sofía", "language": "es-MX", "config": sent_config()});
    account.post("/v1/agents", body).await.assert(201)
}

pub(crate) fn target(agent: &Value) -> String {
    format!("/v1/agents/{}", text(&agent["id"]))
}

/// The agent without what the moment of its making decides.
fn timeless(agent: &Value) -> Value {
    let mut agent = agent.clone();
    for field in ["id", "created_at", "updated_at"] {
        let value = text(&agent[field]);
        let well_formed = match field {
            "id" => value.len() == 36 && value.as_bytes()[14] == b'7',
            _ => value.len() == 24 && value.ends_with('Z'),
        };
        assert!(well_formed, "{field}: {value}");
        agent[field] = json!(null);
    }
    agent
}

fn published(config: Value) -> Value {
    json!({
        "id": null,
        "runtime": "engine",
        "name": "Sofía",
        "status": "draft",
        "language": "es-MX",
        "created_at": null,
        "updated_at": null,
        "phone_numbers": [],
        "config": config,
        "current_version": 1,
        "published_version": 0,
    })
}

both! {
    async fn an_agent_shows_every_field_of_the_table(database: Database) {
        let (_server, account) = Server::furnished(database).await;
        let made = draft(&account).await;
        assert_eq!(timeless(&made), published(full_config(1)));
        assert_eq!(made["created_at"], made["updated_at"]);
        assert_eq!(account.read(&target(&made)).await, made);
        let members = |value: &Value| -> Vec<String> {
            value
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, _)| name.clone())
                .collect()
        };
        assert_eq!(members(&made["config"]), members(&full_config(1)), "in the table's order");
        let bare = account
            .post("/v1/agents", r#"{"name":"Eva","language":"en"}"#)
            .await
            .assert(201);
        let expected = json!({
            "id": null, "runtime": "engine", "name": "Eva", "status": "draft", "language": "en",
            "created_at": null, "updated_at": null, "phone_numbers": [], "config": null,
            "current_version": 0, "published_version": 0,
        });
        assert_eq!(timeless(&bare), expected);
        assert_eq!(account.read(&target(&bare)).await, bare);
    }

    async fn a_patch_of_the_configuration_is_merged_and_saves_the_next_version(database: Database) {
        let (_server, account) = Server::furnished(database).await;
        let made = draft(&account).await;
        let target = target(&made);
        let patch = json!({"config": {
            "first_message": null,
            "llm": {"temperature": 0.2},
            "dynamic_variables": {"lead_name": null, "city": {"default": 7}},
            "conversation": {"turns": {"endpointing_ms": 900}},
        }});
        let patched = account.patch(&target, patch).await.assert(200);
        let mut expected = full_config(2);
        expected["first_message"] = json!("");
        expected["llm"]["temperature"] = json!(0.2);
        expected["dynamic_variables"] = json!({"city": {"default": 7}});
        expected["conversation"]["turns"]["endpointing_ms"] = json!(900);
        assert_eq!(patched["config"], expected);
        assert_eq!(patched["current_version"], 2);
        assert_eq!(patched["published_version"], 0);
        // What changes nothing saves nothing.
        let same = account
            .patch(&target, json!({"config": {"llm": {"temperature": 0.2}}}))
            .await
            .assert(200);
        assert_eq!(same["current_version"], 2);
        assert_eq!(same["updated_at"], patched["updated_at"]);
        let language = account.patch(&target, r#"{"config":{"language":"en-US"}}"#);
        let language = language.await.assert(200);
        assert_eq!(language["language"], "en-US");
        assert_eq!(language["config"]["language"], "en-US");
        let language = account.patch(&target, r#"{"language":"fr"}"#).await;
        let language = language.assert(200);
        assert_eq!(language["config"]["language"], "fr");
        assert_eq!(language["current_version"], 4);
        let name = account.patch(&target, r#"{"name":"Eva"}"#).await;
        let name = name.assert(200);
        assert_eq!(name["name"], "Eva");
        assert_eq!(name["current_version"], 4);
    }

    async fn a_stale_version_is_a_conflict(database: Database) {
        let (_server, account) = Server::furnished(database).await;
        let made = draft(&account).await;
        let target = target(&made);
        let change =
            |version: Value| json!({"config": {"first_message": "x"}, "expected_version": version});
        for stale in [0, 2] {
            let answer = account.patch(&target, change(json!(stale))).await;
            let message = answer.assert_error(409, "conflict");
            assert!(message.contains("`expected_version`"), "{message}");
            assert_eq!(answer.header("retry-after"), None, "waiting cures nothing");
        }
        account.patch(&target, change(json!(1))).await.assert(200);
        let by_config = account
            .patch(&target, r#"{"config":{"version":1,"first_message":"y"}}"#)
            .await;
        assert!(by_config.assert_error(409, "conflict").contains("`config.version`"));
        account.patch(&target, r#"{"config":{"version":2,"first_message":"y"}}"#).await.assert(200);
        // Of parallel changes on one version exactly one is made.
        let all: Vec<_> = (0..8)
            .map(|n| {
                let body =
                    json!({"config": {"first_message": format!("{n}")}, "expected_version": 3});
                tokio::spawn(account.patch(&target, body).send())
            })
            .collect();
        let mut made = 0;
        for one in all {
            match offhook_tests::must("an answer", one.await).status {
                200 => made += 1,
                status => assert_eq!(status, 409),
            }
        }
        assert_eq!(made, 1);
        assert_eq!(account.read(&target).await["current_version"], 4);
    }

    async fn what_cannot_hold_a_call_is_not_published(database: Database) {
        let (_server, account) = Server::furnished(database).await;
        for (config, field) in [
            (
                json!({"llm": {"provider": "scripted", "model": "scripted"}}),
                "`config.system_prompt`",
            ),
            (json!({"system_prompt": "x"}), "`config.llm.provider`"),
            (json!({"system_prompt": "x", "llm": {"provider": "scripted"}}), "`config.llm.model`"),
            (
                json!({"system_prompt": "x", "llm": {"provider": "custom", "model": "m"}}),
                "`config.llm.endpoint`",
            ),
            (
                json!({"system_prompt": "x", "llm": {"provider": "openai", "model": "gpt-4.1"}}),
                "`config.llm.provider`",
            ),
        ] {
            let body = json!({"name": "a", "language": "en", "config": config});
            let agent = account.post("/v1/agents", body).await.assert(201);
            let publish = account.post(&format!("{}/publish", target(&agent)), "{}").await;
            let message = publish.assert_error(409, "conflict");
            assert!(message.contains(field), "{field}: {message}");
            assert_eq!(account.read(&target(&agent)).await, agent, "nothing changed");
        }
        let bare = account.post("/v1/agents", r#"{"name":"a","language":"en"}"#).await.assert(201);
        let publish = account.post(&format!("{}/publish", target(&bare)), "{}").await;
        publish.assert_error(409, "conflict");
    }
}
