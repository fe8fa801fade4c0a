//! OpenAI's format.

use std::sync::Arc;

use futures_util::StreamExt as _;
use offhook_engine::ports::speech::{
    Recognizer, RecognizerEvent, RecognizerInput, Speech as _, SpeechError, SpeechPiece,
    SpeechToText, TextToSpeech, VoiceSettings,
};
use offhook_providers::{SpeechProvider, SpeechRegistry};
use serde_json::{Value, json};

use super::service::Service;
use super::{endpoint, frame, gather, give, listening, refused, registry, rest, sounding, words};
use crate::it::server::{Act, Server};

fn registered(base_url: &str) -> SpeechRegistry {
    registry(SpeechProvider::OpenAi(endpoint(base_url)))
}

fn ear(base_url: &str) -> Arc<dyn SpeechToText> {
    let settings = listening("whisper-1", "{}");
    registered(base_url).recognizer("mine", &settings).unwrap()
}

fn voice(base_url: &str) -> Arc<dyn TextToSpeech> {
    let settings = sounding("m", "{}");
    registered(base_url).synthesizer("mine", &settings).unwrap()
}

fn answer(status: u16, body: &str) -> Act {
    let length = body.len();
    Act::Send(format!("HTTP/1.1 {status} Hm\r\ncontent-length: {length}\r\n\r\n{body}").into())
}

async fn utter(recognizer: &Recognizer) {
    give(recognizer, [frame(0), RecognizerInput::SpeechBegan]).await;
    give(recognizer, (0..9).map(|_| frame(1_000))).await;
    give(recognizer, [RecognizerInput::Finalize]).await;
}

#[tokio::test]
async fn an_utterance_is_sent_as_a_file_and_comes_back_as_words() {
    let service = Service::start().await;
    let settings = r#"{"prompt": "Offhook", "temperature": 0.2}"#;
    let ear = ear(&service.base_url);
    let mut recognizer = ear
        .open(listening("gpt-transcribe", settings))
        .await
        .unwrap();
    utter(&recognizer).await;
    let (head, body) = service
        .answer(
            200,
            r#"{"text": " Buenos\n días. ", "usage": {"type": "tokens"}}"#,
        )
        .await;
    assert!(
        head.starts_with("POST /audio/transcriptions HTTP/1.1\r\n"),
        "{head}"
    );
    assert!(
        head.contains("\r\nauthorization: Bearer key-1\r\n"),
        "{head}"
    );
    let boundary = "offhook-form-00000000";
    let form = format!("\r\ncontent-type: multipart/form-data; boundary={boundary}\r\n");
    assert!(head.contains(&form), "{head}");
    let mut fields = String::new();
    for (name, value) in [
        ("model", "gpt-transcribe"),
        ("language", "es"),
        ("response_format", "json"),
        ("prompt", "Offhook"),
        ("temperature", "0.2"),
    ] {
        fields += &format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
        );
    }
    fields += &format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"speech.wav\"\r\n\
         Content-Type: audio/wav\r\n\r\n"
    );
    let (before, file) = body.split_at(fields.len());
    assert_eq!(String::from_utf8_lossy(before), fields);
    // Ten frames, at 16 kHz.
    assert_eq!(&file[..4], b"RIFF");
    assert_eq!(file[24..28], 16_000_u32.to_le_bytes());
    assert_eq!(file[40..44], (10 * 320 * 2_u32).to_le_bytes());
    let end = format!("\r\n--{boundary}--\r\n");
    assert_eq!(file.len(), 44 + 10 * 320 * 2 + end.len());
    assert!(file.ends_with(end.as_bytes()));
    let told = [
        recognizer.events.recv().await,
        recognizer.events.recv().await,
    ];
    let expected = RecognizerEvent::Final("Buenos días.".to_owned());
    assert_eq!(told, [Some(expected), Some(RecognizerEvent::Finalized)]);
}

#[tokio::test]
async fn words_lose_their_nul() {
    let answer = answer(200, r#"{"text": "\u0000 Buenos\u0000 días.\u0000"}"#);
    let service = Server::start(vec![answer]).await.unwrap();
    let ear = ear(&service.base_url);
    let mut recognizer = ear.open(listening("whisper-1", "{}")).await.unwrap();
    utter(&recognizer).await;
    let told = recognizer.events.recv().await;
    let expected = RecognizerEvent::Final("Buenos días.".to_owned());
    assert_eq!(told, Some(expected));
}

#[tokio::test]
async fn an_utterance_that_is_not_understood_ends_the_recognizer() {
    for (acts, expected) in [
        (vec![answer(401, "secret")], SpeechError::Refused(401)),
        (vec![answer(429, "secret")], SpeechError::Refused(429)),
        (
            vec![answer(200, r#"{"words": 1}"#)],
            SpeechError::Protocol("a transcription is not of its form"),
        ),
        (
            vec![
                Act::Send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{".into()),
                Act::Close,
            ],
            SpeechError::Unreachable,
        ),
    ] {
        let service = Server::start(acts).await.unwrap();
        let ear = ear(&service.base_url);
        let mut recognizer = ear.open(listening("whisper-1", "{}")).await.unwrap();
        utter(&recognizer).await;
        let expected = [RecognizerEvent::Failed(expected)];
        assert_eq!(rest(&mut recognizer).await, expected);
    }
}

#[tokio::test]
async fn a_transcription_times_out_after_ten_seconds_and_is_canceled_with_the_call() {
    let service = Service::start().await;
    let ear = ear(&service.base_url);
    let mut recognizer = ear.open(listening("whisper-1", "{}")).await.unwrap();
    utter(&recognizer).await;
    let connection = service.connection().await;
    tokio::time::pause();
    let told = rest(&mut recognizer).await;
    assert_eq!(told, [RecognizerEvent::Failed(SpeechError::Timeout)]);
    tokio::time::resume();
    drop(connection);

    let recognizer = ear.open(listening("whisper-1", "{}")).await.unwrap();
    utter(&recognizer).await;
    let connection = service.connection().await;
    drop(recognizer);
    super::service::hung_up(connection).await;
}

#[tokio::test]
async fn speech_of_24_khz_becomes_8_khz() {
    let tone: Vec<u8> = (0..2_400)
        .flat_map(|at| {
            let sample = (f64::from(at) * 500.0 * std::f64::consts::TAU / 24_000.0).sin() * 8_000.0;
            (sample as i16).to_le_bytes()
        })
        .collect();
    let mut act = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", tone.len()).into_bytes();
    act.extend(&tone);
    let server = Server::start(vec![Act::Send(act)]).await.unwrap();
    let voice = voice(&server.base_url);
    let settings = VoiceSettings {
        speed: 1.5,
        ..sounding("gpt-speech", r#"{"instructions": "Softly."}"#)
    };
    let mouth = voice.open(settings).await.unwrap();
    let (samples, times, error) = gather(mouth.speak(words("Hola."))).await;
    assert_eq!((samples.len(), times, error), (800, vec![], None));
    let rises = samples.windows(2).filter(|w| w[0] < 0 && w[1] >= 0).count();
    assert!(
        (48..=51).contains(&rises),
        "{rises} periods of 500 Hz in 0.1 s"
    );
    let request = server.requests().remove(0);
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with("POST /v1/audio/speech HTTP/1.1\r\n"),
        "{head}"
    );
    assert_eq!(
        serde_json::from_str::<Value>(body).unwrap(),
        json!({
            "model": "gpt-speech", "voice": "voice-1", "response_format": "pcm", "speed": 1.5,
            "instructions": "Softly.", "input": "Hola."
        })
    );
}

#[tokio::test]
async fn a_voice_that_is_refused_or_cut_is_told() {
    for (acts, expected) in [
        (vec![answer(401, "secret")], SpeechError::Refused(401)),
        (vec![answer(429, "secret")], SpeechError::Refused(429)),
        (
            vec![
                Act::Send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n".into()),
                Act::Close,
            ],
            SpeechError::Unreachable,
        ),
    ] {
        let server = Server::start(acts).await.unwrap();
        let voice = voice(&server.base_url);
        let mouth = voice.open(sounding("m", "{}")).await.unwrap();
        let (_, _, error) = gather(mouth.speak(words("Hola."))).await;
        assert_eq!(error, Some(expected));
    }
}

#[tokio::test]
async fn a_text_that_is_cancelled_closes_its_connection() {
    let mut begun = b"HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n".to_vec();
    begun.extend([0; 600]);
    let server = Server::start(vec![Act::Send(begun), Act::Pause])
        .await
        .unwrap();
    let voice = voice(&server.base_url);
    let mouth = voice.open(sounding("m", "{}")).await.unwrap();
    let mut spoken = mouth.speak(words("A long story."));
    assert!(matches!(
        spoken.next().await,
        Some(Ok(SpeechPiece::Audio(_)))
    ));
    drop(spoken);
    server.client_gone.notified().await;
}

#[tokio::test]
async fn what_the_service_does_not_have_opens_nothing() {
    let registry = registered("http://127.0.0.1:1");
    for settings in [r#"{"temperature": 2}"#, r#"{"prompt": 1}"#, r#"{"x": 1}"#] {
        let refused = refused(registry.recognizer("mine", &listening("m", settings)));
        assert!(matches!(refused, SpeechError::Unable(_)), "{settings}");
    }
    let settings = sounding("m", r#"{"instructions": ""}"#);
    let refused = refused(registry.synthesizer("mine", &settings));
    assert!(matches!(refused, SpeechError::Unable(_)));
    let voice = registry.synthesizer("mine", &sounding("m", "{}")).unwrap();
    let mouth = voice.open(sounding("m", "{}")).await.unwrap();
    let (_, _, error) = gather(mouth.speak(words(&"a".repeat(4_097)))).await;
    assert!(matches!(error, Some(SpeechError::Protocol(_))));
}
