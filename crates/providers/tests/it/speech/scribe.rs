//! ElevenLabs' speech-to-text format.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use offhook_engine::ports::speech::{
    Recognizer, RecognizerEvent, RecognizerInput, Speech as _, SpeechError, SpeechToText,
};
use offhook_providers::{SpeechProvider, SpeechTransport};
use serde_json::{Value, json};

use super::service::{Peer, Service};
use super::{endpoint, frame, give, listening, refused, registry, rest};

fn ear(service: &Service) -> Arc<dyn SpeechToText> {
    let endpoint = endpoint(&service.base_url);
    let provider = SpeechProvider::ElevenLabs(endpoint, SpeechTransport::WebSocket);
    registry(provider)
        .recognizer("mine", &listening("scribe_v2_realtime", "{}"))
        .unwrap()
}

async fn opened(service: &Service) -> (Recognizer, Peer) {
    let ear = ear(service);
    let opening = ear.open(listening("scribe_v2_realtime", "{}"));
    let (recognizer, peer) = tokio::join!(opening, service.accept());
    (recognizer.unwrap(), peer)
}

fn chunk(frames: usize, commit: bool) -> Value {
    let sound = STANDARD.encode(vec![0xce; frames * 160]);
    json!({"message_type": "input_audio_chunk", "audio_base_64": sound, "commit": commit, "sample_rate": 8000})
}

#[tokio::test]
async fn sound_goes_out_in_tenths_of_a_second_and_a_pause_commits_it() {
    let service = Service::start().await;
    let (mut recognizer, mut peer) = opened(&service).await;
    assert_eq!(peer.head.path, "/v1/speech-to-text/realtime");
    assert_eq!(
        peer.head.query_line(),
        "model_id=scribe_v2_realtime&audio_format=ulaw_8000&commit_strategy=manual&language_code=es"
    );
    assert_eq!(peer.head.header("xi-api-key"), Some("key-1"));
    peer.say(json!({"message_type": "session_started", "session_id": "s", "config": {}}))
        .await;
    give(&recognizer, (0..7).map(|_| frame(1_000))).await;
    give(&recognizer, [RecognizerInput::Finalize]).await;
    assert_eq!(peer.json().await, chunk(5, false));
    assert_eq!(peer.json().await, chunk(2, true));
    peer.say(json!({"message_type": "partial_transcript", "text": "Buenos"}))
        .await;
    peer.say(json!({"message_type": "committed_transcript", "text": "Buenos días."}))
        .await;
    peer.say(json!({"message_type": "committed_transcript_with_timestamps", "text": "Buenos días.", "words": []}))
        .await;
    let mut heard = Vec::new();
    for _ in 0..3 {
        heard.extend(recognizer.events.recv().await);
    }
    use RecognizerEvent::{Final, Finalized, Partial};
    assert_eq!(
        heard,
        [
            Partial("Buenos".to_owned()),
            Final("Buenos días.".to_owned()),
            Finalized
        ]
    );
    give(&recognizer, [RecognizerInput::Finalize]).await;
    assert_eq!(peer.json().await, chunk(0, true));
    peer.say(json!({"message_type": "commit_throttled", "error": "secret"}))
        .await;
    assert_eq!(recognizer.events.recv().await, Some(Finalized));
    drop(recognizer.input);
    assert_eq!(peer.next().await, None);
}

#[tokio::test]
async fn words_lose_their_nul() {
    let service = Service::start().await;
    let (mut recognizer, mut peer) = opened(&service).await;
    for (kind, words) in [
        ("partial_transcript", "\0"),
        ("partial_transcript", "Buenos"),
        ("partial_transcript", "Buenos\0"),
        ("committed_transcript", "\0 Buenos\0 días."),
    ] {
        peer.say(json!({"message_type": kind, "text": words})).await;
    }
    let told = [
        recognizer.events.recv().await,
        recognizer.events.recv().await,
    ];
    use RecognizerEvent::{Final, Partial};
    let (guess, sure) = ("Buenos".to_owned(), "Buenos días.".to_owned());
    assert_eq!(told, [Some(Partial(guess)), Some(Final(sure))]);
}

#[tokio::test]
async fn a_reported_failure_ends_the_recognizer_and_tells_its_kind_alone() {
    for (kind, expected) in [
        ("auth_error", SpeechError::Refused(401)),
        ("rate_limited", SpeechError::Refused(429)),
        (
            "transcriber_error",
            SpeechError::Protocol("it reported an error"),
        ),
    ] {
        let service = Service::start().await;
        let (mut recognizer, mut peer) = opened(&service).await;
        peer.say(json!({"message_type": kind, "error": "secret"}))
            .await;
        assert_eq!(
            rest(&mut recognizer).await,
            [RecognizerEvent::Failed(expected)],
            "{kind}"
        );
    }
}

#[tokio::test]
async fn a_break_or_a_malformed_message_ends_the_recognizer() {
    for (broken, expected) in [
        (None, SpeechError::Unreachable),
        (
            Some("{"),
            SpeechError::Protocol("a message is not of its form"),
        ),
    ] {
        let service = Service::start().await;
        let (mut recognizer, mut peer) = opened(&service).await;
        match broken {
            Some(text) => peer.text(text).await,
            None => peer.cut(),
        }
        let expected = [RecognizerEvent::Failed(expected)];
        assert_eq!(rest(&mut recognizer).await, expected);
    }
}

#[tokio::test]
async fn a_key_or_a_pace_that_is_refused_is_told() {
    for status in [401, 429] {
        let service = Service::start().await;
        let ear = ear(&service);
        let opening = ear.open(listening("scribe_v2_realtime", "{}"));
        let (opened, ()) = tokio::join!(opening, service.refuse(status));
        assert_eq!(refused(opened), SpeechError::Refused(status));
    }
}
