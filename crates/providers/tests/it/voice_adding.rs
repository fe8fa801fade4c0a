//! Adding a voice of the shared library to the workspace, against a fake of the provider.

use offhook_domain::VoiceProvider;
use offhook_domain::ports::{SharedVoice, VoiceAnswerFault, VoiceLibraryError};
use serde_json::{Value, json};

use crate::it::voices::{library, provider, targets};

/// The request that adds the voice.
const ADD: &str = "/base/v1/voices/add/owner%2F1/s%201";

/// The voice in the workspace.
const LOOK: &str = "/base/v1/voices/s%201";

fn lucia() -> SharedVoice {
    SharedVoice {
        owner_id: "owner/1".to_owned(),
        voice_id: "s 1".to_owned(),
        name: "Lucía \"la\" 1".to_owned(),
    }
}

/// The result of adding at a provider with these responses, and its requests.
async fn add(
    answer: fn(&str) -> (u16, Value),
) -> (Result<(), VoiceLibraryError>, Vec<String>, Vec<String>) {
    let (base, requests) = provider(answer).await;
    let library = library(VoiceProvider::A, format!("{base}/base"));
    let result = library.add_shared(&lucia()).await;
    let asked = requests.lock().clone();
    (result, targets(&requests), asked)
}

#[tokio::test]
async fn a_shared_voice_is_added_under_its_owner_by_its_name() {
    let (result, targets, asked) = add(|_| (200, json!({"voice_id": "s 1"}))).await;
    assert_eq!(result, Ok(()));
    assert_eq!(targets, [ADD]);
    let (head, body) = asked[0].split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST "), "{head}");
    for header in ["xi-api-key: k-123", "content-type: application/json"] {
        assert!(head.lines().any(|line| line == header), "{head}");
    }
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body, json!({"new_name": "Lucía \"la\" 1"}));
}

#[tokio::test]
async fn a_voice_that_is_there_already_is_added_if_the_workspace_has_it() {
    for status in ["voice_already_cloned", "voice_already_exists"] {
        let refusal = match status {
            "voice_already_cloned" => |target: &str| match target {
                LOOK => (200, json!({"voice_id": "s 1"})),
                _ => (
                    400,
                    json!({"detail": {"status": "voice_already_cloned", "message": "words"}}),
                ),
            },
            _ => |target: &str| match target {
                LOOK => (200, json!({"voice_id": "s 1"})),
                _ => (
                    409,
                    json!({"detail": {"status": "voice_already_exists", "message": "words"}}),
                ),
            },
        };
        let (result, targets, asked) = add(refusal).await;
        assert_eq!(result, Ok(()), "{status}");
        assert_eq!(targets, [ADD, LOOK]);
        assert!(asked[1].starts_with("GET ") && asked[1].contains("xi-api-key: k-123\r\n"));
    }
    let (result, targets, _) = add(|target| match target {
        LOOK => (400, json!({"detail": {"status": "voice_not_found"}})),
        _ => (400, json!({"detail": {"status": "voice_already_cloned"}})),
    })
    .await;
    assert_eq!(result, Err(VoiceLibraryError::Refused(400)));
    assert_eq!(targets, [ADD, LOOK]);
}

#[tokio::test]
async fn a_refusal_is_reported_by_kind_without_the_providers_text() {
    type Case = (fn(&str) -> (u16, Value), VoiceLibraryError);
    let form = VoiceLibraryError::Malformed(VoiceAnswerFault::NotJson);
    let cases: [Case; 7] = [
        (
            |_| {
                (
                    400,
                    json!({"detail": {"status": "voice_limit_reached", "message": "10 / 10"}}),
                )
            },
            VoiceLibraryError::Full,
        ),
        (
            |_| (400, json!({"detail": {"status": "voice_not_found"}})),
            VoiceLibraryError::NotShared,
        ),
        (
            |_| (401, json!({"detail": {"status": "invalid_api_key"}})),
            VoiceLibraryError::Refused(401),
        ),
        (
            |_| (422, json!({"detail": [{"loc": ["body"], "msg": "words"}]})),
            VoiceLibraryError::Refused(422),
        ),
        (|_| (500, json!(null)), VoiceLibraryError::Refused(500)),
        (|_| (200, json!({"ok": true})), form),
        (
            |_| (200, json!({"voice_id": "another"})),
            VoiceLibraryError::Malformed(VoiceAnswerFault::OtherVoice),
        ),
    ];
    for (answer, error) in cases {
        let (result, targets, _) = add(answer).await;
        assert_eq!(result, Err(error));
        assert_eq!(targets, [ADD]);
    }
    let down = library(VoiceProvider::A, "http://127.0.0.1:9".to_owned());
    let result = down.add_shared(&lucia()).await;
    assert_eq!(result, Err(VoiceLibraryError::Unreachable));
    // The other providers have no shared library.
    for provider_id in [VoiceProvider::B, VoiceProvider::C] {
        let library = library(provider_id, "http://127.0.0.1:9".to_owned());
        let result = library.add_shared(&lucia()).await;
        assert_eq!(result, Err(VoiceLibraryError::NotShared));
    }
}
