//! The three voice lists, field by field, each against a fake with that provider's wire format.
use std::sync::Arc;

use offhook_domain::ports::{VoiceLibrary, VoiceLibraryError};
use offhook_domain::{Voice, VoiceGender, VoiceProvider, VoiceSource};
use offhook_providers::{VoiceLibrarySettings, voice_library};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

pub(crate) type Requests = Arc<Mutex<Vec<String>>>;

/// A provider that answers each target as the test says, and its requests as received.
pub(crate) async fn provider(answer: fn(&str) -> (u16, Value)) -> (String, Requests) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let requests = Requests::default();
    let heads = Arc::clone(&requests);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0; 1];
                if socket.read_exact(&mut byte).await.is_err() {
                    break;
                }
                head.push(byte[0]);
            }
            let head = String::from_utf8_lossy(&head).into_owned();
            let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
            if socket.read_exact(&mut body).await.is_err() {
                continue;
            }
            let request = head + &String::from_utf8_lossy(&body);
            heads.lock().push(request);
            let (status, body) = answer(&target);
            let body = body.to_string();
            let text = format!(
                "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = socket.write_all(text.as_bytes()).await;
        }
    });
    (base, requests)
}

pub(crate) fn library(provider: VoiceProvider, base_url: String) -> Arc<dyn VoiceLibrary> {
    let api_key = "k-123".to_owned();
    let settings = VoiceLibrarySettings { base_url, api_key };
    voice_library(provider, &settings).unwrap()
}

pub(crate) fn targets(requests: &Requests) -> Vec<String> {
    let heads = requests.lock();
    let target = |head: &String| head.split(' ').nth(1).unwrap_or_default().to_owned();
    heads.iter().map(target).collect()
}

fn texts<const N: usize>(list: [&str; N]) -> Vec<String> {
    list.map(str::to_owned).to_vec()
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// A voice with only its required fields.
fn bare(provider: VoiceProvider, id: &str, source: VoiceSource) -> Voice {
    Voice {
        provider,
        voice_id: id.to_owned(),
        name: id.to_owned(),
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
        source,
        owner_id: None,
    }
}

fn answer_a(target: &str) -> (u16, Value) {
    let body = match target {
        "/v2/voices?page_size=100&include_total_count=false&include_custom_rates=false" => json!({
            "voices": [
                {
                    "voice_id": "w1",
                    "name": "Sarah",
                    "category": "premade",
                    "labels": {"gender": "female", "age": "young", "accent": "american", "language": "en", "use_case": "news", "descriptive": "soft"},
                    "description": "Young and clear.",
                    "preview_url": "https://previews.example.com/w1.mp3",
                    "high_quality_base_model_ids": ["model-1"],
                    "verified_languages": [
                        {"language": "en", "model_id": "model-2", "accent": "american", "locale": "en-US", "preview_url": null},
                        {"language": "es", "model_id": "model-2", "accent": "mexican", "locale": "es-MX", "preview_url": null},
                        {"language": "es", "model_id": "model-3", "accent": null, "locale": null, "preview_url": null},
                    ],
                    "sharing": null,
                },
                {"voice_id": "w2", "name": "Of library, with a fee", "category": "professional", "sharing": {"rate": 1.5, "fiat_rate": null}},
            ],
            "has_more": true,
            "total_count": null,
            "next_page_token": "t 2",
        }),
        "/v2/voices?page_size=100&include_total_count=false&include_custom_rates=false&next_page_token=t+2" =>
        {
            json!({
                "voices": [
                    {
                        "voice_id": "w3",
                        "name": "Clone",
                        "category": "cloned",
                        "labels": {"gender": "robot"},
                        "description": "",
                        "preview_url": null,
                        "high_quality_base_model_ids": ["model-1"],
                        "verified_languages": null,
                        "sharing": {"rate": 1.0, "fiat_rate": null},
                    },
                    {"voice_id": "w4", "name": null, "category": "generated", "labels": null},
                ],
                "has_more": false,
                "next_page_token": null,
            })
        }
        "/v1/shared-voices?page_size=100&page=0&include_custom_rates=false" => json!({
            "voices": [
                {
                    "public_owner_id": "o1",
                    "voice_id": "s1",
                    "date_unix": 1_714_000_000,
                    "name": "Lucía",
                    "gender": "female",
                    "age": "middle_aged",
                    "accent": "mexican",
                    "descriptive": "calm",
                    "language": "es",
                    "locale": "es-MX",
                    "use_case": "conversational",
                    "category": "professional",
                    "description": "Warm.",
                    "preview_url": "https://previews.example.com/s1.mp3",
                    "rate": 1.0,
                    "fiat_rate": null,
                    "verified_languages": [{"language": "es", "model_id": "model-2", "locale": "es-MX"}],
                },
                {"voice_id": "s2", "name": "Dear", "rate": 2.0, "fiat_rate": null},
                {"voice_id": "s3", "name": "Dear too", "rate": 1.0, "fiat_rate": 0.3},
            ],
            "has_more": true,
            "last_sort_id": "x",
        }),
        "/v1/shared-voices?page_size=100&page=1&include_custom_rates=false" => json!({
            "voices": [{"voice_id": "s4", "name": " ", "gender": "neutral", "rate": null, "fiat_rate": null}],
            "has_more": false,
        }),
        other => return (404, json!({"asked": other})),
    };
    (200, body)
}

#[tokio::test]
async fn provider_a_lists_its_workspace_and_its_library_without_voices_that_cost_more() {
    let (base, requests) = provider(answer_a).await;
    let library = library(VoiceProvider::A, base);
    let voices = library.voices().await.unwrap();
    let expected = [
        Voice {
            name: "Sarah".to_owned(),
            gender: Some(VoiceGender::Female),
            age: some("young"),
            accent: some("american"),
            language: some("en"),
            languages: texts(["en", "es"]),
            locales: texts(["en-US", "es-MX"]),
            description: some("Young and clear."),
            use_case: some("news"),
            preview_url: some("https://previews.example.com/w1.mp3"),
            model_compat: texts(["model-2", "model-3", "model-1"]),
            ..bare(VoiceProvider::A, "w1", VoiceSource::Public)
        },
        Voice {
            name: "Clone".to_owned(),
            model_compat: texts(["model-1"]),
            ..bare(VoiceProvider::A, "w3", VoiceSource::Workspace)
        },
        bare(VoiceProvider::A, "w4", VoiceSource::Workspace),
        Voice {
            name: "Lucía".to_owned(),
            gender: Some(VoiceGender::Female),
            age: some("middle_aged"),
            accent: some("mexican"),
            language: some("es"),
            languages: texts(["es"]),
            locales: texts(["es-MX"]),
            description: some("Warm."),
            use_case: some("conversational"),
            preview_url: some("https://previews.example.com/s1.mp3"),
            model_compat: texts(["model-2"]),
            owner_id: some("o1"),
            ..bare(VoiceProvider::A, "s1", VoiceSource::Shared)
        },
        Voice {
            gender: Some(VoiceGender::Neutral),
            ..bare(VoiceProvider::A, "s4", VoiceSource::Shared)
        },
    ];
    assert_eq!(voices, expected.into());
    assert_eq!(targets(&requests).len(), 4);
    let heads = requests.lock();
    assert!(
        heads
            .iter()
            .all(|head| head.contains("xi-api-key: k-123\r\n"))
    );
}

#[tokio::test]
async fn provider_a_lists_with_an_accounts_key_what_is_in_its_workspace_and_not_everyones() {
    let (base, requests) = provider(answer_a).await;
    let voices = library(VoiceProvider::A, base).own_voices("k-own").await;
    let expected = [
        Voice {
            name: "Clone".to_owned(),
            model_compat: texts(["model-1"]),
            ..bare(VoiceProvider::A, "w3", VoiceSource::Custom)
        },
        bare(VoiceProvider::A, "w4", VoiceSource::Custom),
    ];
    assert_eq!(voices, Ok(expected.into()));
    let heads = requests.lock();
    assert_eq!(heads.len(), 2);
    for head in heads.iter() {
        assert!(head.contains("xi-api-key: k-own\r\n"), "{head}");
        assert!(!head.contains("k-123"), "{head}");
    }
}

fn answer_b(target: &str) -> (u16, Value) {
    let body = match target {
        "/base/voices?limit=100" => json!({
            "data": [
                {
                    "id": "b1",
                    "is_owner": false,
                    "is_public": true,
                    "name": "Daniela",
                    "description": "Calm and trusting.",
                    "gender": "feminine",
                    "created_at": "2024-11-16T01:01:05Z",
                    "language": "es",
                    "accent": "mexican",
                    "locales": [{"locale": "es-MX"}, {"locale": "es-US"}, {"locale": "en-US"}],
                    "preview_file_url": "https://files.example.com/b1",
                },
                {"id": "b2", "is_owner": false, "is_public": true, "name": "Gus", "description": "", "gender": "masculine", "language": "pt", "accent": null, "locales": null},
            ],
            "has_more": true,
            "next_page": "b2",
        }),
        "/base/voices?limit=100&starting_after=b2" => json!({
            "data": [{"id": "b3", "is_owner": true, "is_public": false, "name": "Ours", "gender": "gender_neutral", "language": "english"}],
            "has_more": false,
            "next_page": null,
        }),
        other => return (404, json!({"asked": other})),
    };
    (200, body)
}

#[tokio::test]
async fn provider_b_lists_one_page_behind_the_other_and_shows_no_preview() {
    let (base, requests) = provider(answer_b).await;
    let library = library(VoiceProvider::B, format!("{base}/base/"));
    let voices = library.voices().await.unwrap();
    let expected = [
        Voice {
            name: "Daniela".to_owned(),
            gender: Some(VoiceGender::Female),
            accent: some("mexican"),
            language: some("es"),
            languages: texts(["es", "en"]),
            locales: texts(["es-MX", "es-US", "en-US"]),
            description: some("Calm and trusting."),
            ..bare(VoiceProvider::B, "b1", VoiceSource::Public)
        },
        Voice {
            name: "Gus".to_owned(),
            gender: Some(VoiceGender::Male),
            language: some("pt"),
            languages: texts(["pt"]),
            ..bare(VoiceProvider::B, "b2", VoiceSource::Public)
        },
        Voice {
            name: "Ours".to_owned(),
            gender: Some(VoiceGender::Neutral),
            ..bare(VoiceProvider::B, "b3", VoiceSource::Workspace)
        },
    ];
    assert_eq!(voices, expected.into());
    let heads = requests.lock();
    assert_eq!(heads.len(), 2);
    for head in heads.iter() {
        assert!(head.contains("authorization: Bearer k-123\r\n"), "{head}");
        assert!(head.contains("-version: 2026-03-01\r\n"), "{head}");
    }
}

#[tokio::test]
async fn provider_b_lists_with_an_accounts_key_what_its_owner_made() {
    let (base, requests) = provider(answer_b).await;
    let library = library(VoiceProvider::B, format!("{base}/base/"));
    let expected = [Voice {
        name: "Ours".to_owned(),
        gender: Some(VoiceGender::Neutral),
        ..bare(VoiceProvider::B, "b3", VoiceSource::Custom)
    }];
    assert_eq!(library.own_voices("k-own").await, Ok(expected.into()));
    let unfit = library.own_voices("k\n").await;
    assert_eq!(unfit, Err(VoiceLibraryError::Credential));
    let heads = requests.lock();
    assert_eq!(heads.len(), 2);
    assert!(
        heads
            .iter()
            .all(|head| head.contains("authorization: Bearer k-own\r\n"))
    );
}

fn answer_c(target: &str) -> (u16, Value) {
    if target != "/v1/models" {
        return (404, json!({"asked": target}));
    }
    let body = json!({
        "stt": [{"name": "general", "canonical_name": "listens", "languages": ["en"]}],
        "tts": [
            {
                "name": "estrella",
                "canonical_name": "two-estrella-es",
                "architecture": "two",
                "languages": ["es", "es-MX"],
                "version": "2025-05-01.0",
                "uuid": "b50880e3-4e2e-4e53-ba27-ea0472bf2cf4",
                "metadata": {
                    "accent": "Mexican",
                    "age": "Mature",
                    "color": "#BA80F5",
                    "image": "https://static.example.com/estrella.jpg",
                    "sample": "https://static.example.com/estrella.wav",
                    "tags": ["feminine", "approachable", "natural"],
                    "use_cases": ["Casual chat", "Interview"],
                },
            },
            {"name": "zeus", "canonical_name": "two-zeus-en", "languages": ["en", "en-US"], "metadata": {"tags": ["masculine"]}},
            {"canonical_name": "two-x"},
        ],
        "languages": {"es": "Spanish"},
    });
    (200, body)
}

#[tokio::test]
async fn provider_c_lists_the_models_that_speak() {
    let (base, requests) = provider(answer_c).await;
    let voices = library(VoiceProvider::C, base).voices().await.unwrap();
    let compat = |id: &str| vec![id.to_owned()];
    let expected = [
        Voice {
            name: "estrella".to_owned(),
            gender: Some(VoiceGender::Female),
            age: some("Mature"),
            accent: some("Mexican"),
            language: some("es"),
            languages: texts(["es"]),
            locales: texts(["es-MX"]),
            use_case: some("Casual chat"),
            preview_url: some("https://static.example.com/estrella.wav"),
            model_compat: compat("two-estrella-es"),
            ..bare(VoiceProvider::C, "two-estrella-es", VoiceSource::Public)
        },
        Voice {
            name: "zeus".to_owned(),
            gender: Some(VoiceGender::Male),
            language: some("en"),
            languages: texts(["en"]),
            locales: texts(["en-US"]),
            model_compat: compat("two-zeus-en"),
            ..bare(VoiceProvider::C, "two-zeus-en", VoiceSource::Public)
        },
        Voice {
            model_compat: compat("two-x"),
            ..bare(VoiceProvider::C, "two-x", VoiceSource::Public)
        },
    ];
    assert_eq!(voices, expected.into());
    let heads = requests.lock();
    assert!(heads[0].contains("authorization: Token k-123\r\n"));
}

#[test]
fn wrong_settings_are_told_with_the_provider_and_without_the_key() {
    let said = |base_url: &str, api_key: &str| {
        let settings = VoiceLibrarySettings {
            base_url: base_url.to_owned(),
            api_key: api_key.to_owned(),
        };
        assert!(!format!("{settings:?}").contains("k-1"));
        let error = voice_library(VoiceProvider::B, &settings).err();
        error.map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(said("https://voices.example.com", "k-1"), "");
    let expected = "provider `provider_b`: base_url must be a whole http or https URL without query or fragment";
    assert_eq!(said("voices.example.com", "k-1"), expected);
    let expected = "provider `provider_b`: api_key holds characters that no HTTP header can carry";
    assert_eq!(said("https://voices.example.com", "k-1\n"), expected);
}
