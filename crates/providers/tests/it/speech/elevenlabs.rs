//! ElevenLabs' text-to-speech format.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::StreamExt as _;
use offhook_engine::ports::speech::{
    Speech as _, SpeechError, SpeechPiece, SpokenText, Synthesizer, TextToSpeech, VoiceSettings,
    WordTime,
};
use offhook_providers::{SpeechProvider, SpeechTransport};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::service::{Peer, Service};
use super::{KEY, endpoint, gather, refused, registry, sounding, words};
use crate::it::server::{Act, Server};

const SETTINGS: &str = r#"{"stability": 0.4, "use_speaker_boost": false, "seed": 7}"#;

fn voice(base_url: &str, transport: SpeechTransport) -> Arc<dyn TextToSpeech> {
    let provider = SpeechProvider::ElevenLabs(endpoint(base_url), transport);
    registry(provider)
        .synthesizer("mine", &sounding("flash", "{}"))
        .unwrap()
}

async fn opened(service: &Service) -> (Box<dyn Synthesizer>, Peer) {
    let voice = voice(&service.base_url, SpeechTransport::WebSocket);
    let (mouth, peer) = tokio::join!(voice.open(sounding("flash", "{}")), service.accept());
    (mouth.unwrap(), peer)
}

/// `count` samples of µ-law 0xce, which is about 1000.
fn audio(count: usize) -> String {
    STANDARD.encode(vec![0xce; count])
}

fn alignment(text: &str) -> Value {
    let chars: Vec<String> = text.chars().map(String::from).collect();
    let starts: Vec<usize> = (0..chars.len()).map(|at| at * 10).collect();
    json!({"chars": chars, "charStartTimesMs": starts, "charDurationsMs": vec![10; starts.len()]})
}

/// Reads the request for one text, and returns its context.
async fn asked(peer: &mut Peer, text: &str) -> String {
    let first = peer.json().await;
    let context = first["context_id"].as_str().unwrap().to_owned();
    assert_eq!(first["text"], " ");
    let expected = json!({"text": format!("{text} "), "context_id": context, "flush": true});
    assert_eq!(peer.json().await, expected);
    let expected = json!({"context_id": context, "close_context": true});
    assert_eq!(peer.json().await, expected);
    context
}

#[tokio::test]
async fn a_text_is_spoken_in_a_context_of_its_own() {
    let service = Service::start().await;
    let voice = voice(&service.base_url, SpeechTransport::WebSocket);
    let settings = VoiceSettings {
        speed: 1.1,
        ..sounding("flash", SETTINGS)
    };
    let (mouth, peer) = tokio::join!(voice.open(settings), service.accept());
    let (mouth, mut peer) = (mouth.unwrap(), peer);
    let expected = "/v1/text-to-speech/voice-1/multi-stream-input";
    assert_eq!(peer.head.path, expected);
    assert_eq!(
        peer.head.query_line(),
        "model_id=eleven_flash_v2_5&output_format=ulaw_8000&auto_mode=true&sync_alignment=true\
         &inactivity_timeout=180&language_code=es&seed=7"
    );
    assert_eq!(peer.head.header("xi-api-key"), Some(KEY));

    let spoken = gather(mouth.speak(words("Hola, ¿qué tal?")));
    let service = async {
        let manner = json!({"stability": 0.4, "use_speaker_boost": false, "speed": 1.1});
        let first = json!({"text": " ", "context_id": "1", "voice_settings": manner});
        assert_eq!(peer.json().await, first);
        let rest = json!({"text": "Hola, ¿qué tal? ", "context_id": "1", "flush": true});
        assert_eq!(peer.json().await, rest);
        let last = json!({"context_id": "1", "close_context": true});
        assert_eq!(peer.json().await, last);
        peer.say(json!({
            "audio": audio(800), "alignment": alignment("Hola, "), "contextId": "1",
            "normalizedAlignment": null, "isFinal": null, "novelty": {"of": 1}
        }))
        .await;
        peer.say(
            json!({"audio": audio(1_600), "alignment": alignment("¿qué tal?"), "contextId": "1"}),
        )
        .await;
        peer.say(json!({"isFinal": true, "contextId": "1"})).await;
    };
    let ((samples, times, error), ()) = tokio::join!(spoken, service);
    assert_eq!(error, None);
    assert_eq!(samples.len(), 2_400);
    assert!(
        samples.iter().all(|sample| *sample == 988),
        "{}",
        samples[0]
    );
    let word = |text_end, ms| WordTime {
        text_end,
        spoken_at: Duration::from_millis(ms),
    };
    assert_eq!(times, [word(5, 50), word(12, 140), word(17, 190)]);
    drop(mouth);
    assert_eq!(peer.next().await, None);
}

#[tokio::test]
async fn two_texts_share_the_connection_and_do_not_mix() {
    let service = Service::start().await;
    let (mouth, mut peer) = opened(&service).await;
    let (one, two) = (mouth.speak(words("One.")), mouth.speak(words("Two.")));
    let service = async {
        let first = asked(&mut peer, "One.").await;
        let second = asked(&mut peer, "Two.").await;
        peer.say(json!({"audio": audio(160), "contextId": second}))
            .await;
        peer.say(json!({"audio": audio(320), "contextId": first}))
            .await;
        peer.say(json!({"isFinal": true, "contextId": second}))
            .await;
        peer.say(json!({"isFinal": true, "contextId": first})).await;
    };
    let (one, two, ()) = tokio::join!(gather(one), gather(two), service);
    assert_eq!((one.0.len(), one.2), (320, None));
    assert_eq!((two.0.len(), two.2), (160, None));
}

#[tokio::test]
async fn a_text_that_is_cancelled_is_heard_no_more_and_the_next_one_is() {
    let service = Service::start().await;
    let (mouth, mut peer) = opened(&service).await;
    let mut cancelled = mouth.speak(words("A long story."));
    let context = asked(&mut peer, "A long story.").await;
    peer.say(json!({"audio": audio(160), "contextId": context}))
        .await;
    let piece = cancelled.next().await;
    assert_eq!(piece, Some(Ok(SpeechPiece::Audio(vec![988; 160]))));
    drop(cancelled);
    let next = mouth.speak(words("Yes?"));
    let service = async {
        let other = asked(&mut peer, "Yes?").await;
        peer.say(json!({"audio": audio(160), "contextId": context}))
            .await;
        peer.say(json!({"isFinal": true, "contextId": context}))
            .await;
        peer.say(json!({"audio": audio(80), "contextId": other}))
            .await;
        peer.say(json!({"isFinal": true, "contextId": other})).await;
    };
    let (next, ()) = tokio::join!(gather(next), service);
    assert_eq!((next.0.len(), next.2), (80, None));
}

#[tokio::test]
async fn a_first_byte_is_waited_for_and_not_for_ever() {
    let service = Service::start().await;
    let (mouth, mut peer) = opened(&service).await;
    let spoken = tokio::spawn(gather(mouth.speak(words("Slow."))));
    let context = asked(&mut peer, "Slow.").await;
    tokio::time::pause();
    tokio::time::sleep(Duration::from_millis(2_900)).await;
    peer.say(json!({"audio": audio(160), "contextId": context}))
        .await;
    let begun = tokio::time::Instant::now();
    let (samples, _, error) = spoken.await.unwrap();
    assert_eq!((samples.len(), error), (160, Some(SpeechError::Timeout)));
    let waited = begun.elapsed();
    assert!(
        (Duration::from_secs(2)..Duration::from_secs(4)).contains(&waited),
        "{waited:?}"
    );
}

#[tokio::test]
async fn a_connection_that_breaks_ends_what_was_said_and_is_opened_again() {
    let service = Service::start().await;
    let (mouth, mut peer) = opened(&service).await;
    let spoken = mouth.speak(words("One."));
    let breaking = async {
        let context = asked(&mut peer, "One.").await;
        peer.say(json!({"audio": audio(160), "contextId": context}))
            .await;
        peer.cut();
    };
    let ((samples, _, error), ()) = tokio::join!(gather(spoken), breaking);
    assert_eq!(samples.len(), 160);
    assert_eq!(error, Some(SpeechError::Unreachable));

    let spoken = mouth.speak(words("Two."));
    let again = async {
        let mut peer = service.accept().await;
        let context = asked(&mut peer, "Two.").await;
        peer.say(json!({"audio": audio(80), "contextId": context}))
            .await;
        peer.say(json!({"isFinal": true, "contextId": context}))
            .await;
        peer
    };
    let ((samples, _, error), _peer) = tokio::join!(gather(spoken), again);
    assert_eq!((samples.len(), error), (80, None));
}

#[tokio::test]
async fn a_malformed_message_ends_what_was_said() {
    for (broken, fault) in [
        ("{\"audio\":", "a message is not of its form"),
        (
            r#"{"audio":"no base64!","contextId":"1"}"#,
            "its sound is not base64",
        ),
    ] {
        let service = Service::start().await;
        let (mouth, mut peer) = opened(&service).await;
        let spoken = mouth.speak(words("One."));
        let breaking = async {
            asked(&mut peer, "One.").await;
            peer.text(broken).await;
        };
        let ((_, _, error), ()) = tokio::join!(gather(spoken), breaking);
        assert_eq!(error, Some(SpeechError::Protocol(fault)));
    }
}

#[tokio::test]
async fn a_reported_error_is_passed_on_by_kind_only() {
    for (name, expected) in [
        ("invalid_api_key", SpeechError::Refused(401)),
        ("quota_exceeded", SpeechError::Refused(429)),
        ("input_error", SpeechError::Protocol("it reported an error")),
    ] {
        let service = Service::start().await;
        let (mouth, mut peer) = opened(&service).await;
        let spoken = mouth.speak(words("One."));
        let failing = async {
            asked(&mut peer, "One.").await;
            peer.say(json!({"message": "secret", "error": name, "code": 1008}))
                .await;
        };
        let ((_, _, error), ()) = tokio::join!(gather(spoken), failing);
        assert_eq!(error, Some(expected), "{name}");
    }
}

#[tokio::test]
async fn a_silent_connection_shows_signs_of_life() {
    let service = Service::start().await;
    let (mouth, mut peer) = opened(&service).await;
    tokio::time::pause();
    for _ in 0..2 {
        assert!(matches!(peer.raw().await, Message::Ping(_)));
    }
    drop(mouth);
}

#[tokio::test]
async fn a_key_or_a_pace_that_is_refused_is_told() {
    for status in [401, 429] {
        let service = Service::start().await;
        let voice = voice(&service.base_url, SpeechTransport::WebSocket);
        let opening = voice.open(sounding("flash", "{}"));
        let (opened, ()) = tokio::join!(opening, service.refuse(status));
        assert_eq!(refused(opened.map(|_| ())), SpeechError::Refused(status));
    }
}

#[tokio::test]
async fn what_the_service_cannot_do_opens_nothing() {
    let service = Service::start().await;
    let voice = voice(&service.base_url, SpeechTransport::WebSocket);
    let slow = VoiceSettings {
        speed: 0.5,
        ..sounding("flash", "{}")
    };
    let outside = sounding("flash", r#"{"stability": 2}"#);
    let unknown = sounding("flash", r#"{"apply_text_normalization": "perhaps"}"#);
    for (settings, field) in [
        (slow, "config.conversation.audio.speed"),
        (outside, "config.voice.settings.stability"),
        (unknown, "config.voice.settings.apply_text_normalization"),
    ] {
        match refused(voice.open(settings).await.map(|_| ())) {
            SpeechError::Unable(fault) => assert_eq!(fault.path, field),
            other => panic!("{other}"),
        }
    }
    assert!(service.left_alone());
}

#[tokio::test]
async fn over_http_each_text_is_a_request() {
    let sound = |count: usize| {
        let mut chunk = format!("{count:x}\r\n").into_bytes();
        chunk.extend(vec![0xce; count]);
        chunk.extend(b"\r\n");
        Act::Send(chunk)
    };
    let head = "HTTP/1.1 200 OK\r\ncontent-type: audio/basic\r\ntransfer-encoding: chunked\r\n\r\n";
    let acts = vec![
        Act::Send(head.into()),
        sound(100),
        sound(60),
        Act::Send("0\r\n\r\n".into()),
    ];
    let server = Server::start(acts).await.unwrap();
    let base_url = server.base_url.trim_end_matches("/v1");
    let voice = voice(base_url, SpeechTransport::Http);
    let mouth = voice
        .open(sounding("multilingual", SETTINGS))
        .await
        .unwrap();
    let text = SpokenText {
        text: "¿Qué tal?".to_owned(),
        before: "Hola.".to_owned(),
    };
    let (samples, times, error) = gather(mouth.speak(text)).await;
    assert_eq!((samples.len(), times, error), (160, vec![], None));
    let request = server.requests().remove(0);
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with(
            "POST /v1/text-to-speech/voice-1/stream?output_format=ulaw_8000 HTTP/1.1\r\n"
        ),
        "{head}"
    );
    assert!(head.contains("\r\nxi-api-key: key-1"), "{head}");
    assert_eq!(
        serde_json::from_str::<Value>(body).unwrap(),
        json!({
            "text": "¿Qué tal?", "model_id": "multilingual", "previous_text": "Hola.", "seed": 7,
            "voice_settings": {"stability": 0.4, "use_speaker_boost": false}
        })
    );
}

async fn over_http(acts: Vec<Act>) -> (usize, Option<SpeechError>) {
    let server = Server::start(acts).await.unwrap();
    let voice = voice(&server.base_url, SpeechTransport::Http);
    let mouth = voice.open(sounding("flash", "{}")).await.unwrap();
    let (samples, _, error) = gather(mouth.speak(words("One."))).await;
    (samples.len(), error)
}

#[tokio::test]
async fn over_http_a_refusal_or_a_broken_stream_is_reported() {
    for status in [401, 429] {
        let answer = format!("HTTP/1.1 {status} No\r\ncontent-length: 6\r\n\r\nsecret");
        let told = over_http(vec![Act::Send(answer.into())]).await;
        assert_eq!(told, (0, Some(SpeechError::Refused(status))));
    }
    let mut half = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n".to_vec();
    half.extend([0xce; 160]);
    let told = over_http(vec![Act::Send(half), Act::Close]).await;
    assert_eq!(told, (160, Some(SpeechError::Unreachable)));
}

#[tokio::test]
async fn over_http_a_text_that_is_cancelled_closes_its_connection() {
    let mut begun = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\na0\r\n".to_vec();
    begun.extend([0xce; 160]);
    begun.extend(b"\r\n");
    let server = Server::start(vec![Act::Send(begun), Act::Pause])
        .await
        .unwrap();
    let voice = voice(&server.base_url, SpeechTransport::Http);
    let mouth = voice.open(sounding("flash", "{}")).await.unwrap();
    let mut spoken = mouth.speak(words("A long story."));
    assert!(matches!(
        spoken.next().await,
        Some(Ok(SpeechPiece::Audio(_)))
    ));
    drop(spoken);
    server.client_gone.notified().await;
}

#[tokio::test]
async fn over_http_a_service_that_falls_silent_is_given_three_seconds() {
    let server = Server::start(vec![Act::Pause]).await.unwrap();
    let voice = voice(&server.base_url, SpeechTransport::Http);
    let mouth = voice.open(sounding("flash", "{}")).await.unwrap();
    let spoken = tokio::spawn(gather(mouth.speak(words("One."))));
    server.waits.notified().await;
    tokio::time::pause();
    let (samples, _, error) = spoken.await.unwrap();
    assert_eq!((samples.len(), error), (0, Some(SpeechError::Timeout)));
}
