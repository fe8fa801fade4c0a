//! The contracts of the speech adapters, each against a service with its wire format on a loopback port.

mod call;
mod cartesia;
mod deepgram;
mod deepgram_voice;
mod elevenlabs;
mod exec;
mod keys;
mod openai;
mod scribe;
mod service;

use offhook_engine::ports::speech::{
    Recognizer, RecognizerEvent, RecognizerInput, RecognizerSettings, SpeechError, SpeechPiece,
    SpokenText, VoiceSettings, WordTime,
};
use offhook_providers::{ProviderSettings, SpeechProvider, SpeechRegistry};

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;

const KEY: &str = "key-1";

fn endpoint(base_url: &str) -> ProviderSettings {
    ProviderSettings {
        base_url: base_url.to_owned(),
        api_key: Some(KEY.to_owned()),
    }
}

fn registry(provider: SpeechProvider) -> SpeechRegistry {
    let settings = [("mine".to_owned(), provider)];
    SpeechRegistry::new(settings).unwrap_or_else(|error| panic!("{error}"))
}

fn listening(model: &str, settings: &str) -> RecognizerSettings {
    RecognizerSettings {
        model: model.to_owned(),
        language: "es-MX".to_owned(),
        settings: settings.into(),
    }
}

fn sounding(model: &str, settings: &str) -> VoiceSettings {
    VoiceSettings {
        voice_id: "voice-1".to_owned(),
        model: model.to_owned(),
        language: "es-MX".to_owned(),
        speed: 1.0,
        settings: settings.into(),
        key: None,
    }
}

fn words(text: &str) -> SpokenText {
    SpokenText {
        text: text.to_owned(),
        before: String::new(),
    }
}

/// A frame whose µ-law is this byte, 160 times.
fn frame(sample: i16) -> RecognizerInput {
    RecognizerInput::Frame(Box::new([sample; 160]))
}

async fn give(recognizer: &Recognizer, inputs: impl IntoIterator<Item = RecognizerInput>) {
    for input in inputs {
        recognizer
            .input
            .send(input)
            .await
            .unwrap_or_else(|error| panic!("{error}"));
    }
}

/// A recognizer's events until it ends.
async fn rest(recognizer: &mut Recognizer) -> Vec<RecognizerEvent> {
    let mut events = Vec::new();
    while let Some(event) = recognizer.events.recv().await {
        events.push(event);
    }
    events
}

type Pieces = BoxStream<'static, Result<SpeechPiece, SpeechError>>;

/// All audio and all words of a stream, and the error that ended it, if any.
async fn gather(mut pieces: Pieces) -> (Vec<i16>, Vec<WordTime>, Option<SpeechError>) {
    let (mut samples, mut words) = (Vec::new(), Vec::new());
    while let Some(piece) = pieces.next().await {
        match piece {
            Ok(SpeechPiece::Audio(more)) => samples.extend(more),
            Ok(SpeechPiece::Words(more)) => words.extend(more),
            Ok(_) => {}
            Err(error) => {
                assert_eq!(pieces.next().await, None, "nothing comes after an error");
                return (samples, words, Some(error));
            }
        }
    }
    (samples, words, None)
}

/// The error of a call that must fail.
fn refused<T>(result: Result<T, SpeechError>) -> SpeechError {
    match result {
        Err(error) => error,
        Ok(_) => panic!("it is refused"),
    }
}
