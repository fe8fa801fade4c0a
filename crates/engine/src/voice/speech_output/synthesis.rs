//! The synthesis of one sentence.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt, StreamExt, TryStreamExt};
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout, timeout_at};

use crate::ports::audio::SAMPLE_RATE;
use crate::ports::speech::{SpeechError, SpeechPiece, SpokenText, Synthesizer, WordTime};
use crate::voice::heard::Sentence;
use crate::voice::speech_output::Voice;

/// Limit for a synthesizer's first audio, including its opening, and between pieces.
const SOUND_LIMIT: Duration = Duration::from_secs(3);

type Opened = Arc<OnceCell<Box<dyn Synthesizer>>>;
type Pieces = BoxStream<'static, Result<SpeechPiece, SpeechError>>;

/// The synthesizers of one call, and the index of the last one used.
pub(super) struct Voices {
    all: Vec<(Voice, Opened)>,
    at: usize,
}

impl Voices {
    pub(super) fn new(voices: Vec<Voice>) -> Self {
        let all = voices.into_iter();
        Self {
            all: all.map(|voice| (voice, Opened::default())).collect(),
            at: 0,
        }
    }

    /// Has a synthesizer speak a text; opens it first if necessary.
    fn synthesize(&self, at: usize, text: SpokenText) -> Option<Pieces> {
        let (voice, opened) = self.all.get(at)?.clone();
        let pieces = async move {
            let open = || voice.service.open(voice.settings.clone());
            let synthesizer = opened.get_or_try_init(open).await?;
            Ok::<_, SpeechError>(synthesizer.speak(text))
        };
        Some(stream::once(pieces).try_flatten().boxed())
    }

    /// Opens the active synthesizer, if there is one. A failure shows when it has to speak.
    pub(super) fn warm_up(&self) -> Option<WarmUp> {
        let (voice, opened) = self.all.get(self.at)?.clone();
        let warming = async move {
            let open = || voice.service.open(voice.settings.clone());
            let _ = timeout(SOUND_LIMIT, opened.get_or_try_init(open)).await;
        };
        Some(WarmUp::Opening(warming.boxed()))
    }

    /// The index after a failed synthesizer, which is reopened on its next use.
    fn after(&mut self, at: usize) -> usize {
        if let Some((_, opened)) = self.all.get_mut(at) {
            *opened = Opened::default();
        }
        (at + 1) % self.all.len().max(1)
    }
}

/// One sentence: the audio received so far, and the stream of the rest.
pub(super) struct Synthesis {
    text: String,
    spoken: String,
    before: String,
    state: State,
    /// The active synthesizer, and how many have failed.
    voice: usize,
    failures: usize,
    deadline: Instant,
    /// Where the active synthesizer started, in bytes and samples; an earlier one may have spoken the part before.
    from: (usize, u64),
    /// Audio that is not in the playout queue yet.
    sound: Vec<i16>,
    samples: u64,
    words: Vec<WordTime>,
    first_byte_at: Option<Instant>,
}

enum State {
    Coming(Pieces),
    Whole,
    Failed { reported: bool },
}

/// The opening of a synthesizer before its first use.
pub(super) enum WarmUp {
    Opening(BoxFuture<'static, ()>),
    Done,
}

/// Waits once until the synthesizer is open. Cancel-safe.
pub(super) async fn warmed(warming: Option<&mut WarmUp>) {
    match warming {
        Some(state @ WarmUp::Opening(_)) => {
            if let WarmUp::Opening(opening) = state {
                opening.await;
            }
            *state = WarmUp::Done;
        }
        Some(WarmUp::Done) | None => std::future::pending().await,
    }
}

/// The next piece of the current sentence; never resolves without one. Cancel-safe.
pub(super) async fn next(
    synthesis: Option<&mut Synthesis>,
) -> Option<Result<SpeechPiece, SpeechError>> {
    let deadline = synthesis.as_ref().map(|it| it.deadline);
    match (synthesis.map(|it| &mut it.state), deadline) {
        (Some(State::Coming(pieces)), Some(deadline)) => timeout_at(deadline, pieces.next())
            .await
            .unwrap_or(Some(Err(SpeechError::Timeout))),
        _ => std::future::pending().await,
    }
}

impl Synthesis {
    pub(super) fn new(text: String, spoken: String, before: String, voices: &mut Voices) -> Self {
        let mut synthesis = Self {
            text,
            spoken,
            before,
            state: State::Whole,
            voice: voices.at,
            failures: 0,
            deadline: Instant::now(),
            from: (0, 0),
            sound: Vec::new(),
            samples: 0,
            words: Vec::new(),
            first_byte_at: None,
        };
        synthesis.request(voices);
        synthesis
    }

    /// Has the active synthesizer speak the rest.
    fn request(&mut self, voices: &Voices) {
        let rest = self.spoken[self.from.0..].trim();
        if !rest.contains(char::is_alphanumeric) {
            // Text without letters or digits, such as a dash, cannot be spoken.
            self.state = State::Whole;
            return;
        }
        let text = SpokenText {
            text: rest.to_owned(),
            before: self.before.clone(),
        };
        self.deadline = Instant::now() + SOUND_LIMIT;
        self.state = match voices.synthesize(self.voice, text) {
            Some(pieces) => State::Coming(pieces),
            None => State::Failed { reported: false },
        };
    }

    /// Handles a piece, an error, or the end of the stream.
    pub(super) fn add(
        &mut self,
        piece: Option<Result<SpeechPiece, SpeechError>>,
        voices: &mut Voices,
    ) {
        self.deadline = Instant::now() + SOUND_LIMIT;
        match piece {
            Some(Ok(SpeechPiece::Audio(samples))) if samples.is_empty() => {}
            Some(Ok(SpeechPiece::Audio(samples))) => {
                self.first_byte_at.get_or_insert_with(Instant::now);
                voices.at = self.voice;
                self.samples += samples.len() as u64;
                if self.sound.is_empty() {
                    self.sound = samples;
                } else {
                    self.sound.extend_from_slice(&samples);
                }
            }
            Some(Ok(SpeechPiece::Words(words))) => {
                let (text, began) = self.from;
                let began = time(began);
                self.words.extend(words.into_iter().map(|word| WordTime {
                    text_end: word.text_end.saturating_add(text),
                    spoken_at: word.spoken_at + began,
                }));
            }
            Some(Err(error)) => self.give_up(&error, voices),
            None if self.samples > self.from.1 => self.state = State::Whole,
            None => self.give_up(&SpeechError::Protocol("it made no sound"), voices),
        }
    }

    /// The next synthesizer continues where this one stopped.
    fn give_up(&mut self, error: &SpeechError, voices: &mut Voices) {
        tracing::warn!(%error, voice = self.voice, begun = self.samples > 0, "a voice failed");
        self.failures += 1;
        if self.failures >= voices.all.len() {
            voices.after(self.voice);
            self.state = State::Failed { reported: false };
            return;
        }
        let said = self.sentence(&self.spoken, false).heard(self.samples);
        let said = said.len();
        // The spoken words are at the beginning, after any leading space.
        let skipped = self.spoken.len() - self.spoken.trim_start().len();
        self.from = (skipped + said, self.samples);
        self.words.retain(|word| word.text_end <= self.from.0);
        self.voice = voices.after(self.voice);
        self.request(voices);
    }

    fn sentence<'a>(&'a self, text: &'a str, whole: bool) -> Sentence<'a> {
        Sentence {
            text,
            spoken: &self.spoken,
            samples: self.samples,
            whole,
            words: &self.words,
        }
    }

    /// What was heard after this many samples.
    pub(super) fn heard(&self, played: u64) -> &str {
        self.sentence(&self.text, self.is_whole()).heard(played)
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) const fn samples(&self) -> u64 {
        self.samples
    }

    pub(super) const fn first_byte_at(&self) -> Option<Instant> {
        self.first_byte_at
    }

    pub(super) fn take_sound(&mut self) -> Vec<i16> {
        std::mem::take(&mut self.sound)
    }

    pub(super) const fn is_whole(&self) -> bool {
        matches!(self.state, State::Whole)
    }

    /// Whether every synthesizer failed; true only once.
    pub(super) fn fails_now(&mut self) -> bool {
        match &mut self.state {
            State::Failed { reported } => !std::mem::replace(reported, true),
            State::Coming(_) | State::Whole => false,
        }
    }
}

fn time(samples: u64) -> Duration {
    Duration::from_micros(samples.saturating_mul(1_000_000) / u64::from(SAMPLE_RATE))
}
