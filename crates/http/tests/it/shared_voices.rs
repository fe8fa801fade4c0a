//! Publishing with a voice of a provider's shared library.

use std::sync::Arc;

use async_trait::async_trait;
use offhook_domain::ports::{SharedVoice, VoiceAnswerFault, VoiceLibrary, VoiceLibraryError};
use offhook_domain::{Voice, VoiceList, VoiceProvider, VoiceSource};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::it::app::{Setup, TestApp, text};
use crate::it::voices::voice;

/// A provider with a shared library that adds voices as the test says, and records the requested ones.
#[derive(Clone, Default)]
struct Sharing(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    voices: Vec<Voice>,
    refuses: Option<VoiceLibraryError>,
    asked: Vec<SharedVoice>,
}

#[async_trait]
impl VoiceLibrary for Sharing {
    fn provider(&self) -> VoiceProvider {
        VoiceProvider::A
    }

    async fn voices(&self) -> Result<VoiceList, VoiceLibraryError> {
        Ok(self.0.lock().voices.iter().cloned().collect())
    }

    async fn add_shared(&self, voice: &SharedVoice) -> Result<(), VoiceLibraryError> {
        let mut state = self.0.lock();
        state.asked.push(voice.clone());
        state.refuses.clone().map_or(Ok(()), Err)
    }
}

fn shared(id: &str, owner: Option<&str>) -> Voice {
    Voice {
        source: VoiceSource::Shared,
        owner_id: owner.map(str::to_owned),
        ..voice(VoiceProvider::A, id, "Lucía")
    }
}

/// A draft agent with this voice.
async fn agent(app: &TestApp, voice_id: &str) -> String {
    let config = json!({
        "system_prompt": "You are brief.",
        "llm": {"provider": "scripted", "model": "scripted"},
        "voice": {"provider": "provider_a", "voice_id": voice_id},
    });
    let body = json!({"name": "Sofía", "language": "es-MX", "config": config});
    let drafted = app.post("/v1/agents", body).await.assert(201);
    format!("/v1/agents/{}", text(&drafted["id"]))
}

async fn sources(app: &TestApp) -> Vec<Value> {
    let list = app.get("/v1/voices?provider=provider_a").await;
    let list = list.assert(200);
    let voices = list["data"].as_array().cloned().unwrap_or_default();
    let shown = |voice: &Value| json!([voice["voice_id"], voice["source"]]);
    voices.iter().map(shown).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn publishing_with_a_shared_voice_adds_it_to_the_workspace_first_and_once() {
    let provider = Sharing::default();
    provider.0.lock().voices = vec![shared("s1", Some("o1")), shared("s2", Some("o2"))];
    let app = TestApp::with(Setup {
        voice_libraries: vec![Arc::new(provider.clone())],
        ..Setup::default()
    })
    .await;
    app.services.voices().sync().await;
    let target = agent(&app, "s1").await;
    let publish = |target: &str, body: Value| app.post(&format!("{target}/publish"), body);

    // If the provider does not add the voice, the agent is not published.
    let refused = |error| provider.0.lock().refuses = error;
    for (error, why) in [
        (
            VoiceLibraryError::Unreachable,
            "the provider cannot be reached",
        ),
        (
            VoiceLibraryError::Refused(401),
            "the provider answered with 401",
        ),
        (
            VoiceLibraryError::Malformed(VoiceAnswerFault::OtherVoice),
            "the provider's answer is not of its form: it names another voice",
        ),
    ] {
        refused(Some(error));
        let message = publish(&target, json!({})).await;
        let message = message.assert_error(502, "upstream_error");
        let said = format!(
            "The provider of the voice did not do its part: {why}. Nothing was changed here."
        );
        assert_eq!(message, said);
    }
    for (error, said) in [
        (
            VoiceLibraryError::Full,
            "`config.voice.voice_id`: is shared, and the workspace at `provider_a` has no room for another voice; \
             choose one that is not `shared`, or ask the operator to make room",
        ),
        (
            VoiceLibraryError::NotShared,
            "`config.voice.voice_id`: `provider_a` shares this voice no more; GET /v1/voices lists the others",
        ),
    ] {
        refused(Some(error));
        let message = publish(&target, json!({})).await;
        let message = message.assert_error(409, "conflict");
        assert_eq!(message, said);
    }
    let drafted = app.read(&target).await;
    assert_eq!(drafted["status"], "draft");
    assert_eq!(drafted["published_version"], 0);
    let both = [json!(["s1", "shared"]), json!(["s2", "shared"])];
    assert_eq!(sources(&app).await, both);

    refused(None);
    provider.0.lock().asked.clear();
    // A publish that fails for another reason adds no voice.
    let answer = publish(&target, json!({"version": 7})).await;
    answer.assert_error(400, "invalid_body");
    let published = publish(&target, json!({})).await.assert(200);
    assert_eq!(published["status"], "active");
    assert_eq!(published["published_version"], 1);
    let lucia = SharedVoice {
        owner_id: "o1".to_owned(),
        voice_id: "s1".to_owned(),
        name: "Lucía".to_owned(),
    };
    let asked = || provider.0.lock().asked.clone();
    assert_eq!(asked(), std::slice::from_ref(&lucia));
    let moved = [json!(["s1", "workspace"]), json!(["s2", "shared"])];
    assert_eq!(sources(&app).await, moved);

    // The voice is now ready for every agent, whatever the provider says.
    refused(Some(VoiceLibraryError::Unreachable));
    publish(&target, json!({})).await.assert(200);
    let other = agent(&app, "s1").await;
    publish(&other, json!({})).await.assert(200);
    assert_eq!(asked(), [lucia]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_voice_without_owner_or_workspace_is_not_published() {
    let app = TestApp::start().await;
    let provider = Sharing::default();
    provider.0.lock().voices = vec![shared("s1", Some("o1")), shared("s2", None)];
    // Another process lists the voices; this one has no key of the provider.
    let other = app.services.clone();
    let other = other.with_voice_libraries(vec![Arc::new(provider.clone())]);
    other.voices().sync().await;
    let target = agent(&app, "s1").await;
    let publish = app.post(&format!("{target}/publish"), "{}").await;
    assert_eq!(
        publish.assert_error(409, "conflict"),
        "`config.voice.voice_id`: is shared, and this service has no workspace at `provider_a` to add it to \
         (voices.provider_a.base_url); choose one that is not `shared`"
    );
    let app_with = TestApp::with(Setup {
        voice_libraries: vec![Arc::new(provider.clone())],
        ..Setup::default()
    })
    .await;
    app_with.services.voices().sync().await;
    let target = agent(&app_with, "s2").await;
    let publish = app_with.post(&format!("{target}/publish"), "{}").await;
    assert_eq!(
        publish.assert_error(409, "conflict"),
        "`config.voice.voice_id`: is shared and the list does not say by whom; choose one that is not `shared`, or \
         ask the operator to run `offhook voices sync`"
    );
    assert_eq!(provider.0.lock().asked, []);
}
