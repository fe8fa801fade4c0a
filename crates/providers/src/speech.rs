//! Speech-to-text and text-to-speech: adapters of services and local programs, and scripted speech. [`SpeechRegistry`](crate::SpeechRegistry)
//! finds them by the names in an agent's configuration. The wire formats come from the services' documentation;
//! docs/guides/providers.md says what each was checked against.

pub(crate) mod endpoint;
pub(crate) mod exec;
pub(crate) mod fetch;
pub(crate) mod form;
pub(crate) mod hum;
pub(crate) mod listen;
pub(crate) mod scripted;
pub(crate) mod segment;
pub(crate) mod settings;
pub(crate) mod socket;
pub(crate) mod sound;
pub(crate) mod utter;
pub(crate) mod wav;
pub(crate) mod words;

use std::sync::Arc;

use offhook_engine::ports::speech::{
    RecognizerSettings, SpeechError, SpeechToText, TextToSpeech, VoiceSettings,
};

pub(crate) type Result<T, E = SpeechError> = std::result::Result<T, E>;

/// The transport of a service that supports two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SpeechTransport {
    /// One WebSocket per call: texts need no new connection, and words have timestamps.
    #[default]
    WebSocket,
    /// One HTTP request per text.
    Http,
}

/// A recognizer that validates an agent's settings without a connection.
pub(crate) trait SpeechInput: SpeechToText {
    /// Whether [`SpeechToText::open`] would accept the settings. Returns [`SpeechError::Unable`] with the field and the
    /// remedy.
    fn check(&self, settings: &RecognizerSettings) -> Result<()>;

    /// The recognizer for this model, if it differs from the provider's default.
    fn of_model(&self, model: &str) -> Option<Arc<dyn SpeechToText>> {
        let _ = model;
        None
    }
}

/// A synthesizer that validates an agent's settings without a connection.
pub(crate) trait SpeechOutput: TextToSpeech {
    /// Whether [`TextToSpeech::open`] would accept the settings. Returns [`SpeechError::Unable`] with the field and the
    /// remedy.
    fn check(&self, settings: &VoiceSettings) -> Result<()>;
}
