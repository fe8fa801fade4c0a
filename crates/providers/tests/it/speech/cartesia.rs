//! Cartesia's format.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::StreamExt as _;
use offhook_engine::ports::speech::{
    Speech as _, SpeechError, SpeechPiece, Synthesizer, TextToSpeech, VoiceSettings, WordTime,
};
use offhook_providers::{SpeechProvider, SpeechTransport};
use serde_json::{Value, json};

use super::service::{Peer, Service};
use super::{endpoint, gather, refused, registry, sounding, words};
use crate::it::server::{Act, Server};

fn voice(base_url: &str, transport: SpeechTransport) -> Arc<dyn TextToSpeech> {
    let provider = SpeechProvider::Cartesia(endpoint(base_url), transport);
    registry(provider)
        .synthesizer("mine", &sounding("standard", "{}"))
        .unwrap()
}

async fn opened(service: &Service) -> (Box<dyn Synthesizer>, Peer) {
    let voice = voice(&service.base_url, SpeechTransport::WebSocket);
    let (mouth, peer) = tokio::join!(voice.open(sounding("standard", "{}")), service.accept());
    (mouth.unwrap(), peer)
}

fn chunk(context: &Value, count: usize) -> Value {
    let data = STANDARD.encode(vec![0xce; count]);
    json!({"type": "chunk", "data": data, "done": false, "status_code": 206, "step_time": 3, "context_id": context})
}

fn done(context: &Value) -> Value {
    json!({"type": "done", "done": true, "status_code": 206, "context_id": context})
}

fn asked(context: &str, transcript: &str) -> Value {
    json!({
        "model_id": "sonic-3.5", "voice": {"mode": "id", "id": "voice-1"}, "language": "es",
        "output_format": {"container": "raw", "encoding": "pcm_mulaw", "sample_rate": 8000},
        "context_id": context, "transcript": transcript, "continue": false, "add_timestamps": true
    })
}

#[tokio::test]
async fn a_text_is_spoken_in_a_context_of_its_own() {
    let service = Service::start().await;
    let voice = voice(&service.base_url, SpeechTransport::WebSocket);
    let settings = VoiceSettings {
        speed: 0.8,
        ..sounding("standard", r#"{"volume": 1.5, "emotion": "calm"}"#)
    };
    let (mouth, peer) = tokio::join!(voice.open(settings), service.accept());
    let (mouth, mut peer) = (mouth.unwrap(), peer);
    assert_eq!(peer.head.path, "/tts/websocket");
    assert!(peer.head.query.is_empty());
    assert_eq!(peer.head.header("authorization"), Some("Bearer key-1"));
    assert_eq!(peer.head.header("cartesia-version"), Some("2026-03-01"));

    let spoken = gather(mouth.speak(words("Hola, ¿qué tal?")));
    let service = async {
        let mut expected = asked("1", "Hola, ¿qué tal?");
        expected["generation_config"] = json!({"volume": 1.5, "emotion": "calm", "speed": 0.8});
        let context = json!("1");
        assert_eq!(peer.json().await, expected);
        peer.say(chunk(&context, 800)).await;
        peer.say(json!({
            "type": "timestamps", "done": false, "status_code": 206, "context_id": "1",
            "word_timestamps": {"words": ["Hola,", "qué"], "start": [0.0, 0.5], "end": [0.4, 0.75]}
        }))
        .await;
        peer.say(json!({"type": "flush_done", "flush_id": 1, "context_id": "1"}))
            .await;
        peer.say(json!({"type": "news", "context_id": "1"})).await;
        peer.say(chunk(&context, 160)).await;
        peer.say(done(&context)).await;
    };
    let ((samples, times, error), ()) = tokio::join!(spoken, service);
    assert_eq!((samples, error), (vec![988; 960], None));
    let word = |text_end, ms| WordTime {
        text_end,
        spoken_at: Duration::from_millis(ms),
    };
    assert_eq!(times, [word(5, 400), word(12, 750)]);
    drop(mouth);
    assert_eq!(peer.next().await, None);
}

#[tokio::test]
async fn a_text_that_is_cancelled_is_told_to_the_service() {
    let service = Service::start().await;
    let (mouth, mut peer) = opened(&service).await;
    let mut cancelled = mouth.speak(words("A long story."));
    let context = peer.json().await["context_id"].clone();
    peer.say(chunk(&context, 160)).await;
    let piece = cancelled.next().await;
    assert_eq!(piece, Some(Ok(SpeechPiece::Audio(vec![988; 160]))));
    drop(cancelled);
    let cancel = json!({"context_id": context, "cancel": true});
    assert_eq!(peer.json().await, cancel);
    let next = mouth.speak(words("Yes?"));
    let service = async {
        let other = peer.json().await["context_id"].clone();
        peer.say(chunk(&context, 160)).await;
        peer.say(done(&context)).await;
        peer.say(chunk(&other, 80)).await;
        peer.say(done(&other)).await;
    };
    let (next, ()) = tokio::join!(gather(next), service);
    assert_eq!((next.0.len(), next.2), (80, None));
}

#[tokio::test]
async fn a_failure_is_one_contexts_or_the_whole_connections() {
    let service = Service::start().await;
    let (mouth, mut peer) = opened(&service).await;
    let (one, two) = (mouth.speak(words("One.")), mouth.speak(words("Two.")));
    let service = async {
        let first = peer.json().await["context_id"].clone();
        let second = peer.json().await["context_id"].clone();
        peer.say(json!({
            "type": "error", "title": "secret", "message": "secret", "status_code": 429, "context_id": first
        }))
        .await;
        peer.say(chunk(&second, 80)).await;
        peer.say(json!({"type": "error", "message": "secret", "status_code": 500}))
            .await;
        assert_eq!(peer.next().await, None);
    };
    let (one, two, ()) = tokio::join!(gather(one), gather(two), service);
    assert_eq!((one.0.len(), one.2), (0, Some(SpeechError::Refused(429))));
    assert_eq!((two.0.len(), two.2), (80, Some(SpeechError::Refused(500))));
}

#[tokio::test]
async fn a_service_that_falls_silent_is_given_three_seconds_and_then_cancelled() {
    let service = Service::start().await;
    let (mouth, mut peer) = opened(&service).await;
    let spoken = tokio::spawn(gather(mouth.speak(words("Slow."))));
    let context = peer.json().await["context_id"].clone();
    peer.say(json!({"type": "chunk", "data": "", "context_id": "of another"}))
        .await;
    tokio::time::pause();
    let (_, _, error) = spoken.await.unwrap();
    assert_eq!(error, Some(SpeechError::Timeout));
    let cancel = json!({"context_id": context, "cancel": true});
    assert_eq!(peer.json().await, cancel);
}

#[tokio::test]
async fn a_service_that_is_gone_without_a_word_is_connected_to_again() {
    let service = Service::start().await;
    let (mouth, peer) = opened(&service).await;
    let spoken = tokio::spawn(gather(mouth.speak(words("One."))));
    tokio::time::pause();
    let (_, _, error) = spoken.await.unwrap();
    assert_eq!(error, Some(SpeechError::Timeout));
    tokio::time::resume();
    let spoken = mouth.speak(words("Two."));
    let again = async {
        let mut peer = service.accept().await;
        let context = peer.json().await["context_id"].clone();
        peer.say(chunk(&context, 80)).await;
        peer.say(done(&context)).await;
        peer
    };
    let ((samples, _, error), _again) = tokio::join!(gather(spoken), again);
    assert_eq!((samples.len(), error), (80, None));
    drop(peer);
}

#[tokio::test]
async fn a_break_or_a_malformed_message_ends_what_was_said() {
    for (broken, expected) in [
        (None, SpeechError::Unreachable),
        (
            Some("[]"),
            SpeechError::Protocol("a message is not of its form"),
        ),
        (
            Some(r#"{"type":"chunk","context_id":"1","data":"!"}"#),
            SpeechError::Protocol("its sound is not base64"),
        ),
    ] {
        let service = Service::start().await;
        let (mouth, mut peer) = opened(&service).await;
        let spoken = mouth.speak(words("One."));
        let breaking = async {
            let context = peer.json().await["context_id"].clone();
            peer.say(chunk(&context, 160)).await;
            match broken {
                Some(text) => peer.text(text).await,
                None => peer.cut(),
            }
        };
        let ((samples, _, error), ()) = tokio::join!(gather(spoken), breaking);
        assert_eq!((samples.len(), error), (160, Some(expected)));
    }
}

#[tokio::test]
async fn a_key_or_a_pace_that_is_refused_is_told() {
    for status in [401, 429] {
        let service = Service::start().await;
        let voice = voice(&service.base_url, SpeechTransport::WebSocket);
        let opening = voice.open(sounding("standard", "{}"));
        let (opened, ()) = tokio::join!(opening, service.refuse(status));
        assert_eq!(refused(opened.map(|_| ())), SpeechError::Refused(status));
    }
}

#[tokio::test]
async fn over_http_each_text_is_a_request() {
    let mut answer = b"HTTP/1.1 200 OK\r\ncontent-length: 160\r\n\r\n".to_vec();
    answer.extend([0xce; 160]);
    let server = Server::start(vec![Act::Send(answer)]).await.unwrap();
    let voice = voice(&server.base_url, SpeechTransport::Http);
    let mouth = voice.open(sounding("sonic-3", "{}")).await.unwrap();
    let (samples, _, error) = gather(mouth.speak(words("Hola."))).await;
    assert_eq!((samples, error), (vec![988; 160], None));
    let request = server.requests().remove(0);
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with("POST /v1/tts/bytes HTTP/1.1\r\n"),
        "{head}"
    );
    assert!(head.contains("\r\nauthorization: Bearer key-1"), "{head}");
    assert!(head.contains("\r\ncartesia-version: 2026-03-01"), "{head}");
    assert_eq!(
        serde_json::from_str::<Value>(body).unwrap(),
        json!({
            "model_id": "sonic-3", "voice": {"mode": "id", "id": "voice-1"}, "language": "es",
            "output_format": {"container": "raw", "encoding": "pcm_mulaw", "sample_rate": 8000},
            "transcript": "Hola."
        })
    );
}
