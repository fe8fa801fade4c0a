//! Speech-to-text and text-to-speech.
//!
//! Sound has the format of [`audio`](super::audio): 8 kHz, 16 bit, mono. An adapter whose service uses µ-law converts
//! on its side without loss; one that needs another rate resamples.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use offhook_domain::FieldError;
use tokio::sync::mpsc;

use super::audio::Frame;
use super::{AccountKey, KeyAnswer};

/// Finds recognizers and synthesizers by the names in an agent's configuration. It makes no network requests, because
/// saving and publishing an agent use it too.
pub trait Speech: Send + Sync {
    /// Finds the provider's recognizer and checks that it supports the settings. Returns [`SpeechError::NotConfigured`]
    /// for an unknown provider, or [`SpeechError::Unable`] with the configuration field that it does not support.
    fn recognizer(
        &self,
        provider: &str,
        settings: &RecognizerSettings,
    ) -> Result<Arc<dyn SpeechToText>, SpeechError>;

    /// Finds the provider's synthesizer and checks that it supports the settings.
    fn synthesizer(
        &self,
        provider: &str,
        settings: &VoiceSettings,
    ) -> Result<Arc<dyn TextToSpeech>, SpeechError>;

    /// Asks the vendor once whether it accepts an account's key for its speech.
    fn ask<'a>(&'a self, _key: &'a AccountKey) -> BoxFuture<'a, KeyAnswer> {
        Box::pin(async { KeyAnswer::Unconfirmed })
    }

    /// The same services, with an account's own keys in place of the deployment's. A vendor whose key cannot be used is not
    /// configured. `None` if no key is for speech.
    fn with_keys(&self, keys: &[AccountKey]) -> Option<Arc<dyn Speech>> {
        let _ = keys;
        None
    }

    /// Whether only an account's own key sets the provider up.
    fn is_added(&self, _provider: &str) -> bool {
        false
    }

    /// The ids of a provider's voices, where the deployment lists them: nobody else can list those of its own servers and
    /// programs.
    fn voices(&self, provider: &str) -> Vec<String> {
        let _ = provider;
        Vec::new()
    }
}

/// A service or program that turns speech into text.
#[async_trait]
pub trait SpeechToText: Send + Sync {
    /// Opens a recognizer for one call. Dropping the stream closes it. The engine drops the future after three seconds.
    async fn open(&self, settings: RecognizerSettings) -> Result<Recognizer, SpeechError>;

    fn abilities(&self) -> RecognizerAbilities;
}

/// What a recognizer supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecognizerAbilities {
    /// It sends interim results during an utterance: [`RecognizerEvent::Partial`].
    pub partials: bool,
    /// It detects the end of a turn itself: [`RecognizerEvent::TurnEnded`].
    pub turns: bool,
}

/// The speech-to-text settings of an agent (`stt`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecognizerSettings {
    /// The provider's name of the model.
    pub model: String,
    /// BCP 47.
    pub language: String,
    /// Provider-specific settings, a JSON object as text.
    pub settings: Arc<str>,
}

/// The recognizer of one call.
pub struct Recognizer {
    /// The audio to recognize. The engine never waits here: inputs that do not fit are dropped. Closing one or both
    /// channels closes the recognizer.
    pub input: mpsc::Sender<RecognizerInput>,
    /// The recognition results. The channel closes when the service is gone.
    pub events: mpsc::Receiver<RecognizerEvent>,
}

/// The recommended capacity of a recognizer's input: 5 s of frames, and the marks between them.
pub const INPUTS_AHEAD: usize = 256;

/// An input of a recognizer.
#[derive(Clone)]
pub enum RecognizerInput {
    /// The next 20 ms of the call, speech or silence.
    Frame(Box<Frame>),
    /// The caller began to speak shortly before this mark. An adapter that sends whole utterances keeps the half second
    /// before it, and everything up to [`Finalize`](Self::Finalize).
    SpeechBegan,
    /// The caller seems to pause, so results are due. The recognizer sends one [`RecognizerEvent::Final`] for all audio
    /// not yet covered, if there is any speech, then one [`RecognizerEvent::Finalized`].
    Finalize,
}

/// Hides the sound.
impl fmt::Debug for RecognizerInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Frame(_) => "Frame",
            Self::SpeechBegan => "SpeechBegan",
            Self::Finalize => "Finalize",
        })
    }
}

/// A result of a recognizer.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecognizerEvent {
    /// The interim text since the last [`Final`](Self::Final). Each replaces the one before.
    Partial(String),
    /// The final text since the last one. It never changes again.
    Final(String),
    /// The answer to one [`RecognizerInput::Finalize`]: all audio before it has its results.
    Finalized,
    /// The service detected the start of a turn.
    TurnBegan,
    /// The service expects the end of the turn.
    TurnEndsSoon,
    /// The service withdraws its expectation: the turn goes on.
    TurnResumed,
    /// The service detected the end of the turn. The turn's words were sent before.
    TurnEnded,
    /// The service failed and sends no more results.
    Failed(SpeechError),
}

/// Hides the words: transcripts do not belong in logs.
impl fmt::Debug for RecognizerEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Partial(text) => write!(f, "Partial({} bytes)", text.len()),
            Self::Final(text) => write!(f, "Final({} bytes)", text.len()),
            Self::Finalized => f.write_str("Finalized"),
            Self::TurnBegan => f.write_str("TurnBegan"),
            Self::TurnEndsSoon => f.write_str("TurnEndsSoon"),
            Self::TurnResumed => f.write_str("TurnResumed"),
            Self::TurnEnded => f.write_str("TurnEnded"),
            Self::Failed(error) => write!(f, "Failed({error})"),
        }
    }
}

/// A service or program that turns text into speech.
#[async_trait]
pub trait TextToSpeech: Send + Sync {
    /// Opens a synthesizer for one call. It prepares whatever it can before the first text, such as a connection. The
    /// engine drops the future after three seconds.
    async fn open(&self, settings: VoiceSettings) -> Result<Box<dyn Synthesizer>, SpeechError>;
}

/// The text-to-speech settings of an agent (`voice`).
#[derive(Debug, Clone, PartialEq)]
pub struct VoiceSettings {
    /// The provider's id of the voice.
    pub voice_id: String,
    /// The provider's name of the model.
    pub model: String,
    /// BCP 47.
    pub language: String,
    /// The speaking rate: 1 is normal, 0.5–2 is allowed. A service that does not support the value fails to open.
    pub speed: f64,
    /// Provider-specific settings, a JSON object as text.
    pub settings: Arc<str>,
    /// The account's own key, used instead of the deployment's.
    pub key: Option<VoiceKey>,
}

/// An account's key for its own voices at a provider. `Debug` does not print it.
#[derive(Clone, PartialEq, Eq)]
pub struct VoiceKey(Arc<str>);

impl VoiceKey {
    pub fn new(secret: impl Into<Arc<str>>) -> Self {
        Self(secret.into())
    }

    /// The key in clear, to send it to the provider.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for VoiceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VoiceKey(redacted)")
    }
}

/// The synthesizer of one call. Dropping it closes its connections.
pub trait Synthesizer: Send + Sync {
    /// Speaks one text, a sentence or two. The stream ends after the last sound or an error. Dropping it cancels the
    /// text: the service gets notice if its protocol allows it, and late sound is discarded. Streams may overlap; the
    /// engine has two at most.
    fn speak(&self, text: SpokenText) -> BoxStream<'static, Result<SpeechPiece, SpeechError>>;
}

/// A text to speak.
#[derive(Clone, PartialEq, Eq)]
pub struct SpokenText {
    /// The text as it must be pronounced.
    pub text: String,
    /// The same voice's previous text, for the intonation; empty at the start of a turn.
    pub before: String,
}

/// Hides the words: transcripts do not belong in logs.
impl fmt::Debug for SpokenText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpokenText({} bytes)", self.text.len())
    }
}

#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpeechPiece {
    /// The next samples, any number of them.
    Audio(Vec<i16>),
    /// When words of the text are spoken, if the service reports it; in order, each word once.
    Words(Vec<WordTime>),
}

/// Hides sound and words.
impl fmt::Debug for SpeechPiece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Audio(samples) => write!(f, "Audio({} samples)", samples.len()),
            Self::Words(words) => write!(f, "Words({})", words.len()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordTime {
    /// The byte offset of the word's end in [`SpokenText::text`].
    pub text_end: usize,
    /// When the word has been spoken, from the stream's first sample.
    pub spoken_at: Duration,
}

/// Why speech-to-text or text-to-speech failed. It contains the kind of failure, never the upstream's own words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpeechError {
    /// The provider is not configured in this deployment.
    #[error("the speech provider is not configured")]
    NotConfigured,
    /// The provider does not support the agent's configuration. Contains the field and the remedy.
    #[error("the speech provider cannot do this: {0}")]
    Unable(FieldError),
    /// The connection failed or broke.
    #[error("the speech provider could not be reached")]
    Unreachable,
    /// The service answered with this HTTP status, or with an equivalent error.
    #[error("the speech provider answered with status {0}")]
    Refused(u16),
    #[error("the speech provider took too long")]
    Timeout,
    /// The answer violates the protocol.
    #[error("the speech provider's answer could not be read: {0}")]
    Protocol(&'static str),
}
