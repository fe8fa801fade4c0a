//! `GET /v1/voices`.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use offhook_domain::ports::{VoiceLibrary, VoiceLibraryError};
use offhook_domain::{Plan, Voice, VoiceGender, VoiceList, VoiceProvider, VoiceSource};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::it::app::{TestApp, members, text};

/// A provider that lists what the test says, or fails.
#[derive(Clone)]
struct Listed(VoiceProvider, Arc<Mutex<Option<Vec<Voice>>>>);

impl Listed {
    fn new(provider: VoiceProvider, voices: Vec<Voice>) -> Self {
        Self(provider, Arc::new(Mutex::new(Some(voices))))
    }

    fn set(&self, voices: Option<Vec<Voice>>) {
        *self.1.lock() = voices;
    }
}

#[async_trait]
impl VoiceLibrary for Listed {
    fn provider(&self) -> VoiceProvider {
        self.0
    }

    async fn voices(&self) -> Result<VoiceList, VoiceLibraryError> {
        let voices = self.1.lock().clone();
        voices
            .map(VoiceList::from_iter)
            .ok_or(VoiceLibraryError::Unreachable)
    }
}

pub(crate) fn voice(provider: VoiceProvider, id: &str, name: &str) -> Voice {
    Voice {
        provider,
        voice_id: id.to_owned(),
        name: name.to_owned(),
        gender: Some(VoiceGender::Female),
        age: None,
        accent: None,
        language: Some("es".to_owned()),
        languages: vec!["es".to_owned()],
        locales: vec!["es-MX".to_owned()],
        description: None,
        use_case: None,
        preview_url: Some("https://previews.example.com/1.mp3".to_owned()),
        model_compat: vec!["m".to_owned()],
        source: VoiceSource::Public,
        owner_id: None,
    }
}

async fn all(app: &TestApp, query: &str) -> Vec<Value> {
    app.pages(&format!("/v1/voices?limit=7{query}")).await
}

fn ids(voices: &[Value]) -> Vec<String> {
    voices
        .iter()
        .map(|voice| text(&voice["voice_id"]))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_shipped_list_is_whole_in_order_and_paged() {
    let app = TestApp::start().await;
    let voices = all(&app, "").await;
    let unique: BTreeSet<_> = ids(&voices).into_iter().collect();
    assert_eq!(unique.len(), voices.len());
    assert!(voices.len() > 50);
    let place = |voice: &Value| {
        let recommended = voice["recommended"].as_bool() == Some(true);
        let name = text(&voice["name"]).to_lowercase();
        (
            !recommended,
            text(&voice["provider"]),
            name,
            text(&voice["voice_id"]),
        )
    };
    assert!(voices.is_sorted_by_key(place));
    let expected = "provider voice_id name gender age accent language languages locales \
                    description use_case preview_url model_compat source recommended";
    assert_eq!(members(&voices[0]), expected);
    assert!(voices.iter().all(|voice| voice["source"] == "static"));
    for provider in VoiceProvider::ALL {
        assert!(
            voices
                .iter()
                .any(|voice| voice["provider"] == provider.as_str())
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_choose_voices_and_faults_are_named() {
    let app = TestApp::start().await;
    let every = all(&app, "").await;
    let picked = all(&app, "&recommended=true").await;
    let others = all(&app, "&recommended=false").await;
    assert!(!picked.is_empty() && picked.iter().all(|voice| voice["recommended"] == true));
    assert!(!others.is_empty() && others.iter().all(|voice| voice["recommended"] == false));
    assert_eq!([picked, others].concat(), every);
    for (query, member, value) in [
        ("&provider=provider_b", "provider", "provider_b"),
        ("&gender=male", "gender", "male"),
        ("&gender=neutral", "gender", "neutral"),
    ] {
        let found = all(&app, query).await;
        assert!(!found.is_empty() && found.len() < every.len(), "{query}");
        assert!(found.iter().all(|voice| voice[member] == value), "{query}");
    }
    let spanish = all(&app, "&language=ES").await;
    assert_eq!(spanish, all(&app, "&language=es").await);
    let speaks = |voice: &Value| {
        let languages = voice["languages"].as_array();
        languages.is_some_and(|all| all.contains(&json!("es")))
    };
    let expected: Vec<_> = every
        .iter()
        .filter(|voice| speaks(voice))
        .cloned()
        .collect();
    assert_eq!(spanish, expected);
    assert_eq!(all(&app, "&language=zz").await, [] as [Value; 0]);
    let found = all(&app, "&q=SOF%C3%8DA").await;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["name"], "Sofía");
    assert_eq!(all(&app, "&q=%25").await, [] as [Value; 0]);
    assert_eq!(all(&app, "&q=").await, every);
    let both = all(
        &app,
        "&provider=provider_c&language=es&recommended=true&gender=female&q=est",
    )
    .await;
    assert_eq!(both.len(), 1);

    let language = "`language`: must be a language code of two or three letters, such as `es`";
    let faults = [
        (
            "provider=provider_d",
            "`provider`: must be `provider_a`, `provider_b` or `provider_c`",
        ),
        ("language=e", language),
        ("language=es-MX", language),
        ("language=%C3%A9s", language),
        (
            "gender=Female",
            "`gender`: must be `female`, `male` or `neutral`",
        ),
        ("recommended=1", "`recommended`: must be `true` or `false`"),
        ("source=static", "`source`: unknown parameter"),
        ("recommended=x&language=x", language),
    ];
    app.refuses_queries("/v1/voices", &faults).await;
    let long = app.get(&format!("/v1/voices?q={}", "x".repeat(101))).await;
    let expected = "`q`: longer than 100 characters";
    assert_eq!(long.assert_error(400, "invalid_query"), expected);
    let page = app.read("/v1/voices?limit=1&gender=male").await;
    let cursor = text(&page["next_cursor"]);
    for target in [
        format!("/v1/voices?cursor={cursor}"),
        format!("/v1/agents?cursor={cursor}"),
        "/v1/voices?cursor=x".to_owned(),
    ] {
        app.get(&target).await.assert_error(400, "invalid_query");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn voices_are_the_same_for_every_account() {
    let app = TestApp::start().await;
    let stranger = app.stranger(Plan::Starter).await;
    let theirs = app.bare("GET", "/v1/voices").key(&stranger).await;
    let theirs = theirs.assert(200);
    let mine = app.read("/v1/voices").await;
    assert_eq!(theirs["data"], mine["data"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_synchronised_list_takes_the_shipped_ones_place_and_outlives_failures() {
    use VoiceProvider::{B, C};
    let app = TestApp::start().await;
    let picked = all(&app, "&provider=provider_b&recommended=true").await;
    let picked_id = text(&picked[0]["voice_id"]);
    let library = Listed::new(
        B,
        vec![
            voice(B, "v2", "Bea"),
            voice(B, "v1", "bea"),
            voice(B, "v1", "bea"),
            voice(B, &picked_id, "Zoé"),
        ],
    );
    let other = Listed::new(C, vec![voice(C, "c1", "Ana")]);
    let services = app
        .services
        .clone()
        .with_voice_libraries(vec![Arc::new(library.clone()), Arc::new(other.clone())]);
    let outcomes = services.voices().sync().await;
    assert!(outcomes.iter().all(|outcome| outcome.result.is_ok()));
    let of_b = || all(&app, "&provider=provider_b");
    let found = of_b().await;
    // The hand-picked one comes first, whatever name the provider gives it.
    assert_eq!(ids(&found), [picked_id.as_str(), "v1", "v2"]);
    let expected = json!({
        "provider": "provider_b", "voice_id": "v1", "name": "bea", "gender": "female", "age": null,
        "accent": null, "language": "es", "languages": ["es"], "locales": ["es-MX"], "description": null,
        "use_case": null, "preview_url": "https://previews.example.com/1.mp3", "model_compat": ["m"],
        "source": "public", "recommended": false,
    });
    assert_eq!(found[1], expected);
    assert!(!all(&app, "&provider=provider_a").await.is_empty());

    for voices in [None, Some(Vec::new())] {
        library.set(voices);
        other.set(Some(vec![voice(C, "c2", "Ana")]));
        let outcomes = services.voices().sync().await;
        assert!(outcomes[0].result.is_err() && outcomes[1].result.is_ok());
        assert_eq!(of_b().await, found, "the last good list stays");
        assert_eq!(ids(&all(&app, "&provider=provider_c").await), ["c2"]);
    }
    // Rows that existed when paging began appear once, whatever changes meanwhile.
    let page = app.read("/v1/voices?provider=provider_b&limit=2").await;
    library.set(Some(vec![
        voice(B, "v0", "Ada"),
        voice(B, "v2", "Bea"),
        voice(B, "v9", "Zita"),
    ]));
    services.voices().sync().await;
    let cursor = text(&page["next_cursor"]);
    let target = format!("/v1/voices?provider=provider_b&cursor={cursor}");
    let rest = app.read(&target).await;
    let rest = rest["data"].as_array().cloned().unwrap_or_default();
    assert_eq!(ids(&rest), ["v2", "v9"]);
}
