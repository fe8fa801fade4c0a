//! `/v1/agents`.

use std::time::Duration;

use offhook_domain::{Clock, Json};
use offhook_providers::ProviderSettings;
use serde_json::json;

use crate::it::app::{CUSTOMER, TestApp, members, text};
use crate::it::client::must;

const LISTED: &str = "id runtime name status language created_at updated_at phone_numbers \
    current_version published_version";

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_drafted_changed_and_published() {
    let app = TestApp::start().await;
    let body = json!({"name": "Sofía", "language": "es-MX"});
    let drafted = app.post("/v1/agents", body).await.assert(201);
    let with_config = LISTED.replace("phone_numbers", "phone_numbers config");
    assert_eq!(members(&drafted), with_config);
    let now = app.clock.now().to_string();
    let expected = json!({
        "id": drafted["id"], "runtime": "engine", "name": "Sofía", "status": "draft",
        "language": "es-MX", "created_at": now, "updated_at": now, "phone_numbers": [],
        "config": null, "current_version": 0, "published_version": 0,
    });
    assert_eq!(drafted, expected);
    let target = format!("/v1/agents/{}", text(&drafted["id"]));
    assert_eq!(app.read(&target).await, drafted);

    let config = json!({"config": {
        "system_prompt": "You are brief.",
        "llm": {"provider": "scripted", "model": "scripted"},
    }});
    let changed = app.patch(&target, config).await.assert(200);
    assert_eq!(changed["current_version"], 1);
    let sections = "version system_prompt first_message language llm stt voice knowledge_base \
                    dynamic_variables conversation tool_ids";
    assert_eq!(members(&changed["config"]), sections);
    assert_eq!(changed["config"]["version"], 1);
    let published = app.post(&format!("{target}/publish"), "{}").await;
    let published = published.assert(200);
    assert_eq!(published["status"], "active");
    assert_eq!(published["published_version"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_made_on_the_newest_version_and_saves_the_next_one() {
    let app = TestApp::start().await;
    let target = format!("/v1/agents/{}", app.agent().await);
    let patch = |body: serde_json::Value| app.patch(&target, body);
    for (stale, field) in [
        (
            json!({"name": "Ana", "expected_version": 0}),
            "`expected_version`",
        ),
        (
            json!({"name": "Ana", "expected_version": 2}),
            "`expected_version`",
        ),
        (
            json!({"config": {"version": 2, "first_message": "x"}}),
            "`config.version`",
        ),
    ] {
        let stale = patch(stale).await;
        let message = stale.assert_error(409, "conflict");
        assert!(message.contains(field), "{message}");
        assert_eq!(stale.header("retry-after"), None, "waiting cures nothing");
    }
    let change = json!({
        "config": {"first_message": null, "dynamic_variables": {"city": {"default": 7}}},
        "expected_version": 1,
    });
    let changed = patch(change.clone()).await.assert(200);
    assert_eq!(changed["current_version"], 2);
    assert_eq!(changed["config"]["first_message"], "");
    let variables = &changed["config"]["dynamic_variables"];
    assert_eq!(variables, &json!({"city": {"default": 7}}));
    app.clock.advance(Duration::from_secs(1));
    let same = patch(json!({"config": change["config"]})).await.assert(200);
    assert_eq!(same, changed, "what changes nothing saves nothing");
    // The agent's language is its configuration's, whichever of the two is set.
    for (body, language, version) in [
        (json!({"config": {"language": "en-US"}}), "en-US", 3),
        (json!({"language": "fr"}), "fr", 4),
        (json!({"name": "Eva"}), "fr", 4),
    ] {
        let changed = patch(body).await.assert(200);
        let shown = [&changed["language"], &changed["config"]["language"]];
        assert_eq!(shown, [language; 2]);
        assert_eq!(changed["current_version"], version);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_hold_a_call_is_not_published() {
    let app = TestApp::start().await;
    for (config, field) in [
        (json!({"system_prompt": "x"}), "`config.llm.provider`"),
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
        let agent = app.post("/v1/agents", body).await.assert(201);
        let target = format!("/v1/agents/{}", text(&agent["id"]));
        let publish = app.post(&format!("{target}/publish"), "{}").await;
        let message = publish.assert_error(409, "conflict");
        assert!(message.contains(field), "{field}: {message}");
        assert_eq!(app.read(&target).await, agent, "nothing changed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_speaks_with_a_listed_voice() {
    let app = TestApp::start().await;
    let listed = app.read("/v1/voices?limit=1").await;
    let (provider, id) = (
        &listed["data"][0]["provider"],
        &listed["data"][0]["voice_id"],
    );
    let voice = json!({"provider": provider, "voice_id": id});
    let config = json!({
        "system_prompt": "You are brief.",
        "llm": {"provider": "scripted", "model": "scripted"},
        "voice": voice,
    });
    let body = json!({"name": "Sofía", "language": "es-MX", "config": config});
    let drafted = app.post("/v1/agents", body).await.assert(201);
    let target = format!("/v1/agents/{}", text(&drafted["id"]));
    let shown = app.read(&target).await;
    assert_eq!(&shown["config"]["voice"]["provider"], provider);
    assert_eq!(&shown["config"]["voice"]["voice_id"], id);
    let publish = || app.post(&format!("{target}/publish"), "{}");
    publish().await.assert(200);

    let cases = [
        (json!({"voice_id": "gone"}), "`config.voice.voice_id`"),
        (json!({"provider": null}), "`config.voice.provider`"),
        (
            json!({"provider": provider, "voice_id": null}),
            "`config.voice.voice_id`",
        ),
    ];
    for (change, field) in cases {
        let change = json!({"config": {"voice": change}});
        app.patch(&target, change).await.assert(200);
        let message = publish().await.assert_error(409, "conflict");
        assert!(message.starts_with(field), "{message}");
    }
    let nobodys = json!({"config": {"voice": {"provider": "provider_d"}}});
    let message = app.patch(&target, nobodys).await;
    let message = message.assert_error(400, "invalid_body");
    assert!(message.starts_with("`config.voice.provider`"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archived_agent_changes_only_by_being_restored() {
    let app = TestApp::start().await;
    let target = format!("/v1/agents/{}", app.agent().await);
    app.delete(&target).await.assert(200);
    let patch = |body: serde_json::Value| app.patch(&target, body);
    for body in [
        json!({"name": "Ana"}),
        json!({"language": "de"}),
        json!({"config": {"first_message": "Hi."}}),
        json!({"name": "Ana", "status": "archived"}),
        json!({"status": "active"}),
    ] {
        patch(body).await.assert_error(409, "conflict");
    }
    let publish = app.post(&format!("{target}/publish"), "{}").await;
    publish.assert_error(409, "conflict");
    let schema = app.request("PUT", &format!("{target}/analysis-schema"));
    let schema = schema.json(json!({"schema": null})).await;
    schema.assert_error(409, "conflict");
    let restored = patch(json!({"name": "Ana", "status": "paused"})).await;
    let restored = restored.assert(200);
    assert_eq!(restored["name"], "Ana");
    assert_eq!(restored["status"], "paused");
    let published = app.post(&format!("{target}/publish"), "{}").await;
    assert_eq!(published.assert(200)["status"], "paused");
    let active = patch(json!({"status": "active"})).await;
    assert_eq!(active.assert(200)["status"], "active");
    for status in ["draft", "error"] {
        let message = patch(json!({"status": status})).await;
        let message = message.assert_error(409, "conflict");
        assert!(message.contains("`status`"), "{message}");
    }
    let wrong = patch(json!({"status": "asleep"})).await;
    let wrong = wrong.assert_error(400, "invalid_body");
    assert!(wrong.starts_with("`status`: must be `draft`"), "{wrong}");
    let archived = patch(json!({"status": "archived"})).await;
    assert_eq!(archived.assert(200)["status"], "archived");
    let message = patch(json!({"name": "Eva", "expected_version": null})).await;
    message.assert_error(400, "invalid_body");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_names_may_go_and_is_in_no_later_changes_way() {
    let app = TestApp::start().await;
    let folder = app.post("/v1/knowledge/folders", json!({"name": "Menu"}));
    let folder = text(&folder.await.assert(201)["id"]);
    let target = format!("/v1/agents/{}", app.agent().await);
    let names = json!({"config": {"knowledge_base": {"folder_ids": [folder]}}});
    app.patch(&target, names).await.assert(200);
    let gone = format!("/v1/knowledge/folders/{folder}");
    app.delete(&gone).await.assert(200);
    let other = json!({"config": {"first_message": "Good day."}});
    let changed = app.patch(&target, other).await.assert(200);
    let expected = json!([folder]);
    assert_eq!(changed["config"]["knowledge_base"]["folder_ids"], expected);
    let answer = app.post(&format!("{target}/publish"), "{}").await;
    answer.assert(200);
    let again = json!({"name": "Eva", "language": "en", "config": {"knowledge_base": {"folder_ids": [folder]}}});
    let again = app.post("/v1/agents", again).await;
    again.assert_error(400, "invalid_body");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_without_any_model_to_ask_is_in_error_until_there_is_one() {
    let app = TestApp::start().await;
    let local = ProviderSettings {
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        api_key: None,
    };
    let elsewhere = app.beside_with(vec![("local".to_owned(), local)], Vec::new(), false);
    let agent = |fallback: serde_json::Value| {
        json!({"name": "Sofía", "language": "es-MX", "config": {
            "system_prompt": "You are brief.",
            "llm": {"provider": "local", "model": "m", "fallback": fallback},
        }})
    };
    let scripted = json!([{"provider": "scripted", "model": "scripted"}]);
    let mut targets = Vec::new();
    for fallback in [json!([]), scripted] {
        let made = app.post("/v1/agents", agent(fallback)).await.assert(201);
        let refused = app.post(&format!("/v1/agents/{}/publish", text(&made["id"])), "{}");
        refused.await.assert_error(409, "conflict");
        let (id, all) = (must(text(&made["id"]).parse()), must(Json::parse(b"{}")));
        let published = elsewhere.agents().publish(app.account, id, &all);
        must(published.await);
        targets.push(format!("/v1/agents/{}", text(&made["id"])));
    }
    assert_eq!(must(elsewhere.agents().judge().await), 0);
    assert_eq!(must(app.services.agents().judge().await), 1);
    let broken = app.read(&targets[0]).await;
    assert_eq!(broken["status"], "error");
    let helped = app.read(&targets[1]).await;
    assert_eq!(helped["status"], "active", "a fallback can be asked");
    let call = json!({"agent_id": broken["id"], "to": CUSTOMER});
    let refused = app.post("/v1/calls", call).await;
    refused.assert_error(403, "agent_disabled");
    for status in ["active", "paused"] {
        let change = app.patch(&targets[0], json!({"status": status}));
        change.await.assert_error(409, "conflict");
    }
    assert_eq!(must(app.services.agents().judge().await), 0);
    assert_eq!(must(elsewhere.agents().judge().await), 1);
    let healed = app.read(&targets[0]).await;
    assert_eq!(healed["status"], "active");
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_are_listed_newest_first_by_the_filters() {
    let app = TestApp::start().await;
    for name in ["Ana", "Bea", "Änne"] {
        let body = json!({"name": name, "language": "en"});
        app.post("/v1/agents", body).await.assert(201);
        app.clock.advance(Duration::from_millis(1));
    }
    let list = app.read("/v1/agents").await;
    assert_eq!(members(&list), "data has_more next_cursor");
    assert_eq!(members(&list["data"][0]), LISTED);
    let names = |list: &serde_json::Value| -> Vec<String> {
        let items = list["data"].as_array().into_iter().flatten();
        items.map(|agent| text(&agent["name"])).collect()
    };
    assert_eq!(names(&list), ["Änne", "Bea", "Ana"]);
    let filtered = app
        .get("/v1/agents?q=%C3%84N&status=draft&runtime=engine")
        .await;
    assert_eq!(names(&filtered.assert(200)), ["Änne"]);
    let none = app.read("/v1/agents?runtime=legacy").await;
    let expected = json!({"data": [], "has_more": false, "next_cursor": null});
    assert_eq!(none, expected);
    let cases = [
        ("runtime=x", "`runtime`"),
        ("status=x", "`status`"),
        ("status=", "`status`"),
        ("q=%00", "`q`"),
        ("q=a&q=b", "`q`"),
        ("page=2", "`page`"),
    ];
    app.refuses_queries("/v1/agents", &cases).await;
}
