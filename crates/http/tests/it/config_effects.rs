//! Every field of an agent's configuration has an effect in a conversation, or is refused at save. The fields are
//! those that the service prints: a new one without a row in one of the tables fails.

mod model;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use offhook_providers::ProviderSettings;
use serde_json::{Value, json};

use crate::it::app::{CUSTOMER, Setup, TestApp, text};
use crate::it::knowledge::{DOCUMENTS, FOLDERS, read};
use model::Model;

const MACHINE: &str = "+15005550004";
const INTERRUPTS: &str = "+15005550009";
const SILENT: &str = "+15005550010";

/// Callees a hundred times faster than real ones; a call's maximum duration is not divided by it.
const FAST: f64 = 100.0;
const SLOW: f64 = 5.0;

/// A call with a certain configuration.
struct Made {
    call: Value,
    /// `agent` and its words; ` --` marks an interruption.
    said: Vec<String>,
    took: Duration,
    /// The reply requests to the model on loopback, if the configuration named one of its models.
    asked: Vec<Value>,
}

impl Made {
    fn says(&self, words: &str) -> bool {
        self.said.iter().any(|said| said == words)
    }

    /// Whether each reply request satisfies `with`.
    fn was_asked(&self, with: impl Fn(&Value) -> bool) -> bool {
        !self.asked.is_empty() && self.asked.iter().all(with)
    }

    /// How many document passages the first request contained.
    fn shown(&self) -> usize {
        let first = self.asked.first();
        first.map_or(0, |body| {
            body["messages"].to_string().matches("[About]").count()
        })
    }
}

type Effect = fn(&Made) -> bool;

/// The account's resources that a configuration can name.
struct Names {
    /// A tool that ends the call.
    bye: Value,
    /// A document with many passages about the customer's words.
    document: Value,
    /// A folder with that document in it.
    folder: Value,
    /// An address of the model on loopback.
    endpoint: String,
}

/// A field, its value, the number to call, and the effect.
fn cases(names: &Names) -> Vec<(&'static str, Value, &'static str, Effect)> {
    let turns = |turns: Value| json!({"conversation": {"turns": turns}});
    let talking = |interruptions: bool| {
        let prompt = format!("say: {}.", ["so much to say"; 15].join(", "));
        json!({"system_prompt": prompt, "conversation": {"turns": {"interruptions": interruptions}}})
    };
    let openai = json!({"provider": "openai", "model": "gpt-4.1"});
    let scripted = json!([{"provider": "scripted", "model": "scripted"}]);
    let local = |model: &str| json!({"provider": "local", "model": model});
    let knowing =
        |model: &str, knowledge: Value| json!({"llm": local(model), "knowledge_base": knowledge});
    let documents = json!([names.document]);
    vec![
        (
            "system_prompt",
            json!({"system_prompt": "say: Alpha."}),
            CUSTOMER,
            |made| made.says("Alpha.") && !made.says("Beta."),
        ),
        (
            "first_message",
            json!({"first_message": "Good day."}),
            CUSTOMER,
            |made| made.said[0] == "Good day.",
        ),
        ("language", json!({"language": "de"}), SILENT, |made| {
            made.says("Sind Sie noch da?")
        }),
        (
            "llm.provider",
            json!({"llm": local("of-this-name")}),
            CUSTOMER,
            |made| made.says("All right."),
        ),
        ("llm.model", json!({"llm": local("m7")}), CUSTOMER, |made| {
            made.was_asked(|body| body["model"] == "m7")
        }),
        (
            "llm.temperature",
            json!({"llm": {"provider": "local", "model": "warm", "temperature": 0.3}}),
            CUSTOMER,
            |made| made.was_asked(|body| body["temperature"] == 0.3),
        ),
        (
            "llm.fallback",
            json!({"llm": {"provider": openai["provider"], "model": openai["model"], "fallback": scripted}}),
            CUSTOMER,
            |made| made.says("Beta."),
        ),
        (
            "llm.routing",
            json!({"llm": {"provider": "local", "model": "slow", "routing": "fastest", "fallback": scripted}}),
            CUSTOMER,
            |made| made.says("All right.") && made.says("Beta."),
        ),
        (
            "llm.endpoint",
            json!({"llm": {"provider": "custom", "model": "theirs", "endpoint": names.endpoint}}),
            CUSTOMER,
            |made| made.says("All right.") && made.was_asked(|_| true),
        ),
        (
            "knowledge_base.doc_ids",
            knowing("knows", json!({"doc_ids": documents, "mode": "auto"})),
            CUSTOMER,
            |made| made.shown() > 1,
        ),
        (
            "knowledge_base.folder_ids",
            knowing(
                "folded",
                json!({"folder_ids": [names.folder], "mode": "auto"}),
            ),
            CUSTOMER,
            |made| made.shown() > 1,
        ),
        (
            "knowledge_base.mode",
            knowing("off", json!({"doc_ids": documents, "mode": "off"})),
            CUSTOMER,
            |made| {
                let name = |body: &Value| body["tools"][0]["function"]["name"].clone();
                made.was_asked(|body| name(body) != "search_knowledge") && made.shown() == 0
            },
        ),
        (
            "knowledge_base.mode",
            knowing("tool", json!({"doc_ids": documents, "mode": "tool"})),
            CUSTOMER,
            |made| {
                let name = |body: &Value| body["tools"][0]["function"]["name"].clone();
                made.was_asked(|body| name(body) == "search_knowledge") && made.shown() == 0
            },
        ),
        (
            "knowledge_base.top_k",
            knowing(
                "one",
                json!({"doc_ids": documents, "mode": "auto", "top_k": 1}),
            ),
            CUSTOMER,
            |made| made.shown() == 1,
        ),
        (
            "knowledge_base.top_k",
            knowing(
                "three",
                json!({"doc_ids": documents, "mode": "auto", "top_k": 3}),
            ),
            CUSTOMER,
            |made| made.shown() == 3,
        ),
        (
            "dynamic_variables",
            json!({"first_message": "Hi {{who}}.", "dynamic_variables": {"who": {"default": "Ana"}}}),
            CUSTOMER,
            |made| made.said[0] == "Hi Ana.",
        ),
        (
            "conversation.turns.endpointing_ms",
            turns(json!({"endpointing_ms": 3000})),
            CUSTOMER,
            |made| made.call["latency"]["p50_ms"].as_i64() >= Some(30),
        ),
        (
            "conversation.turns.interruptions",
            talking(true),
            INTERRUPTS,
            |made| made.said.iter().any(|said| said.ends_with("--")),
        ),
        (
            "conversation.turns.interruptions",
            talking(false),
            INTERRUPTS,
            |made| !made.said.iter().any(|said| said.ends_with("--")),
        ),
        (
            "conversation.turns.silence_timeout_s",
            turns(json!({"silence_timeout_s": 120})),
            SILENT,
            |made| {
                made.took >= Duration::from_millis(2_400)
                    && made.call["termination_reason"] == "silence_timeout"
            },
        ),
        (
            "conversation.turns.voicemail",
            turns(json!({"voicemail": "hang_up"})),
            MACHINE,
            |made| made.said.is_empty() && made.call["termination_reason"] == "voicemail",
        ),
        (
            "conversation.turns.voicemail",
            turns(json!({"voicemail": "leave_message"})),
            MACHINE,
            |made| made.said == ["Hello."] && made.call["termination_reason"] == "voicemail",
        ),
        (
            "conversation.turns.voicemail",
            turns(json!({"voicemail": "ignore"})),
            MACHINE,
            |made| !made.said.is_empty() && made.call["termination_reason"] != "voicemail",
        ),
        (
            "tool_ids",
            json!({"system_prompt": "say: Bye.\ncall: bye", "tool_ids": [names.bye]}),
            CUSTOMER,
            |made| made.call["termination_reason"] == "agent_hangup",
        ),
    ]
}

/// Hours that include the clock's Thursday, 18:32 UTC; and for each of their fields a value that closes them.
fn hours() -> (Value, Vec<(&'static str, Value)>) {
    let open = json!({"timezone": "UTC", "days": [4], "start": "18:00", "end": "19:00"});
    let closing = vec![
        ("timezone", json!("Asia/Tokyo")),
        ("days", json!([5])),
        ("start", json!("18:33")),
        ("end", json!("18:32")),
    ];
    (open, closing)
}

/// The paths of all values in a printed configuration, except objects with members.
fn leaves(config: &Value, path: &str, found: &mut BTreeSet<String>) {
    match config.as_object() {
        Some(members) if !members.is_empty() => {
            for (name, value) in members {
                let path = [path, name].join(if path.is_empty() { "" } else { "." });
                leaves(value, &path, found);
            }
        }
        _ => {
            found.insert(path.to_owned());
        }
    }
}

fn provider(name: &str, base_url: &str) -> (String, ProviderSettings) {
    let settings = ProviderSettings {
        base_url: base_url.to_owned(),
        api_key: None,
    };
    (name.to_owned(), settings)
}

async fn start(model: &Model, speed: f64) -> TestApp {
    let app = TestApp::with(Setup {
        speed,
        models: vec![
            provider("local", &model.plain),
            provider("openai", "http://127.0.0.1:1/v1"),
        ],
        custom_models: Some(model.client.clone()),
        ..Setup::default()
    })
    .await;
    app.dial();
    app
}

async fn names(app: &TestApp, model: &Model) -> Names {
    app.read_documents();
    let bye = json!({"name": "bye", "description": "Ends the call.", "kind": "end_call"});
    let bye = app.post("/v1/agents/tools", bye).await.assert(201);
    let folder = json!({"name": "All"});
    let folder = app.post(FOLDERS, folder).await.assert(201);
    // The customer says: "Hello, good to hear from you. What is this about?"
    let passage = |n: usize| {
        format!(
            "Passage {n}. Good to hear what this is about. {}",
            "It is. ".repeat(120)
        )
    };
    let content: String = (0..8).map(passage).collect();
    let document = json!({"name": "About", "text": content, "folder_id": folder["id"]});
    let document = app.post(DOCUMENTS, document).await.assert(202);
    read(app, &text(&document["id"])).await;
    Names {
        bye: bye["id"].clone(),
        document: document["id"].clone(),
        folder: folder["id"].clone(),
        endpoint: model.endpoint.clone(),
    }
}

/// Publishes an agent with the usual configuration changed by `change`; returns its id.
async fn agent(app: &TestApp, change: &Value) -> String {
    let config = json!({
        "system_prompt": "say: Beta.",
        "first_message": "Hello.",
        "llm": {"provider": "scripted", "model": "scripted"},
        "conversation": {"turns": {"silence_timeout_s": 60}},
    });
    let id = app.agent_with("en", config).await;
    let target = format!("/v1/agents/{id}");
    let changed = app.patch(&target, json!({"config": change}));
    changed.await.assert(200);
    let publish = app.post(&format!("{target}/publish"), "{}");
    publish.await.assert(200);
    id
}

async fn made(app: &TestApp, model: &Model, change: &Value, to: &str) -> Made {
    let agent = agent(app, change).await;
    let began = Instant::now();
    let call = app.call(&agent, to).await;
    let target = format!("/v1/calls/{}", text(&call["id"]));
    let call = app.until(&target, |call| call["status"] != "initiated");
    let call = call.await;
    let took = began.elapsed();
    let conversation = format!("/v1/conversations/{}", text(&call["conversation_id"]));
    let read = app.read(&conversation).await;
    let turns = read["transcript"].as_array().into_iter().flatten();
    let said = turns.filter(|turn| turn["role"] == "agent").map(|turn| {
        let cut = if turn["interrupted"] == true {
            " --"
        } else {
            ""
        };
        format!("{}{cut}", text(&turn["text"]))
    });
    let name = change["llm"]["model"].as_str().unwrap_or_default();
    Made {
        said: said.collect(),
        call,
        took,
        asked: model.asked(name),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_field_of_the_configuration_has_its_effect_in_a_conversation() {
    let model = Model::start().await;
    let app = start(&model, FAST).await;
    let names = names(&app, &model).await;
    let calls = cases(&names)
        .into_iter()
        .map(|(field, change, to, effect)| {
            let (app, model) = (&app, &model);
            async move {
                let made = made(app, model, &change, to).await;
                let told = format!(
                    "{field} {change}: {:?} {} {:?}",
                    made.said, made.call, made.asked
                );
                (effect(&made), told)
            }
        });
    let calls = join_all(calls).await.into_iter();
    let without: Vec<String> = calls
        .filter(|(has_effect, _)| !has_effect)
        .map(|(_, told)| told)
        .collect();
    assert!(without.is_empty(), "{without:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_lasts_as_long_as_its_configuration_lets_it() {
    let model = Model::start().await;
    let app = start(&model, SLOW).await;
    // At this speed the agent talks for 17 seconds.
    let change =
        json!({"first_message": "Hello. ".repeat(200), "conversation": {"max_duration_s": 10}});
    let made = made(&app, &model, &change, CUSTOMER).await;
    assert_eq!(made.call["termination_reason"], "max_duration");
    assert!(made.took >= Duration::from_secs(10), "{:?}", made.took);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_field_of_the_calling_hours_can_close_them() {
    let app = TestApp::start().await;
    let (open, closing) = hours();
    let place = async |hours: &Value| {
        let agent = agent(&app, &json!({"conversation": {"calling_hours": hours}})).await;
        let call = json!({"agent_id": agent, "to": CUSTOMER});
        app.post("/v1/calls", call).await
    };
    place(&open).await.assert(201);
    for (field, value) in closing {
        let mut hours = open.clone();
        hours[field] = value;
        place(&hours).await.assert_error(409, "conflict");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_beyond_a_calls_is_kept_and_changes_nothing() {
    let app = TestApp::start().await;
    let rates = json!({"stt": {"sample_rate": 16_000}, "voice": {"sample_rate": 24_000}});
    let id = agent(&app, &rates).await;
    let kept = app.read(&format!("/v1/agents/{id}")).await;
    assert_eq!(kept["config"]["stt"]["sample_rate"], 16_000);
    assert_eq!(kept["config"]["voice"]["sample_rate"], 24_000);
    let call = json!({"agent_id": id, "to": CUSTOMER});
    app.post("/v1/calls", call).await.assert(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_field_of_the_configuration_is_without_a_test_of_its_effect() {
    let app = TestApp::start().await;
    let (open, closing) = hours();
    let config = json!({"conversation": {"calling_hours": open}});
    let body = json!({"name": "Eva", "language": "en", "config": config});
    let made = app.post("/v1/agents", body).await.assert(201);
    let mut printed = BTreeSet::new();
    leaves(&made["config"], "", &mut printed);
    let names = Names {
        bye: Value::Null,
        document: Value::Null,
        folder: Value::Null,
        endpoint: String::new(),
    };
    let effects = cases(&names)
        .into_iter()
        .map(|(field, ..)| field.to_owned());
    let hours = closing.into_iter();
    let hours = hours.map(|(field, _)| format!("conversation.calling_hours.{field}"));
    // Other tests cover these fields: the agents' tests a stale `version` and the lookup of a voice at publish, and a
    // test above a call's maximum duration. The services' tests cover what the speech providers receive. Tests with
    // real calls cover its effect, because the callees of this network do not hear.
    let others = [
        "version",
        "stt.provider",
        "stt.model",
        "stt.language",
        "stt.sample_rate",
        "stt.settings",
        "voice.provider",
        "voice.model",
        "voice.voice_id",
        "voice.language",
        "voice.fallback_voices",
        "voice.sample_rate",
        "voice.settings",
        "conversation.recording.enabled",
        "conversation.recording.consent_text",
        "conversation.audio.ambient",
        "conversation.audio.speed",
        "conversation.pronunciation",
        "conversation.max_duration_s",
    ];
    let others = others.map(str::to_owned);
    let tested: BTreeSet<String> = effects.chain(hours).chain(others).collect();
    assert_eq!(printed, tested);
}
