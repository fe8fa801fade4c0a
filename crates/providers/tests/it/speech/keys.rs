//! The API key of a voice's request: the account's for its own voices, and the deployment's for all others.

use offhook_domain::CredentialProvider;
use offhook_engine::ports::AccountKey;
use offhook_engine::ports::speech::{Speech, SpeechError, VoiceKey, VoiceSettings};
use offhook_providers::{SpeechProvider, SpeechRegistry, SpeechTransport};

use super::service::Service;
use super::{KEY, endpoint, gather, listening, refused, registry, sounding, words};
use crate::it::server::{Act, Server};

/// The keys of voices, one after another, and the keys that are sent.
const ASKED: [(Option<&str>, &str); 4] = [
    (None, KEY),
    (Some("own-key-1"), "own-key-1"),
    (Some("own-key-2"), "own-key-2"),
    (None, KEY),
];

fn with(key: Option<&str>) -> VoiceSettings {
    VoiceSettings {
        key: key.map(VoiceKey::new),
        ..sounding("m", "{}")
    }
}

#[tokio::test]
async fn each_request_carries_its_own_voices_key_and_no_other() {
    let mut answer = b"HTTP/1.1 200 OK\r\ncontent-length: 480\r\n\r\n".to_vec();
    answer.extend([0; 480]);
    let server = Server::start(vec![Act::Send(answer)]).await.unwrap();
    let there = || endpoint(server.base_url.trim_end_matches("/v1"));
    let http = SpeechTransport::Http;
    for (shape, header) in [
        (SpeechProvider::ElevenLabs(there(), http), "xi-api-key: "),
        (
            SpeechProvider::Cartesia(there(), http),
            "authorization: Bearer ",
        ),
        (SpeechProvider::Deepgram(there()), "authorization: Token "),
        (SpeechProvider::OpenAi(there()), "authorization: Bearer "),
    ] {
        let shape = registry(shape);
        let voice = shape.synthesizer("mine", &with(None)).unwrap();
        for (key, sent) in ASKED {
            let mouth = voice.open(with(key)).await.unwrap();
            let (_, _, error) = gather(mouth.speak(words("Hello."))).await;
            assert_eq!(error, None, "{header}");
            let request = server.requests().pop().unwrap();
            let lines = request.lines().filter(|line| line.contains("key-"));
            let expected = format!("{header}{sent}");
            assert_eq!(lines.collect::<Vec<_>>(), [expected.as_str()]);
        }
    }
}

#[tokio::test]
async fn each_connection_is_opened_with_its_own_voices_key() {
    let service = Service::start().await;
    let there = || endpoint(&service.base_url);
    let socket = SpeechTransport::WebSocket;
    for (shape, header, scheme) in [
        (
            SpeechProvider::ElevenLabs(there(), socket),
            "xi-api-key",
            "",
        ),
        (
            SpeechProvider::Cartesia(there(), socket),
            "authorization",
            "Bearer ",
        ),
    ] {
        let shape = registry(shape);
        let voice = shape.synthesizer("mine", &with(None)).unwrap();
        let mut open = Vec::new();
        for (key, sent) in ASKED {
            let (mouth, peer) = tokio::join!(voice.open(with(key)), service.accept());
            let expected = format!("{scheme}{sent}");
            assert_eq!(peer.head.header(header), Some(expected.as_str()));
            // Connections opened before stay open.
            open.push((mouth.unwrap(), peer));
        }
    }
}

#[tokio::test]
async fn a_key_that_no_header_can_carry_opens_nothing_and_no_key_shows_itself() {
    let service = Service::start().await;
    let provider = SpeechProvider::ElevenLabs(endpoint(&service.base_url), SpeechTransport::Http);
    let shape = registry(provider);
    let voice = shape.synthesizer("mine", &with(None)).unwrap();
    let error = refused(voice.open(with(Some("a\nb"))).await);
    let expected = SpeechError::Protocol("the request could not be made");
    assert_eq!(error, expected);
    assert!(service.left_alone());
    let shown = format!("{:?}", with(Some("own-key-1")));
    assert!(
        shown.contains("redacted") && !shown.contains("own-key"),
        "{shown}"
    );
}

#[tokio::test]
async fn an_accounts_own_key_opens_the_service_in_place_of_the_deployments() {
    let service = Service::start().await;
    let deepgram = SpeechProvider::Deepgram(endpoint(&service.base_url));
    let deployment = SpeechRegistry::new([("deepgram".to_owned(), deepgram)]).unwrap();
    let with_key = |vendor| {
        deployment.with_keys(&[AccountKey {
            vendor,
            base_url: None,
            key: "own-key-1".into(),
        }])
    };
    let own = with_key(CredentialProvider::Deepgram).unwrap();
    let settings = listening("nova-3", "{}");
    for (speech, key) in [(&*own, "own-key-1"), (&deployment as &dyn Speech, KEY)] {
        let ear = speech.recognizer("deepgram", &settings).unwrap();
        let (_ear, peer) = tokio::join!(ear.open(settings.clone()), service.accept());
        let expected = format!("Token {key}");
        assert_eq!(peer.head.header("authorization"), Some(expected.as_str()));
    }
    // A vendor that the deployment has not is there for the account alone.
    let voice = sounding("standard", "{}");
    let cartesia = with_key(CredentialProvider::Cartesia).unwrap();
    assert!(cartesia.synthesizer("provider_b", &voice).is_ok() && cartesia.is_added("provider_b"));
    let missing = deployment.synthesizer("provider_b", &voice).err();
    assert_eq!(missing, Some(SpeechError::NotConfigured));
    assert!(with_key(CredentialProvider::Google).is_none());
}
