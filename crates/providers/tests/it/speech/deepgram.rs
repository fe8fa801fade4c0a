//! Deepgram's speech-to-text format.

use offhook_engine::ports::speech::{
    RecognizerEvent, RecognizerInput, Speech as _, SpeechError, SpeechToText,
};
use offhook_providers::SpeechProvider;
use serde_json::{Value, json};
use std::sync::Arc;

use super::service::{Peer, Service};
use super::{KEY, endpoint, frame, give, listening, refused, registry, rest};

fn ear(service: &Service) -> Arc<dyn SpeechToText> {
    let provider = SpeechProvider::Deepgram(endpoint(&service.base_url));
    registry(provider)
        .recognizer("mine", &listening("nova-3", "{}"))
        .unwrap()
}

fn results(start: f64, words: &str, is_final: bool, from_finalize: bool) -> Value {
    json!({
        "type": "Results", "channel_index": [0, 1], "duration": 1.0, "start": start,
        "is_final": is_final, "speech_final": false, "from_finalize": from_finalize,
        "channel": {"alternatives": [{"transcript": words, "confidence": 0.9, "words": []}]}
    })
}

async fn opened(
    service: &Service,
    model: &str,
) -> (offhook_engine::ports::speech::Recognizer, Peer) {
    let ear = ear(service);
    let (recognizer, peer) = tokio::join!(ear.open(listening(model, "{}")), service.accept());
    (recognizer.unwrap(), peer)
}

#[tokio::test]
async fn sound_goes_out_as_ulaw_and_words_come_back() {
    let service = Service::start().await;
    let settings =
        r#"{"endpointing_ms": 200, "smart_format": true, "keyterms": ["Offhook", "São Paulo"]}"#;
    let ear = ear(&service);
    let opening = ear.open(listening("nova-3", settings));
    let (recognizer, mut peer) = tokio::join!(opening, service.accept());
    let mut recognizer = recognizer.unwrap();
    assert_eq!(peer.head.path, "/v1/listen");
    assert_eq!(
        peer.head.query_line(),
        "model=nova-3&language=es-MX&encoding=mulaw&sample_rate=8000&channels=1&interim_results=true\
         &endpointing=200&punctuate=true&smart_format=true&keyterm=Offhook&keyterm=São Paulo"
    );
    let expected = format!("Token {KEY}");
    assert_eq!(peer.head.header("authorization"), Some(expected.as_str()));

    give(
        &recognizer,
        [
            frame(0),
            RecognizerInput::SpeechBegan,
            frame(1_000),
            RecognizerInput::Finalize,
        ],
    )
    .await;
    assert_eq!(peer.binary().await, [0xff; 160]);
    assert_eq!(peer.binary().await, [0xce; 160]);
    assert_eq!(peer.json().await, json!({"type": "Finalize"}));
    peer.say(json!({"type": "SpeechStarted", "channel": [0, 1], "timestamp": 0.1}))
        .await;
    peer.say(results(0.0, "", false, false)).await;
    peer.say(results(0.0, "Buenos", false, false)).await;
    peer.say(results(0.0, "Buenos días,", true, false)).await;
    peer.say(results(1.0, "Ana.", true, true)).await;
    let mut heard = Vec::new();
    for _ in 0..4 {
        heard.extend(recognizer.events.recv().await);
    }
    use RecognizerEvent::{Final, Finalized, Partial};
    assert_eq!(
        heard,
        [
            Partial("Buenos".to_owned()),
            Final("Buenos días,".to_owned()),
            Final("Ana.".to_owned()),
            Finalized
        ]
    );

    drop(recognizer.input);
    assert_eq!(peer.json().await, json!({"type": "CloseStream"}));
    assert_eq!(peer.next().await, None);
    assert_eq!(recognizer.events.recv().await, None);
}

#[tokio::test]
async fn an_engine_that_stops_listening_closes_the_recognizer() {
    let service = Service::start().await;
    let (recognizer, mut peer) = opened(&service, "nova-3").await;
    drop(recognizer.events);
    assert_eq!(peer.json().await, json!({"type": "CloseStream"}));
    assert_eq!(peer.next().await, None);
    drop(recognizer.input);
}

#[tokio::test]
async fn an_answer_that_never_comes_is_made_up_from_what_is_known() {
    let service = Service::start().await;
    let (mut recognizer, mut peer) = opened(&service, "nova-3").await;
    peer.say(results(0.0, "Hola", false, false)).await;
    let guess = recognizer.events.recv().await;
    assert_eq!(guess, Some(RecognizerEvent::Partial("Hola".to_owned())));
    give(&recognizer, [RecognizerInput::Finalize]).await;
    assert_eq!(peer.json().await, json!({"type": "Finalize"}));
    tokio::time::pause();
    let told = [
        recognizer.events.recv().await,
        recognizer.events.recv().await,
    ];
    let expected = RecognizerEvent::Final("Hola".to_owned());
    assert_eq!(told, [Some(expected), Some(RecognizerEvent::Finalized)]);
}

#[tokio::test]
async fn a_silent_service_is_given_up_after_two_unanswered_finalize_requests() {
    let service = Service::start().await;
    let (mut recognizer, peer) = opened(&service, "nova-3").await;
    tokio::time::pause();
    for _ in 0..2 {
        give(&recognizer, [RecognizerInput::Finalize]).await;
    }
    let told = rest(&mut recognizer).await;
    let failed = RecognizerEvent::Failed(SpeechError::Timeout);
    assert_eq!(told, [RecognizerEvent::Finalized, failed]);
    drop(peer);
}

#[tokio::test]
async fn the_connection_is_kept_while_nothing_is_heard() {
    let service = Service::start().await;
    let (recognizer, mut peer) = opened(&service, "nova-3").await;
    tokio::time::pause();
    for _ in 0..3 {
        assert_eq!(peer.json().await, json!({"type": "KeepAlive"}));
    }
    drop(recognizer);
}

#[tokio::test]
async fn a_service_that_finds_turns_is_asked_to() {
    let service = Service::start().await;
    let registry = registry(SpeechProvider::Deepgram(endpoint(&service.base_url)));
    let settings = r#"{"eot_threshold": 0.8, "eager_eot_threshold": 0.5, "eot_timeout_ms": 4000}"#;
    let settings = listening("flux-general-multi", settings);
    let ear = registry.recognizer("mine", &settings).unwrap();
    assert!(ear.abilities().turns);
    let other = registry
        .recognizer("mine", &listening("nova-3", "{}"))
        .unwrap();
    assert!(!other.abilities().turns);
    let opening = ear.open(settings);
    let (recognizer, mut peer) = tokio::join!(opening, service.accept());
    let mut recognizer = recognizer.unwrap();
    assert_eq!(peer.head.path, "/v2/listen");
    assert_eq!(
        peer.head.query_line(),
        "model=flux-general-multi&encoding=mulaw&sample_rate=8000&language_hint=es&eot_threshold=0.8\
         &eager_eot_threshold=0.5&eot_timeout_ms=4000"
    );
    give(&recognizer, [RecognizerInput::Finalize]).await;
    assert_eq!(peer.json().await, json!({"type": "ForceEndTurn"}));
    peer.say(json!({"type": "TurnInfo", "event": "EndOfTurn", "transcript": "Sí."}))
        .await;
    let mut heard = Vec::new();
    for _ in 0..3 {
        heard.extend(recognizer.events.recv().await);
    }
    use RecognizerEvent::{Final, Finalized, TurnEnded};
    assert_eq!(heard, [Final("Sí.".to_owned()), TurnEnded, Finalized]);
}

#[tokio::test]
async fn a_refused_key_or_rate_is_reported_without_the_services_text() {
    for status in [401, 429, 500] {
        let service = Service::start().await;
        let ear = ear(&service);
        let opening = ear.open(listening("nova-3", "{}"));
        let (opened, ()) = tokio::join!(opening, service.refuse(status));
        assert_eq!(refused(opened), SpeechError::Refused(status));
    }
}

#[tokio::test]
async fn a_service_that_does_not_answer_is_given_three_seconds() {
    let service = Service::start().await;
    let ear = ear(&service);
    let opening = tokio::spawn(async move { ear.open(listening("nova-3", "{}")).await });
    let connection = service.connection().await;
    tokio::time::pause();
    let begun = tokio::time::Instant::now();
    assert_eq!(refused(opening.await.unwrap()), SpeechError::Timeout);
    assert!(begun.elapsed() < std::time::Duration::from_secs(4));
    drop(connection);
}

#[tokio::test]
async fn a_service_that_is_not_there_is_unreachable() {
    let service = Service::start().await;
    let ear = ear(&service);
    drop(service);
    let opened = ear.open(listening("nova-3", "{}")).await;
    assert_eq!(refused(opened), SpeechError::Unreachable);
}

#[tokio::test]
async fn a_connection_that_breaks_ends_the_recognizer_after_its_words() {
    for politely in [true, false] {
        let service = Service::start().await;
        let (mut recognizer, mut peer) = opened(&service, "nova-3").await;
        peer.say(results(0.0, "Hola.", true, false)).await;
        let closing = async {
            if politely {
                peer.close().await;
            } else {
                peer.cut();
            }
        };
        let (told, ()) = tokio::join!(rest(&mut recognizer), closing);
        assert_eq!(
            told,
            [
                RecognizerEvent::Final("Hola.".to_owned()),
                RecognizerEvent::Failed(SpeechError::Unreachable)
            ],
            "politely: {politely}"
        );
        assert!(recognizer.input.is_closed());
    }
}

#[tokio::test]
async fn a_malformed_message_ends_the_recognizer() {
    let service = Service::start().await;
    let (mut recognizer, mut peer) = opened(&service, "nova-3").await;
    peer.text(r#"{"type":"Results","#).await;
    let fault = SpeechError::Protocol("a message is not of its form");
    let expected = [RecognizerEvent::Failed(fault)];
    assert_eq!(rest(&mut recognizer).await, expected);
}

#[tokio::test]
async fn a_setting_that_the_service_does_not_have_opens_nothing() {
    let service = Service::start().await;
    let provider = SpeechProvider::Deepgram(endpoint(&service.base_url));
    let registry = registry(provider);
    for (model, settings, fault) in [
        (
            "",
            "{}",
            "`config.stt.model`: is required with this provider: name the model that it is to use",
        ),
        (
            "nova-3",
            r#"{"endpointing_ms": 5}"#,
            "`config.stt.settings.endpointing_ms`: must be an integer from 10 to 5000, or false",
        ),
        (
            "nova-3",
            r#"{"eot_threshold": 0.7}"#,
            "`config.stt.settings.eot_threshold`: unknown field",
        ),
        (
            "flux-general-en",
            r#"{"eot_threshold": 0.1}"#,
            "`config.stt.settings.eot_threshold`: must be a number from 0.5 to 1",
        ),
        (
            "nova-3",
            r#"{"keyterms": [""]}"#,
            "`config.stt.settings.keyterms`: must hold strings of 1 to 100 characters",
        ),
    ] {
        let settings = listening(model, settings);
        let refusal = refused(registry.recognizer("mine", &settings));
        let said = format!("the speech provider cannot do this: {fault}");
        assert_eq!(refusal.to_string(), said);
        let ear = registry
            .recognizer("mine", &listening("nova-3", "{}"))
            .unwrap();
        assert_eq!(refused(ear.open(settings).await), refusal);
    }
    assert!(
        registry
            .recognizer("mine", &listening("nova-3", "{}"))
            .is_ok()
    );
    let other = registry.recognizer("yours", &listening("nova-3", "{}"));
    assert_eq!(refused(other), SpeechError::NotConfigured);
    assert!(service.left_alone());
}
