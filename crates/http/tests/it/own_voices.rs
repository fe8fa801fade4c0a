//! An account's own voices in `GET /v1/voices` and in agents.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use offhook_domain::ports::{VoiceLibrary, VoiceLibraryError};
use offhook_domain::{
    AccountId, AgentId, CallHandle, CredentialProvider, Plan, Scopes, Voice, VoiceList,
    VoiceProvider, VoiceSource,
};
use offhook_providers::{ProviderSettings, SpeechProvider, SpeechTransport};
use offhook_testkit::TestDatabase;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;

use crate::it::app::{PAGE, Setup, TestApp, text};
use crate::it::client::must;
use crate::it::voices::voice;

/// A provider that lists public voices, and others by API key.
#[derive(Clone)]
struct Keyed(Vec<Voice>, Arc<Mutex<HashMap<String, Vec<Voice>>>>);

#[async_trait]
impl VoiceLibrary for Keyed {
    fn provider(&self) -> VoiceProvider {
        VoiceProvider::A
    }

    async fn voices(&self) -> Result<VoiceList, VoiceLibraryError> {
        Ok(self.0.iter().cloned().collect())
    }

    async fn own_voices(&self, credential: &str) -> Result<VoiceList, VoiceLibraryError> {
        let own = self.1.lock().get(credential).cloned();
        own.map(VoiceList::from_iter)
            .ok_or(VoiceLibraryError::Refused(401))
    }
}

fn public(id: &str, name: &str) -> Voice {
    voice(VoiceProvider::A, id, name)
}

fn own(id: &str, name: &str) -> Voice {
    Voice {
        source: VoiceSource::Custom,
        ..public(id, name)
    }
}

/// A client with an API key.
struct Client<'a>(&'a TestApp, String);

impl Client<'_> {
    /// Every voice of the provider, one per page: its name and source.
    async fn voices(&self, query: &str) -> Vec<String> {
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = self.page(&format!("limit=1{query}{cursor}")).await;
            let data = page["data"].as_array().cloned().unwrap_or_default();
            seen.extend(
                data.iter()
                    .map(|v| format!("{} {}", text(&v["name"]), text(&v["source"]))),
            );
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return seen,
            }
        }
    }

    /// One page of the provider's voices.
    async fn page(&self, query: &str) -> Value {
        let target = format!("/v1/voices?provider=provider_a&{query}");
        let page = self.0.bare("GET", &target).key(&self.1).await;
        page.assert(200)
    }

    /// Publishes a new agent with a voice.
    async fn publish(&self, voice_id: &str, status: u16) -> Value {
        let config = json!({
            "system_prompt": "You are brief.",
            "llm": {"provider": "scripted", "model": "scripted"},
            "voice": {"provider": "provider_a", "voice_id": voice_id},
        });
        let body = json!({"name": "Sofía", "language": "es", "config": config});
        let post = |target: &str| self.0.bare("POST", target).key(&self.1);
        let drafted = post("/v1/agents").json(body).await.assert(201);
        let target = format!("/v1/agents/{}/publish", text(&drafted["id"]));
        post(&target).json(json!({})).await.assert(status)
    }
}

fn names(page: &Value) -> Vec<String> {
    let voices = page["data"].as_array().into_iter().flatten();
    voices.map(|voice| text(&voice["name"])).collect()
}

async fn store(app: &TestApp, account: AccountId, secret: &str) {
    let credentials = app.services.credentials();
    must(
        credentials
            .set(account, CredentialProvider::VoicesA, secret)
            .await,
    );
}

async fn an_accounts_own_voices_are_shown_to_it_alone(database: TestDatabase) {
    let everyone = vec![
        public("p1", "Bea"),
        public("p2", "Dora"),
        public("p3", "Fe"),
    ];
    let keys = Arc::new(Mutex::new(HashMap::new()));
    let provider = Keyed(everyone, keys.clone());
    let list = |key: &str, voices: Vec<Voice>| keys.lock().insert(key.to_owned(), voices);
    let app = TestApp::with(Setup {
        voice_libraries: vec![Arc::new(provider)],
        database: Some(database),
        ..Setup::default()
    })
    .await;
    let accounts = app.services.accounts();
    let other = accounts.create("Other", Plan::Scale, Some(1_000), None, None);
    let other = must(other.await).id;
    let mine = Client(&app, app.token.clone());
    let theirs = Client(&app, app.key(other, Scopes::all(), false, None).await);
    let voices = app.services.voices();
    voices.sync().await;
    let all = ["Bea public", "Dora public", "Fe public"];
    assert_eq!(mine.voices("").await, all);
    assert!(must(voices.sync_accounts().await).is_empty());

    // The second is also public: here it is the account's own.
    list(
        "k-mine",
        vec![
            own("c1", "ana"),
            own("p2", "Émile"),
            own("c3", "Zoe"),
            own("c1", "ana"),
        ],
    );
    list("k-theirs", vec![own("t1", "Carla")]);
    store(&app, app.account, "k-mine").await;
    store(&app, other, "k-theirs").await;
    let outcomes = must(voices.sync_accounts().await);
    assert_eq!(outcomes.len(), 2);
    assert!(outcomes.iter().all(|outcome| outcome.result.is_ok()));
    let merged = [
        "ana custom",
        "Bea public",
        "Fe public",
        "Zoe custom",
        "Émile custom",
    ];
    assert_eq!(mine.voices("").await, merged);
    let merged = ["Bea public", "Carla custom", "Dora public", "Fe public"];
    assert_eq!(theirs.voices("").await, merged);
    assert_eq!(mine.voices("&q=an").await, ["ana custom"]);
    assert_eq!(mine.voices("&q=dora").await, [""; 0]);
    assert_eq!(
        mine.voices("&language=es&gender=female&q=e").await,
        ["Bea public", "Fe public", "Zoe custom", "Émile custom"]
    );
    assert_eq!(mine.voices("&recommended=true").await, [""; 0]);
    assert_eq!(theirs.voices("&q=an").await, [""; 0]);

    mine.publish("c1", 200).await;
    theirs.publish("t1", 200).await;
    // Another account's voice is refused like a voice that does not exist.
    let refused = theirs.publish("c1", 409).await;
    assert_eq!(refused["error"], "conflict");
    let nobodys = theirs.publish("c0", 409).await;
    assert_eq!(refused["message"], nobodys["message"]);

    // Voices that existed when paging began appear once, whatever changes meanwhile.
    let page = mine.page("limit=2").await;
    assert_eq!(names(&page), ["ana", "Bea"]);
    let next = format!("limit=100&cursor={}", text(&page["next_cursor"]));
    let changed = [
        own("c1", "ana"),
        own("c9", "Ada"),
        own("c3", "Zoe"),
        own("c8", "Lu"),
    ];
    list("k-mine", [&changed[..], &[own("p2", "Émile")]].concat());
    must(voices.sync_accounts().await);
    let rest = names(&mine.page(&next).await);
    assert_eq!(rest, ["Fe", "Lu", "Zoe", "Émile"]);
    // A cursor of one account's list reveals nothing of it to another account.
    let rest = names(&theirs.page(&next).await);
    assert_eq!(rest, ["Carla", "Dora", "Fe"]);

    // A failed synchronization keeps the last good list; an empty list is a valid one.
    keys.lock().remove("k-mine");
    list("k-theirs", Vec::new());
    let outcomes = must(voices.sync_accounts().await);
    let failed = outcomes.iter().filter(|outcome| outcome.result.is_err());
    let failed: Vec<_> = failed.map(|outcome| outcome.account).collect();
    assert_eq!(failed, [Some(app.account)]);
    let listed = must(app.services.credentials().list(app.account).await);
    let error = listed[0].last_error.as_deref().unwrap_or_default();
    assert!(
        listed[0].asked_at.is_some() && error.starts_with("the provider "),
        "{listed:?}"
    );
    let listed = must(app.services.credentials().list(other).await);
    assert!(
        listed[0].asked_at.is_some() && listed[0].last_error.is_none(),
        "{listed:?}"
    );
    assert_eq!(mine.voices("&q=ana").await, ["ana custom"]);
    // An invalid key changes nothing either.
    store(&app, app.account, "k-wrong").await;
    must(voices.sync_accounts().await);
    assert_eq!(mine.voices("&q=ana").await, ["ana custom"]);
    assert_eq!(theirs.voices("").await, all);
    theirs.publish("t1", 409).await;

    let removed = app
        .services
        .credentials()
        .remove(app.account, CredentialProvider::VoicesA);
    must(removed.await);
    assert_eq!(mine.voices("").await, all);
    mine.publish("c1", 409).await;
    assert!(
        must(voices.sync_accounts().await)
            .iter()
            .all(|outcome| outcome.account == Some(other))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_accounts_own_voices_are_shown_to_it_alone_on_sqlite() {
    an_accounts_own_voices_are_shown_to_it_alone(TestDatabase::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: just test"]
async fn an_accounts_own_voices_are_shown_to_it_alone_on_postgres() {
    an_accounts_own_voices_are_shown_to_it_alone(TestDatabase::postgres().await).await;
}

/// A published agent with a voice of the provider, with its widget enabled.
async fn talking(app: &TestApp, voice_id: &str) -> AgentId {
    let config = json!({
        "system_prompt": "say: At nine.",
        "first_message": "Hello.",
        "llm": {"provider": "scripted", "model": "scripted"},
        "stt": {"provider": "scripted"},
        "voice": {"provider": "provider_a", "voice_id": voice_id},
    });
    let id = app.agent_with("es", config).await;
    app.widget(&id, json!({})).await;
    must(id.parse())
}

/// The API key of the next request for a voice.
async fn key_sent_for(service: &TcpListener, voice_id: &str) -> String {
    let path = format!("/v1/text-to-speech/{voice_id}/");
    let asked = async {
        loop {
            let (mut stream, _) = must(service.accept().await);
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                match stream.read_u8().await {
                    Ok(byte) => head.push(byte),
                    Err(_) => break,
                }
            }
            let head = must(String::from_utf8(head));
            assert!(
                !(head.contains("/c1/") && head.contains("k-deployment")),
                "the deployment's key opens what is not its own"
            );
            // A conversation that was left may still request its own voice.
            if head.contains(&path) {
                let mut lines = head.lines();
                let key = lines.find_map(|line| line.strip_prefix("xi-api-key: "));
                return key.unwrap_or_default().to_owned();
            }
        }
    };
    must(tokio::time::timeout(Duration::from_secs(20), asked).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_is_spoken_with_the_accounts_key_for_its_own_voice_alone() {
    let service = must(TcpListener::bind("127.0.0.1:0").await);
    let endpoint = ProviderSettings {
        base_url: format!("http://{}", must(service.local_addr())),
        api_key: Some("k-deployment".to_owned()),
    };
    let speech = SpeechProvider::ElevenLabs(endpoint, SpeechTransport::WebSocket);
    let own = [("k-mine".to_owned(), vec![own("c1", "ana")])];
    let provider = Keyed(
        vec![public("p1", "Bea")],
        Arc::new(Mutex::new(own.into_iter().collect())),
    );
    let app = TestApp::with(Setup {
        voice_libraries: vec![Arc::new(provider)],
        speech: vec![("provider_a".to_owned(), speech)],
        ..Setup::default()
    })
    .await;
    store(&app, app.account, "k-mine").await;
    app.services.voices().sync().await;
    must(app.services.voices().sync_accounts().await);
    let mut agents = Vec::new();
    for (voice_id, key) in [("c1", "k-mine"), ("p1", "k-deployment")] {
        let agent = talking(&app, voice_id).await;
        let talk = must(app.services.talks().begin(PAGE, agent, None, None).await);
        assert_eq!(key_sent_for(&service, voice_id).await, key);
        drop(talk);
        agents.push(agent);
    }
    // Without the account's key, no other key opens the voice.
    let credentials = app.services.credentials();
    must(
        credentials
            .remove(app.account, CredentialProvider::VoicesA)
            .await,
    );
    let mute = must(
        app.services
            .talks()
            .begin(PAGE, agents[0], None, None)
            .await,
    );
    let target = format!("/v1/calls/{}", CallHandle(mute.id()));
    let failed = app.until(&target, |call| call["status"] == "failed");
    let reason = failed.await["failure_reason"].clone();
    assert_eq!(reason, "agent_error");
    drop(mute);
    let talk = must(
        app.services
            .talks()
            .begin(PAGE, agents[1], None, None)
            .await,
    );
    assert_eq!(key_sent_for(&service, "p1").await, "k-deployment");
    drop(talk);
}
