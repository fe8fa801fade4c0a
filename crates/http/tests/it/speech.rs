//! The recognizer and the voices in an agent's configuration: when they are saved, and when they are published.

use std::time::Duration;

use offhook_domain::NumberProvider;
use offhook_domain::json::Json;
use offhook_providers::{ProviderSettings, SpeechProgram, SpeechProvider, SpeechTransport};
use serde_json::{Value, json};

use crate::it::app::{CUSTOMER, Setup, TestApp, rows, text};
use crate::it::client::{Answer, must};

/// A voice of the shipped list.
const LISTED: &str = "f4d6bb07-f876-4464-ba70-cd48d8701890";

/// Providers by the names in agents; none of them produces audio here.
fn speech(names: &[&str]) -> Vec<(String, SpeechProvider)> {
    let endpoint = || ProviderSettings {
        base_url: "http://127.0.0.1:1".to_owned(),
        api_key: Some("key".to_owned()),
    };
    let program = |arguments: &[&str]| {
        let mut command = vec!["/bin/false".to_owned()];
        command.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        Some(SpeechProgram {
            command,
            sample_rate: 16_000,
            limit: Duration::from_secs(1),
            at_once: 1,
        })
    };
    let of = |name: &&str| {
        let provider = match *name {
            "provider_a" | "elevenlabs" => {
                SpeechProvider::ElevenLabs(endpoint(), SpeechTransport::WebSocket)
            }
            "provider_b" => SpeechProvider::Cartesia(endpoint(), SpeechTransport::WebSocket),
            "openai" => SpeechProvider::OpenAi(endpoint()),
            "local" => SpeechProvider::Exec {
                listen: program(&[]),
                speak: program(&[]),
            },
            // Every other name is a Deepgram provider.
            _ => SpeechProvider::Deepgram(endpoint()),
        };
        ((*name).to_owned(), provider)
    };
    names.iter().map(of).collect()
}

async fn start(spoken: bool, names: &[&str]) -> TestApp {
    TestApp::with(Setup {
        spoken,
        speech: speech(names),
        ..Setup::default()
    })
    .await
}

/// Creates an agent with the usual configuration and these changes.
async fn save(app: &TestApp, change: &Value) -> Answer {
    let mut config = json!({
        "system_prompt": "You are brief.",
        "llm": {"provider": "scripted", "model": "scripted"},
    });
    for (name, value) in change.as_object().into_iter().flatten() {
        config[name] = value.clone();
    }
    let body = json!({"name": "Eva", "language": "es-MX", "config": config});
    app.post("/v1/agents", body).await
}

/// Creates and publishes an agent; returns its path and the response.
async fn publish(app: &TestApp, change: &Value) -> (String, Answer) {
    let saved = save(app, change).await.assert(201);
    let target = format!("/v1/agents/{}", text(&saved["id"]));
    let answer = app.post(&format!("{target}/publish"), "{}").await;
    (target, answer)
}

async fn refused(app: &TestApp, change: &Value) -> String {
    let (target, answer) = publish(app, change).await;
    let message = answer.assert_error(409, "conflict");
    let shown = app.read(&target).await;
    assert_eq!(shown["status"], "draft", "{message}");
    message
}

fn voice(provider: &str, voice_id: &str) -> Value {
    json!({"provider": provider, "voice_id": voice_id})
}

/// A row's change of the configuration.
fn change_of(row: &str) -> Value {
    must(serde_json::from_str(&row.replace("LISTED", LISTED)))
}

/// The object with one more member.
fn with(mut object: Value, name: &str, value: Value) -> Value {
    object[name] = value;
    object
}

#[tokio::test(flavor = "multi_thread")]
async fn an_recognizer_or_a_voice_that_nobody_has_is_not_saved() {
    let app = start(false, &["deepgram", "provider_a", "provider_b", "local"]).await;
    let b = || voice("provider_b", LISTED);
    for [change, message] in rows(include_str!("../cases/speech_unsaved.txt")) {
        let change = change_of(change);
        let saved = save(&app, &change).await;
        assert_eq!(saved.assert_error(400, "invalid_body"), message, "{change}");
    }
    // Half of a pair, settings that the service cannot check, and valid settings.
    for change in [
        json!({"voice": {"provider": "provider_b", "settings": {"volume": 2}}}),
        json!({"stt": {"provider": "openai", "settings": {"tempo": 1}}}),
        json!({"voice": with(voice("provider_c", "x"), "settings", json!({"tempo": 1}))}),
        json!({"stt": {"provider": "local", "model": "any"}, "voice": with(b(), "model", json!("standard"))}),
    ] {
        save(&app, &change).await.assert(201);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_saved_is_in_the_way_of_no_other_change() {
    let app = start(false, &["deepgram"]).await;
    let change = json!({"stt": {"provider": "openai", "settings": {"tempo": 1}}});
    let saved = save(&app, &change).await.assert(201);
    let target = format!("/v1/agents/{}", text(&saved["id"]));
    // The same service with that provider, which does not support these settings.
    let other = app.beside(speech(&["openai"]), false);
    let renamed = json!({"name": "Ana"}).to_string();
    let renamed = Json::parse(renamed.as_bytes()).unwrap_or_else(|_| panic!());
    let id = text(&saved["id"]).parse().unwrap_or_else(|_| panic!());
    let changed = other.agents().update(app.account, id, &renamed).await;
    assert_eq!(changed.unwrap_or_else(|e| panic!("{e}")).agent.name, "Ana");
    // A new recognizer keeps the settings of the previous one unless they are removed too.
    let patch = |stt: Value| {
        let patch = app.request("PATCH", &target);
        patch.json(json!({"config": {"stt": stt}}))
    };
    let message = patch(json!({"provider": "deepgram"})).await;
    let expected = "`config.stt.settings.tempo`: unknown field";
    assert_eq!(message.assert_error(400, "invalid_body"), expected);
    let changed = patch(json!({"provider": "deepgram", "settings": null})).await;
    assert_eq!(changed.assert(200)["config"]["stt"]["settings"], json!({}));
}

#[tokio::test(flavor = "multi_thread")]
async fn where_calls_are_simulated_recognizer_and_voice_wait() {
    let app = start(false, &["deepgram", "provider_a", "local"]).await;
    let b = || voice("provider_b", LISTED);
    for [change, message] in rows(include_str!("../cases/speech_simulated.txt")) {
        let change = change_of(change);
        assert_eq!(refused(&app, &change).await, message, "{change}");
    }
    for change in [
        json!({}),
        json!({"voice": b()}),
        json!({"stt": {"provider": "deepgram", "sample_rate": 8000, "settings": {"keyterms": ["Offhook"]}}}),
        json!({"stt": {"provider": "scripted", "settings": {"lines": ["Hi."]}}}),
        json!({
            "voice": with(voice("local", "kal"), "fallback_voices", json!({"provider_a": "21m00Tcm4TlvDq8ikWAM"})),
            "conversation": {"pronunciation": [{"term": "a", "say": "b"}]},
        }),
        json!({"voice": {"provider": "scripted"}, "conversation": {"audio": {"speed": 2}}}),
        json!({"conversation": {"recording": {"enabled": true}, "audio": {"ambient": "cafe"}}}),
    ] {
        publish(&app, &change).await.1.assert(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_calls_are_spoken_an_agent_needs_an_recognizer_and_a_voice() {
    let nobody = start(true, &[]).await;
    assert_eq!(
        refused(&nobody, &json!({})).await,
        "`config.stt.provider`: is required, and no provider that listens is set up on this service (section \
         `speech.<name>`)"
    );
    let scripted = json!({"provider": "scripted"});
    assert_eq!(
        refused(&nobody, &json!({"stt": scripted})).await,
        "`config.voice.provider`: is required, and no provider that speaks is set up on this service (section \
         `speech.<name>`)"
    );
    let both = json!({"stt": scripted, "voice": scripted});
    publish(&nobody, &both).await.1.assert(200);

    let app = start(true, &["deepgram", "provider_a"]).await;
    let rachel = voice("provider_a", "21m00Tcm4TlvDq8ikWAM");
    for [change, message] in rows(include_str!("../cases/speech_spoken.txt")) {
        let change = change_of(change);
        assert_eq!(refused(&app, &change).await, message, "{change}");
    }
    // The only recognizer serves every agent.
    publish(&app, &json!({"voice": rachel})).await.1.assert(200);

    let own = start(true, &["local"]).await;
    publish(&own, &json!({})).await.1.assert(200);
    let sounding = json!({"conversation": {
        "recording": {"enabled": true, "consent_text": "This call is recorded."},
        "audio": {"ambient": "street"},
    }});
    publish(&own, &sounding).await.1.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_can_hear_or_speak_no_more_is_in_error_until_it_can() {
    let app = start(true, &["deepgram", "provider_a", "provider_b"]).await;
    let change = json!({
        "stt": {"provider": "deepgram"},
        "voice": with(voice("provider_b", LISTED), "fallback_voices", json!({"provider_a": "21m00Tcm4TlvDq8ikWAM"})),
    });
    let (target, published) = publish(&app, &change).await;
    assert_eq!(published.assert(200)["status"], "active");
    let judged_by = async |names: &[&str], spoken: bool| {
        let service = app.beside(speech(names), spoken);
        let turned = service.agents().judge().await;
        turned.unwrap_or_else(|error| panic!("{error}"));
        text(&app.read(&target).await["status"])
    };
    // One of the two voices is enough.
    assert_eq!(judged_by(&["deepgram", "provider_a"], true).await, "active");
    assert_eq!(judged_by(&["deepgram"], true).await, "error");
    assert_eq!(judged_by(&["deepgram", "provider_b"], true).await, "active");
    assert_eq!(judged_by(&["openai", "provider_a"], true).await, "error");
    // Without spoken calls nothing is missing.
    assert_eq!(judged_by(&[], false).await, "active");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spoken_minute_costs_its_recognizer_and_its_dearest_voice_besides() {
    let change = json!({
        "stt": {"provider": "deepgram"},
        "voice": with(voice("provider_b", LISTED), "fallback_voices", json!({"provider_a": "21m00Tcm4TlvDq8ikWAM"})),
    });
    for (spoken, held) in [(false, 0), (true, 6)] {
        let app = start(spoken, &["deepgram", "provider_a", "provider_b"]).await;
        let number = "+525512340000".parse().unwrap_or_else(|_| panic!());
        let numbers = app.services.numbers();
        let added = numbers
            .add(app.account, number, "", (NumberProvider::Sip, None))
            .await;
        added.unwrap_or_else(|error| panic!("{error}"));
        let (target, published) = publish(&app, &change).await;
        published.assert(200);
        let agent = target.rsplit('/').next().unwrap_or_default();
        app.call(agent, CUSTOMER).await;
        // Ten minutes at 0.1 for the recognizer, and 0.5 for the more expensive voice.
        let credits = app.read("/v1/billing/credits").await;
        assert_eq!(credits["reserved_credits"], held);
    }
}
