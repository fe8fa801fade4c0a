//! The whole voice catalogs, against a fake: lists of many pages, lists that never end, absurd values, fees, and API
//! keys.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use offhook_domain::ports::{SharedVoice, VoiceAnswerFault, VoiceLibrary, VoiceLibraryError};
use offhook_domain::{Voice, VoiceList, VoiceProvider, VoiceSource};
use offhook_providers::{VoiceLibrarySettings, voice_library};
use offhook_testkit::fakes::voices::VoiceCatalog;
use offhook_testkit::upstream::{Answer, Fault, Upstream};
use serde_json::{Value, json};

use VoiceProvider::{A, B, C};

/// Makes a catalog's list endless.
type Mislead = fn(&VoiceCatalog);

/// The deployment's API key.
pub(crate) const OURS: &str = "k-ours";
/// An account's own API key.
pub(crate) const THEIRS: &str = "k-theirs";

pub(crate) fn library_at(provider: VoiceProvider, base_url: String) -> Arc<dyn VoiceLibrary> {
    let api_key = OURS.to_owned();
    let settings = VoiceLibrarySettings { base_url, api_key };
    voice_library(provider, &settings).unwrap()
}

pub(crate) fn library(provider: VoiceProvider, catalog: &VoiceCatalog) -> Arc<dyn VoiceLibrary> {
    library_at(provider, catalog.upstream().base_url())
}

/// A voice in the provider's format.
pub(crate) fn voice(provider: VoiceProvider, id: &str) -> Value {
    match provider {
        A => json!({"voice_id": id, "name": id, "category": "cloned"}),
        B => json!({"id": id, "name": id, "is_owner": true}),
        C => json!({"canonical_name": id, "name": id}),
    }
}

pub(crate) fn shared(id: &str) -> Value {
    json!({"voice_id": id, "public_owner_id": "owner", "name": id})
}

pub(crate) fn numbered(provider: VoiceProvider, count: usize) -> Vec<Value> {
    let id = |number| format!("voice-{number}");
    (0..count)
        .map(|number| voice(provider, &id(number)))
        .collect()
}

fn ids(voices: &VoiceList) -> Vec<String> {
    voices.iter().map(|voice| voice.voice_id).collect()
}

#[tokio::test]
async fn lists_of_many_pages_are_whole_in_order_and_each_voice_is_there_once() {
    let catalog = VoiceCatalog::start().await;
    let names: Vec<String> = (0..250).map(|number| format!("voice-{number}")).collect();
    for provider in [A, B, C] {
        let mut voices = numbered(provider, 250);
        // The list changed while it was read.
        voices.insert(100, voice(provider, "voice-99"));
        catalog.set(OURS, voices);
        let listed = library(provider, &catalog).voices().await.unwrap();
        assert_eq!(ids(&listed), names, "{provider}");
    }
    catalog.set(OURS, Vec::new());
    catalog.share(
        (0..250)
            .map(|number| shared(&format!("voice-{number}")))
            .collect(),
    );
    let listed = library(A, &catalog).voices().await.unwrap();
    assert_eq!(ids(&listed), names);
    assert!(listed.iter().all(|one| one.source == VoiceSource::Shared));
    let pages = catalog.upstream().asked_of("GET", "/v1/shared-voices");
    let pages: Vec<_> = pages
        .iter()
        .filter_map(|page| page.parameter("page"))
        .collect();
    assert_eq!(pages[pages.len() - 3..], ["0", "1", "2"]);
    for asked in catalog.upstream().asked() {
        let free = asked.parameter("include_custom_rates");
        let is_of_a = asked.header("xi-api-key").is_some();
        assert_eq!(
            free.as_deref(),
            is_of_a.then_some("false"),
            "{}",
            asked.path
        );
    }
}

#[tokio::test]
async fn an_empty_list_is_one() {
    let catalog = VoiceCatalog::start().await;
    catalog.set(OURS, Vec::new());
    for provider in [A, B, C] {
        let expected = Ok(VoiceList::default());
        assert_eq!(library(provider, &catalog).voices().await, expected);
    }
}

#[tokio::test]
async fn a_list_without_an_end_is_an_error() {
    let malformed = VoiceLibraryError::Malformed;
    let cut = || Err(malformed(VoiceAnswerFault::Cut));
    let endless = || Err(malformed(VoiceAnswerFault::Endless));
    for (mislead, expected) in [
        (VoiceCatalog::hide_next as Mislead, cut()),
        (VoiceCatalog::never_end as Mislead, endless()),
    ] {
        for provider in [A, B] {
            let catalog = VoiceCatalog::start().await;
            catalog.set(OURS, numbered(provider, 250));
            catalog.set(THEIRS, numbered(provider, 250));
            mislead(&catalog);
            let library = library(provider, &catalog);
            assert_eq!(library.voices().await, expected, "{provider}");
            let asked = catalog.upstream().asked().len();
            assert!(asked <= 1_000, "{asked}");
            assert_eq!(library.own_voices(THEIRS).await, expected, "{provider}");
        }
    }
    // The shared library, after a workspace that ends.
    let catalog = VoiceCatalog::start().await;
    catalog.set(OURS, Vec::new());
    catalog.share(vec![shared("s1")]);
    let library = library(A, &catalog);
    assert_eq!(ids(&library.voices().await.unwrap()), ["s1"]);
    catalog.hide_next();
    assert_eq!(library.voices().await, endless());
}

#[tokio::test]
async fn a_page_without_a_boolean_has_more_costs_the_list() {
    for (provider, path, list) in [
        (A, "/v2/voices", "voices"),
        (A, "/v1/shared-voices", "voices"),
        (B, "/voices", "data"),
    ] {
        for has_more in [None, Some(json!(null)), Some(json!("true")), Some(json!(0))] {
            let case = format!("{path} {has_more:?}");
            let upstream = Upstream::start(move |asked| {
                let mut page = json!({list: [{"voice_id": "v", "id": "v"}]});
                match &has_more {
                    _ if asked.path != path => page["has_more"] = json!(false),
                    Some(has_more) => page["has_more"] = has_more.clone(),
                    None => {}
                }
                Answer::json(200, &page)
            })
            .await;
            let listed = library_at(provider, upstream.base_url()).voices().await;
            let is_malformed = matches!(listed, Err(VoiceLibraryError::Malformed(_)));
            assert!(is_malformed, "{case}: {listed:?}");
        }
    }
}

#[tokio::test]
async fn an_invalid_element_or_an_id_with_nul_is_skipped() {
    let catalog = VoiceCatalog::start().await;
    for provider in [A, B, C] {
        let odd = [
            json!(5),
            json!("x"),
            json!(null),
            json!([]),
            voice(provider, "v\u{0}2"),
        ];
        let voices = [
            vec![voice(provider, "v1")],
            odd.to_vec(),
            vec![voice(provider, "v3")],
        ];
        catalog.set(OURS, voices.concat());
        let listed = library(provider, &catalog).voices().await.unwrap();
        assert_eq!(ids(&listed), ["v1", "v3"], "{provider}");
    }
    catalog.set(OURS, Vec::new());
    catalog.share(vec![json!(7), shared("s1"), json!("x")]);
    let listed = library(A, &catalog).voices().await.unwrap();
    assert_eq!(ids(&listed), ["s1"]);
}

#[tokio::test]
async fn an_absurd_value_costs_its_field_and_never_the_list() {
    let catalog = VoiceCatalog::start().await;
    let of_a = |more: Value| {
        let mut one = json!({"voice_id": "v", "name": "Ana", "category": "cloned"});
        one.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        one
    };
    let bare = Voice {
        provider: A,
        voice_id: "v".to_owned(),
        name: "Ana".to_owned(),
        gender: None,
        age: None,
        accent: None,
        language: None,
        languages: Vec::new(),
        locales: Vec::new(),
        description: None,
        use_case: None,
        preview_url: None,
        model_compat: Vec::new(),
        source: VoiceSource::Workspace,
        owner_id: None,
    };
    let texts = |list: &[&str]| {
        list.iter()
            .map(|text| (*text).to_owned())
            .collect::<Vec<_>>()
    };
    let preview = |url: &str| (json!({"preview_url": url}), bare.clone());
    let own = format!("{}/v1/history/1/audio", catalog.upstream().base_url());
    let cases = [
        (
            json!({"labels": null, "description": null, "preview_url": null, "verified_languages": null,
                "high_quality_base_model_ids": null, "sharing": null, "category": "cloned"}),
            bare.clone(),
        ),
        (
            json!({"labels": [1], "description": 7, "preview_url": {}, "verified_languages": "en",
                "high_quality_base_model_ids": {"a": 1}, "sharing": "no"}),
            bare.clone(),
        ),
        (
            json!({"labels": {"gender": "robot", "age": 35, "accent": ["x"], "language": "Klingon", "use_case": " "}}),
            bare.clone(),
        ),
        (
            json!({"labels": {"gender": "Female", "language": "ES"}}),
            Voice {
                gender: Some(offhook_domain::VoiceGender::Female),
                language: Some("es".to_owned()),
                languages: texts(&["es"]),
                ..bare.clone()
            },
        ),
        (
            json!({"labels": {"language": "fil"}, "verified_languages": [
                null, 7, {"language": "12", "locale": "xx_"}, {"language": "und", "locale": "es_MX"},
                {"locale": "not a locale", "model_id": 3}, {"language": "en", "model_id": " m-1 "},
                {"language": "en", "model_id": "m-1"},
            ], "high_quality_base_model_ids": ["m-2", null, "m-1", ""]}),
            Voice {
                // A language without a two-letter code is not a main language, but stays in the list.
                languages: texts(&["fil", "es", "en"]),
                locales: texts(&["es-MX"]),
                model_compat: texts(&["m-1", "m-2"]),
                ..bare.clone()
            },
        ),
        preview("javascript:alert(1)"),
        preview("data:audio/mp3;base64,AA"),
        preview("/relative.mp3"),
        preview("https://user:pass@previews.example.com/1.mp3"),
        preview(&own),
        (
            // The same machine, but not the provider's API.
            json!({"preview_url": "http://127.0.0.1:1/1.mp3"}),
            Voice {
                preview_url: Some("http://127.0.0.1:1/1.mp3".to_owned()),
                ..bare.clone()
            },
        ),
        (
            json!({"preview_url": " https://previews.example.com/1.mp3?x=1 "}),
            Voice {
                preview_url: Some("https://previews.example.com/1.mp3?x=1".to_owned()),
                ..bare.clone()
            },
        ),
        (
            json!({"name": " "}),
            Voice {
                name: "v".to_owned(),
                ..bare.clone()
            },
        ),
        (
            json!({"name": null}),
            Voice {
                name: "v".to_owned(),
                ..bare.clone()
            },
        ),
    ];
    for (more, expected) in cases {
        // Voices without an id are skipped; the others are not affected.
        let nameless = [
            json!(null),
            json!({"name": "Ana"}),
            json!({"voice_id": 7}),
            json!({"voice_id": ""}),
        ];
        let told = more.to_string();
        catalog.set(OURS, [&nameless[..], &[of_a(more)]].concat());
        let listed = library(A, &catalog).voices().await;
        assert_eq!(listed, Ok([expected].into()), "{told}");
    }

    let of_b = json!([
        null, {"id": null}, {"id": "b", "name": 5, "gender": "robot", "accent": null, "language": "xx-", "is_owner": "yes",
        "locales": [null, "es-MX", {"locale": null}, {"locale": "pt_BR"}], "preview_file_url": "https://api.example.com/1"},
    ]);
    catalog.set(OURS, of_b.as_array().unwrap().clone());
    let expected = Voice {
        provider: B,
        voice_id: "b".to_owned(),
        name: "b".to_owned(),
        language: Some("pt".to_owned()),
        languages: texts(&["pt"]),
        locales: texts(&["pt-BR"]),
        source: VoiceSource::Public,
        ..bare.clone()
    };
    assert_eq!(library(B, &catalog).voices().await, Ok([expected].into()));

    let of_c = json!([
        null, {"canonical_name": {}}, {"canonical_name": "c", "languages": [null, "multi", "en_GB"],
        "metadata": {"tags": [3, "robotic"], "use_cases": [" ", "Chat"], "sample": 1, "age": [], "accent": " "}},
    ]);
    catalog.set(OURS, of_c.as_array().unwrap().clone());
    let expected = Voice {
        provider: C,
        voice_id: "c".to_owned(),
        name: "c".to_owned(),
        language: Some("en".to_owned()),
        languages: texts(&["en"]),
        locales: texts(&["en-GB"]),
        use_case: Some("Chat".to_owned()),
        model_compat: texts(&["c"]),
        source: VoiceSource::Public,
        ..bare
    };
    assert_eq!(library(C, &catalog).voices().await, Ok([expected].into()));
}

#[tokio::test]
async fn voices_that_cost_extra_are_left_out_however_the_fee_is_written() {
    let catalog = VoiceCatalog::start().await;
    let rates = [
        (json!({}), true),
        (json!({"rate": null, "fiat_rate": null}), true),
        (json!({"rate": 1}), true),
        (json!({"rate": 0.5}), true),
        (json!({"rate": 1.01}), false),
        (json!({"rate": 3}), false),
        (json!({"rate": 1, "fiat_rate": 0.3}), false),
        // Its cost is unknown.
        (json!({"rate": "2.0"}), false),
        (json!({"fiat_rate": {"usd": 1}}), false),
    ];
    let number = |at: usize| format!("v{at}");
    let mut workspace = Vec::new();
    let mut library_of = Vec::new();
    let mut free = Vec::new();
    for (at, (rate, is_free)) in rates.into_iter().enumerate() {
        workspace
            .push(json!({"voice_id": number(at), "category": "professional", "sharing": rate}));
        let mut one = shared(&format!("s-{}", number(at)));
        one.as_object_mut()
            .unwrap()
            .extend(rate.as_object().unwrap().clone());
        // A workspace voice with the same fields as the library's.
        let mut open = one.clone();
        open["voice_id"] = json!(format!("w-{}", number(at)));
        workspace.push(open);
        library_of.push(one);
        if is_free {
            free.push(number(at));
        }
    }
    catalog.set(OURS, workspace.clone());
    catalog.set(THEIRS, workspace);
    catalog.share(library_of);
    let library = library(A, &catalog);
    let own: Vec<String> = free
        .iter()
        .flat_map(|id| [id.clone(), format!("w-{id}")])
        .collect();
    let of_library = free.iter().map(|id| format!("s-{id}"));
    let all: Vec<String> = own.iter().cloned().chain(of_library).collect();
    assert_eq!(ids(&library.voices().await.unwrap()), all);
    assert_eq!(ids(&library.own_voices(THEIRS).await.unwrap()), own);
}

#[tokio::test]
async fn a_shared_voice_can_be_added_once_and_again_and_is_then_the_workspaces() {
    let catalog = VoiceCatalog::start().await;
    catalog.set(OURS, Vec::new());
    catalog.share(vec![shared("s1"), shared("s2")]);
    catalog.have_room(1);
    let library = library(A, &catalog);
    let named = |id: &str| SharedVoice {
        owner_id: "owner".to_owned(),
        voice_id: id.to_owned(),
        name: "Lucía".to_owned(),
    };
    // The provider added it, but the response was lost: repeating the request is harmless.
    catalog
        .upstream()
        .fail("POST", "/v1/voices/add/", Fault::LoseAnswer, 1);
    let lost = library.add_shared(&named("s1")).await;
    assert_eq!(lost, Err(VoiceLibraryError::Unreachable));
    assert_eq!(library.add_shared(&named("s1")).await, Ok(()));
    assert_eq!(catalog.listed(OURS).len(), 1);
    let full = library.add_shared(&named("s2")).await;
    assert_eq!(full, Err(VoiceLibraryError::Full));
    let gone = library.add_shared(&named("s3")).await;
    assert_eq!(gone, Err(VoiceLibraryError::NotShared));
    let listed = library.voices().await.unwrap();
    let shown: Vec<_> = listed
        .iter()
        .map(|one| (one.voice_id, one.source))
        .collect();
    assert_eq!(shown[0], ("s1".to_owned(), VoiceSource::Workspace));
    assert!(shown.contains(&("s2".to_owned(), VoiceSource::Shared)));
}

#[tokio::test]
async fn a_busy_provider_is_asked_again_after_its_retry_after() {
    let catalog = VoiceCatalog::start().await;
    catalog.set(OURS, numbered(B, 250));
    for fault in [Fault::RetryAfter(429, 30), Fault::Status(429)] {
        catalog.upstream().fail("GET", "/voices", fault, 2);
        let library = library(B, &catalog);
        let before = catalog.upstream().asked().len();
        tokio::time::pause();
        let began = tokio::time::Instant::now();
        let listed = library.voices().await.unwrap();
        let took = began.elapsed();
        tokio::time::resume();
        assert_eq!(listed.len(), 250);
        assert_eq!(catalog.upstream().asked().len() - before, 5);
        let waited = match fault {
            Fault::RetryAfter(_, seconds) => Duration::from_secs(2 * seconds),
            _ => Duration::from_secs(2),
        };
        assert!(took >= waited, "{took:?}");
    }
}

#[tokio::test]
async fn a_busy_provider_that_names_a_date_is_asked_again_all_the_same() {
    let is_busy = AtomicBool::new(true);
    let upstream = Upstream::start(move |_| match is_busy.swap(false, Ordering::SeqCst) {
        true => Answer::empty(429).with("retry-after", "Wed, 18 Nov 2026 07:28:00 GMT"),
        false => Answer::json(200, &json!({"data": [], "has_more": false})),
    })
    .await;
    let library = library_at(B, upstream.base_url());
    assert_eq!(library.voices().await, Ok(VoiceList::default()));
    assert_eq!(upstream.asked().len(), 2);
}

#[tokio::test]
async fn an_accounts_own_credential_alone_asks_for_its_voices() {
    let catalog = VoiceCatalog::start().await;
    for (provider, expected) in [(A, 150), (B, 150), (C, 0)] {
        catalog.set(OURS, numbered(provider, 3));
        catalog.set(THEIRS, numbered(provider, 150));
        let before = catalog.upstream().asked().len();
        let own = library(provider, &catalog)
            .own_voices(THEIRS)
            .await
            .unwrap();
        assert_eq!(own.len(), expected);
        assert!(own.iter().all(|voice| voice.source == VoiceSource::Custom));
        for asked in &catalog.upstream().asked()[before..] {
            let said = format!("{:?}", asked.headers);
            assert!(said.contains(THEIRS) && !said.contains(OURS), "{said}");
        }
    }
    let refused = library(A, &catalog).own_voices("k-unknown").await;
    assert_eq!(refused, Err(VoiceLibraryError::Refused(401)));
}
