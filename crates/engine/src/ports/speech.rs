//! Speech: what turns a caller's sound into text, and an agent's text into sound.
//!
//! Sound is what [`audio`](super::audio) says: 8 kHz, 16 bit, mono. An adapter that talks µ-law to its service encodes
//! and decodes on its own side, which loses nothing; one that needs another rate resamples.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use offhook_domain::FieldError;
use tokio::sync::mpsc;

use super::audio::Frame;

/// Finds recognisers and voices by the names that agents give them. Finding one asks no network: it is what saving and
/// publishing an agent do, too.
pub trait Speech: Send + Sync {
    /// The recogniser of this provider, once it has said that it can listen so.
    ///
    /// # Errors
    /// [`SpeechError::NotConfigured`] if no such provider listens here, [`SpeechError::Unable`] with the field of the
    /// agent's configuration that it cannot follow.
    fn recogniser(
        &self,
        provider: &str,
        settings: &RecogniserSettings,
    ) -> Result<Arc<dyn SpeechToText>, SpeechError>;

    /// The synthesiser of this provider, once it has said that it can speak so.
    fn synthesiser(
        &self,
        provider: &str,
        settings: &VoiceSettings,
    ) -> Result<Arc<dyn TextToSpeech>, SpeechError>;
}

/// A service or a program that turns speech into text.
#[async_trait]
pub trait SpeechToText: Send + Sync {
    /// Opens the ear of one call. Dropping the stream closes it. The engine gives up after three seconds,
    /// which drops the future.
    ///
    /// # Errors
    /// [`SpeechError`] if it cannot listen now.
    async fn open(&self, settings: RecogniserSettings) -> Result<Recogniser, SpeechError>;

    /// What it can do.
    fn abilities(&self) -> RecogniserAbilities;
}

/// What a recogniser can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecogniserAbilities {
    /// It tells parts of an utterance while it goes on: [`RecogniserEvent::Partial`].
    pub partials: bool,
    /// It decides itself when the caller's turn is over: [`RecogniserEvent::TurnEnded`].
    pub turns: bool,
}

/// How an agent listens (`stt`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecogniserSettings {
    /// The model's name at its provider.
    pub model: String,
    /// BCP 47.
    pub language: String,
    /// The provider's own settings, a JSON object as text.
    pub settings: Arc<str>,
}

/// The ear of one call.
pub struct Recogniser {
    /// What it is to hear. The engine never waits here: what finds no room is dropped. The end of the channel, or of
    /// both, closes the ear.
    pub input: mpsc::Sender<RecogniserInput>,
    /// What it understood. The end of the channel means that the service is gone.
    pub events: mpsc::Receiver<RecogniserEvent>,
}

/// Inputs that a recogniser should have room for: 5 s of frames, and the marks between them.
pub const INPUTS_AHEAD: usize = 256;

/// What a recogniser is given.
#[derive(Clone)]
pub enum RecogniserInput {
    /// The next 20 ms of the call, speech or not.
    Frame(Box<Frame>),
    /// The caller began to speak, somewhat before this. An adapter that sends whole utterances keeps the half second
    /// before this mark, and all up to [`Finalize`](Self::Finalize).
    SpeechBegan,
    /// The caller seems to have paused: what was heard so far is wanted now. The recogniser answers with a
    /// [`RecogniserEvent::Final`] for all that it had not yet told, if there is anything, and then with one
    /// [`RecogniserEvent::Finalized`].
    Finalize,
}

/// Without the sound.
impl fmt::Debug for RecogniserInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Frame(_) => "Frame",
            Self::SpeechBegan => "SpeechBegan",
            Self::Finalize => "Finalize",
        })
    }
}

/// What a recogniser understood.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecogniserEvent {
    /// What it takes the words since the last [`Final`](Self::Final) for, so far. Each replaces the one before.
    Partial(String),
    /// What was said since the last one. It never changes again.
    Final(String),
    /// The answer to one [`RecogniserInput::Finalize`]: all that was heard up to it has been told.
    Finalized,
    /// The service itself has found a turn's beginning.
    TurnBegan,
    /// The service expects that the turn is over.
    TurnEndsSoon,
    /// The service takes its last guess back: the turn goes on.
    TurnResumed,
    /// The service has found the turn's end. Its words have come before.
    TurnEnded,
    /// The service failed, and hears nothing more.
    Failed(SpeechError),
}

/// Without the words: a transcript has no place in a log.
impl fmt::Debug for RecogniserEvent {
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

/// A service or a program that turns text into speech.
#[async_trait]
pub trait TextToSpeech: Send + Sync {
    /// Opens the mouth of one call: whatever may be prepared before the first text, such as a connection, is prepared
    /// here. The engine gives up after three seconds, which drops the future.
    ///
    /// # Errors
    /// [`SpeechError`] if it cannot speak now.
    async fn open(&self, settings: VoiceSettings) -> Result<Box<dyn Synthesiser>, SpeechError>;
}

/// How an agent sounds (`voice`).
#[derive(Debug, Clone, PartialEq)]
pub struct VoiceSettings {
    /// The provider's id of the voice.
    pub voice_id: String,
    /// The model's name at its provider.
    pub model: String,
    /// BCP 47.
    pub language: String,
    /// 1 is the voice's own speed; 0.5–2. A service that cannot speak at this speed refuses to open.
    pub speed: f64,
    /// The provider's own settings, a JSON object as text.
    pub settings: Arc<str>,
    /// What opens the voice instead of the deployment's key, if it is an account's own.
    pub key: Option<VoiceKey>,
}

/// An account's key for its own voices at their provider. `Debug` does not print it.
#[derive(Clone, PartialEq, Eq)]
pub struct VoiceKey(Arc<str>);

impl VoiceKey {
    /// This key.
    pub fn new(secret: impl Into<Arc<str>>) -> Self {
        Self(secret.into())
    }

    /// The key, to be sent to the provider.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for VoiceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VoiceKey(redacted)")
    }
}

/// The mouth of one call. Dropping it closes what it holds open.
pub trait Synthesiser: Send + Sync {
    /// Speaks one text, a sentence or two. The stream ends after the last sound or an error. Dropping it cancels: the
    /// service is told so where it can be, and its late sound reaches nobody. Streams may be asked for while another
    /// one goes on; the engine has two at most.
    fn speak(&self, text: SpokenText) -> BoxStream<'static, Result<SpeechPiece, SpeechError>>;
}

/// A text to speak.
#[derive(Clone, PartialEq, Eq)]
pub struct SpokenText {
    /// What to say, as it is to be pronounced.
    pub text: String,
    /// What the same voice said just before, for the melody; empty at the beginning of a turn.
    pub before: String,
}

/// Without the words: a transcript has no place in a log.
impl fmt::Debug for SpokenText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpokenText({} bytes)", self.text.len())
    }
}

#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpeechPiece {
    /// The next samples, however many.
    Audio(Vec<i16>),
    /// When words of the text are spoken, as far as the service tells; in order, each word once.
    Words(Vec<WordTime>),
}

/// Without sound and words.
impl fmt::Debug for SpeechPiece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Audio(samples) => write!(f, "Audio({} samples)", samples.len()),
            Self::Words(words) => write!(f, "Words({})", words.len()),
        }
    }
}

/// When a word is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordTime {
    /// Where the word ends in [`SpokenText::text`], in bytes.
    pub text_end: usize,
    /// When it has been spoken, from the stream's first sample.
    pub spoken_at: Duration,
}

/// Why speech was not understood, or not made. It never holds what the upstream said, only what kind of failure it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpeechError {
    /// No such provider here.
    #[error("the speech provider is not configured")]
    NotConfigured,
    /// It cannot do what the agent asks of it: the field of the agent's configuration, and the remedy.
    #[error("the speech provider cannot do this: {0}")]
    Unable(FieldError),
    /// No connection, or it broke.
    #[error("the speech provider could not be reached")]
    Unreachable,
    /// It answered with this HTTP status, or one that means the same.
    #[error("the speech provider answered with status {0}")]
    Refused(u16),
    /// It took too long.
    #[error("the speech provider took too long")]
    Timeout,
    /// Its answer is not of the form agreed on.
    #[error("the speech provider's answer could not be read: {0}")]
    Protocol(&'static str),
}
