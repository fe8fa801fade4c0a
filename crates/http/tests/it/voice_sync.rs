//! Synchronizing the voice catalogs through the service's adapters, against a fake of the providers.

use std::sync::Arc;
use std::time::Duration;

use offhook_domain::ports::VoiceLibrary;
use offhook_domain::{Clock as _, CredentialProvider, VoiceProvider};
use offhook_providers::{VoiceLibrarySettings, voice_library};
use offhook_services::store::mint;
use offhook_services::{Services, SyncOutcome};
use offhook_testkit::TestDatabase;
use offhook_testkit::fakes::voices::VoiceCatalog;
use offhook_testkit::upstream::{Fault, UPSTREAM_WORDS};
use serde_json::{Value, json};

use crate::it::app::{Setup, TestApp, text};
use crate::it::client::must;

const OURS: &str = "k-ours";
const DAY: Duration = Duration::from_secs(86_400);
const HOUR: Duration = Duration::from_secs(3_600);

fn library(provider: VoiceProvider, catalog: &VoiceCatalog) -> Arc<dyn VoiceLibrary> {
    let settings = VoiceLibrarySettings {
        base_url: catalog.upstream().base_url(),
        api_key: OURS.to_owned(),
    };
    must(voice_library(provider, &settings))
}

async fn app(provider: VoiceProvider, catalog: &VoiceCatalog, database: TestDatabase) -> TestApp {
    TestApp::with(Setup {
        voice_libraries: vec![library(provider, catalog)],
        database: Some(database),
        ..Setup::default()
    })
    .await
}

/// Voices that any of the providers could list, including the shared library of `provider_a`.
fn numbered(numbers: std::ops::Range<usize>, name: &str) -> Vec<Value> {
    let one = |number: usize| {
        let id = format!("voice-{number:04}");
        json!({"voice_id": id, "id": id, "canonical_name": id, "public_owner_id": "owner", "name": name})
    };
    numbers.map(one).collect()
}

/// The result of the only provider, in words.
fn said(outcomes: &[SyncOutcome]) -> Result<(usize, usize, usize), String> {
    let [outcome] = outcomes else {
        panic!("{outcomes:?}");
    };
    match &outcome.result {
        Ok((voices, changes)) => Ok((*voices, changes.written, changes.deleted)),
        Err(error) => Err(error.to_string()),
    }
}

async fn nothing_changes_where_a_page_fails(provider: VoiceProvider, database: TestDatabase) {
    let catalog = VoiceCatalog::start().await;
    // Nine pages. With a shared library, the first three are the workspace's.
    let list = |name: &str, first: usize| match provider {
        VoiceProvider::A => {
            catalog.set(OURS, numbered(first..first + 250, name));
            catalog.share(numbered(first + 250..first + 850, name));
        }
        _ => catalog.set(OURS, numbered(first..first + 850, name)),
    };
    list("Ana", 0);
    let app = app(provider, &catalog, database).await;
    let voices = app.services.voices();
    let sync = async || said(&voices.sync().await);
    assert_eq!(sync().await, Ok((850, 850, 0)));
    assert_eq!(catalog.upstream().asked().len(), 9);
    let kept = || async { must(app.services.store().voices_behind(None, usize::MAX).await) };
    let (before, generation) = (kept().await, app.services.store().voices_generation().await);
    assert_eq!(before.len(), 850);
    // The same list changes nothing.
    assert_eq!(sync().await, Ok((850, 0, 0)));

    list("Bea", 100);
    let form = "the provider's answer is not of its form: a page is not the JSON that it should be";
    for (fault, expected) in [
        (Fault::Close, "the provider cannot be reached"),
        (Fault::LoseAnswer, "the provider cannot be reached"),
        (Fault::CutBody, "the provider cannot be reached"),
        (Fault::Status(401), "the provider answered with 401"),
        (Fault::Status(404), "the provider answered with 404"),
        (Fault::Status(409), "the provider answered with 409"),
        (Fault::Status(422), "the provider answered with 422"),
        (
            Fault::RetryAfter(429, 3_600),
            "the provider answered with 429",
        ),
        (Fault::Status(500), "the provider answered with 500"),
        (Fault::Malformed, form),
        (Fault::Unknown, form),
    ] {
        catalog.upstream().behave();
        catalog.fail_after(6, fault);
        let asked = catalog.upstream().asked().len();
        assert_eq!(sync().await, Err(expected.to_owned()), "{fault:?}");
        assert_eq!(catalog.upstream().asked().len() - asked, 7, "{fault:?}");
        assert_eq!(kept().await, before, "{fault:?}");
    }
    let unchanged = must(app.services.store().voices_generation().await);
    assert_eq!(unchanged, must(generation));
    let page = app.read("/v1/voices?q=Ana&limit=1").await;
    assert_eq!(page["data"][0]["voice_id"], "voice-0000");

    // The complete list replaces the old one, and removes voices that it no longer has.
    catalog.upstream().behave();
    assert_eq!(sync().await, Ok((850, 850, 100)));
    let page = app.read("/v1/voices?q=Ana&limit=1").await;
    assert_ne!(page["data"][0]["voice_id"], "voice-0000");
    let page = app.read("/v1/voices?q=Bea&limit=1").await;
    assert_eq!(page["data"][0]["voice_id"], "voice-0100");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_fails_on_its_seventh_page_changes_nothing_on_sqlite() {
    for provider in [VoiceProvider::A, VoiceProvider::B] {
        nothing_changes_where_a_page_fails(provider, TestDatabase::sqlite()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: just test"]
async fn a_list_that_fails_on_its_seventh_page_changes_nothing_on_postgres() {
    let database = TestDatabase::postgres().await;
    nothing_changes_where_a_page_fails(VoiceProvider::A, database).await;
}

/// Three processes check at once whether a sync is due; returns how many of them synced.
async fn asked_by(processes: &[Services; 3]) -> usize {
    let [one, two, three] = processes.each_ref().map(|services| services.voices());
    let turns = tokio::join!(one.sync_if_due(), two.sync_if_due(), three.sync_if_due());
    let turns = [must(turns.0), must(turns.1), must(turns.2)];
    turns.iter().flatten().count()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_process_of_several_asks_once_a_day_and_an_hour_after_a_failure() {
    let catalog = VoiceCatalog::start().await;
    catalog.set(OURS, numbered(0..3, "Ana"));
    let app = app(VoiceProvider::C, &catalog, TestDatabase::sqlite()).await;
    let another = || {
        let libraries = vec![library(VoiceProvider::C, &catalog)];
        app.beside(Vec::new(), false)
            .with_voice_libraries(libraries)
    };
    let processes = [app.services.clone(), another(), another()];
    let asked = || catalog.upstream().asked().len();
    assert_eq!(asked_by(&processes).await, 1);
    assert_eq!(asked(), 1);
    // All of them show the list that one of them read.
    for services in &processes {
        let voices = services.voices();
        let filter = offhook_services::VoiceFilter {
            provider: Some(VoiceProvider::C),
            ..Default::default()
        };
        let listed = must(voices.list(app.account, &filter, None, 10).await);
        assert_eq!(listed.items.len(), 3);
    }
    app.clock.advance(DAY - Duration::from_secs(1));
    assert_eq!((asked_by(&processes).await, asked()), (0, 1));
    app.clock.advance(Duration::from_secs(1));
    catalog.upstream().fail("GET", "/", Fault::Status(500), 1);
    assert_eq!((asked_by(&processes).await, asked()), (1, 2));
    app.clock.advance(HOUR - Duration::from_secs(1));
    assert_eq!((asked_by(&processes).await, asked()), (0, 2));
    app.clock.advance(Duration::from_secs(1));
    assert_eq!((asked_by(&processes).await, asked()), (1, 3));

    // A process that died during the job holds it until its lease expires.
    app.clock.advance(DAY);
    let dead = mint(app.clock.now());
    let now = app.clock.steady();
    assert!(must(
        app.services.store().take_job("voices", dead, now).await
    ));
    app.clock.advance(Duration::from_secs(44));
    assert_eq!((asked_by(&processes).await, asked()), (0, 3));
    app.clock.advance(Duration::from_secs(2));
    assert_eq!((asked_by(&processes).await, asked()), (1, 4));
}

#[tokio::test(flavor = "multi_thread")]
async fn names_without_end_and_ids_that_nobody_could_write_are_paged_all_the_same() {
    let catalog = VoiceCatalog::start().await;
    let long = |letter: char| letter.to_string().repeat(10_240);
    let one = |id: &str, name: &str| json!({"canonical_name": id, "name": name, "languages": [long('e'), "es"]});
    catalog.set(
        OURS,
        vec![
            one("v1", &long('İ')),
            one("v2", &format!("{}2", long('İ'))),
            one("v2", "twice"),
            one(&long('v'), "Ana"),
            one("v3", &long('\u{1f600}')),
            json!({"canonical_name": "v4", "name": null, "languages": null, "metadata": null}),
        ],
    );
    let app = app(VoiceProvider::C, &catalog, TestDatabase::sqlite()).await;
    assert_eq!(said(&app.services.voices().sync().await), Ok((4, 4, 0)));
    let voices = app.pages("/v1/voices?provider=provider_c&limit=1").await;
    let short = |voice: &Value| text(&voice["name"]).chars().count() <= 200;
    assert!(voices.iter().all(short));
    let mut seen: Vec<String> = voices
        .iter()
        .map(|voice| text(&voice["voice_id"]))
        .collect();
    seen.sort();
    assert_eq!(seen, ["v1", "v2", "v3", "v4"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_published_with_a_shared_voice_once_it_is_in_the_workspace() {
    let catalog = VoiceCatalog::start().await;
    catalog.set(OURS, Vec::new());
    catalog.share(numbered(0..2, "Lucía"));
    let app = app(VoiceProvider::A, &catalog, TestDatabase::sqlite()).await;
    app.services.voices().sync().await;
    let config = json!({
        "system_prompt": "You are brief.",
        "llm": {"provider": "scripted", "model": "scripted"},
        "voice": {"provider": "provider_a", "voice_id": "voice-0001"},
    });
    let body = json!({"name": "Sofía", "language": "es-MX", "config": config});
    let drafted = app.post("/v1/agents", body).await.assert(201);
    let target = format!("/v1/agents/{}/publish", text(&drafted["id"]));
    let publish = || app.post(&target, "{}");
    for fault in [
        Fault::Close,
        Fault::LoseAnswer,
        Fault::CutBody,
        Fault::Status(500),
        Fault::Malformed,
    ] {
        let adding = "/v1/voices/add/owner/voice-0001";
        catalog.set(OURS, Vec::new());
        catalog.upstream().behave();
        catalog.upstream().fail("POST", adding, fault, 1);
        let asked = catalog.upstream().asked_of("POST", adding).len();
        let message = publish().await.assert_error(502, "upstream_error");
        assert!(!message.contains(UPSTREAM_WORDS), "{message}");
        // The provider may have done it, so the request is not repeated automatically.
        let again = catalog.upstream().asked_of("POST", adding).len();
        assert_eq!(again - asked, 1, "{fault:?}");
    }
    publish().await.assert(200);
    assert_eq!(catalog.listed(OURS).len(), 1);
    publish().await.assert(200);
    // The provider returns the same on the next request.
    let source = async || {
        let page = app.read("/v1/voices?q=luc%C3%ADa").await;
        let voices = page["data"].as_array().cloned().unwrap_or_default();
        let voice = voices
            .into_iter()
            .find(|voice| voice["voice_id"] == "voice-0001");
        voice.unwrap()["source"].clone()
    };
    assert_eq!(source().await, "workspace");
    app.services.voices().sync().await;
    assert_eq!(source().await, "workspace");
}

#[tokio::test(flavor = "multi_thread")]
async fn private_voices_come_by_the_accounts_own_credential_and_a_broken_list_leaves_the_last() {
    let catalog = VoiceCatalog::start().await;
    catalog.set(OURS, numbered(0..1, "Everybody"));
    catalog.set("k-theirs", numbered(10..160, "Private"));
    let app = app(VoiceProvider::A, &catalog, TestDatabase::sqlite()).await;
    let credentials = app.services.credentials();
    let set = credentials.set(app.account, CredentialProvider::VoicesA, "k-theirs");
    must(set.await);
    let voices = app.services.voices();
    let sync = async || said(&must(voices.sync_accounts().await));
    assert_eq!(sync().await, Ok((150, 150, 0)));
    let shown = async || {
        let page = app.read("/v1/voices?q=private&limit=100").await;
        page["data"].as_array().map(Vec::len)
    };
    assert_eq!(shown().await, Some(100));
    catalog.set("k-theirs", numbered(500..700, "Other"));
    for fault in [
        Fault::Close,
        Fault::CutBody,
        Fault::Status(401),
        Fault::Unknown,
    ] {
        catalog.upstream().behave();
        catalog.fail_after(1, fault);
        assert!(sync().await.is_err(), "{fault:?}");
        assert_eq!(shown().await, Some(100), "{fault:?}");
    }
    catalog.upstream().behave();
    assert_eq!(sync().await, Ok((200, 200, 150)));
    assert_eq!(shown().await, Some(0));
    for asked in catalog.upstream().asked() {
        assert_eq!(asked.header("xi-api-key"), Some("k-theirs"));
    }
}
