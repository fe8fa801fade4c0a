//! Deepgram's text-to-speech format.

use offhook_engine::ports::speech::{Speech as _, SpeechError, VoiceSettings};
use offhook_providers::SpeechProvider;
use serde_json::{Value, json};

use super::{endpoint, gather, refused, registry, sounding, words};
use crate::it::server::{Act, Server};

#[tokio::test]
async fn a_voice_is_a_model_and_each_text_a_request() {
    let mut answer = b"HTTP/1.1 200 OK\r\ncontent-length: 160\r\n\r\n".to_vec();
    answer.extend([0xce; 160]);
    let server = Server::start(vec![Act::Send(answer)]).await.unwrap();
    let base_url = server.base_url.trim_end_matches("/v1");
    let registry = registry(SpeechProvider::Deepgram(endpoint(base_url)));
    let voice = registry.synthesizer("mine", &sounding("m", "{}")).unwrap();
    let settings = VoiceSettings {
        voice_id: "aura-2-thalia-en".to_owned(),
        speed: 1.2,
        ..sounding("whatever", "{}")
    };
    let mouth = voice.open(settings).await.unwrap();
    let (samples, times, error) = gather(mouth.speak(words("Hello."))).await;
    assert_eq!((samples, times, error), (vec![988; 160], vec![], None));
    let request = server.requests().remove(0);
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let line = "POST /v1/speak?model=aura-2-thalia-en&encoding=mulaw&sample_rate=8000&container=none&speed=1.2 HTTP/1.1";
    assert_eq!(head.lines().next(), Some(line));
    assert!(head.contains("\r\nauthorization: Token key-1"), "{head}");
    let expected = json!({"text": "Hello."});
    assert_eq!(serde_json::from_str::<Value>(body).unwrap(), expected);
}

#[tokio::test]
async fn a_refusal_is_told_and_a_speed_that_it_does_not_have_opens_nothing() {
    for status in [401, 429] {
        let answer = format!("HTTP/1.1 {status} No\r\ncontent-length: 6\r\n\r\nsecret");
        let server = Server::start(vec![Act::Send(answer.into())]).await.unwrap();
        let registry = registry(SpeechProvider::Deepgram(endpoint(&server.base_url)));
        let voice = registry.synthesizer("mine", &sounding("m", "{}")).unwrap();
        let mouth = voice.open(sounding("m", "{}")).await.unwrap();
        let (_, _, error) = gather(mouth.speak(words("Hello."))).await;
        assert_eq!(error, Some(SpeechError::Refused(status)));
        let fast = VoiceSettings {
            speed: 1.6,
            ..sounding("m", "{}")
        };
        let error = refused(voice.open(fast).await.map(|_| ()));
        assert!(matches!(error, SpeechError::Unable(_)));
    }
}
