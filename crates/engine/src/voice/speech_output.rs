//! The synthesizers of one call: an active one and its fallbacks. The next sentence is synthesized while the current
//! one plays.

mod synthesis;

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::ports::audio::{Playout, SAMPLE_RATE, SegmentId};
use crate::ports::speech::{TextToSpeech, VoiceSettings};
use crate::ports::{SoundTimes, Spoken};
use crate::voice::pronunciation::Pronunciation;
use synthesis::{Synthesis, Voices, WarmUp};

/// A synthesizer and its settings.
#[derive(Clone)]
pub struct Voice {
    pub service: Arc<dyn TextToSpeech>,
    pub settings: VoiceSettings,
}

/// The synthesizers of one call.
pub(super) struct SpeechOutput {
    voices: Voices,
    playout: Arc<dyn Playout>,
    pronunciation: Pronunciation,
    /// The sentence that waits for permission to speak.
    queued: Option<QueuedSentence>,
    saying: Option<Saying>,
    prepared: Option<Synthesis>,
    /// The previous sentence of the same turn.
    before: String,
    warming: Option<WarmUp>,
}

/// A sentence that waits to be spoken.
struct QueuedSentence {
    id: u64,
    text: String,
    done: oneshot::Sender<Spoken>,
}

struct Saying {
    id: u64,
    done: oneshot::Sender<Spoken>,
    synthesis: Synthesis,
    /// Whether the playout queue has the end of the sentence.
    finished: bool,
    first_frame_at: Option<Instant>,
}

impl SpeechOutput {
    pub(super) fn new(
        voices: Vec<Voice>,
        playout: Arc<dyn Playout>,
        pronunciation: Pronunciation,
    ) -> Self {
        Self {
            voices: Voices::new(voices),
            playout,
            pronunciation,
            queued: None,
            saying: None,
            prepared: None,
            before: String::new(),
            warming: None,
        }
    }

    /// Opens the first synthesizer while the phone rings, because connecting takes longer than a sentence.
    pub(super) fn warm_up(&mut self) {
        if self.warming.is_none() {
            self.warming = self.voices.warm_up();
        }
    }

    /// Starts to synthesize the sentence after the current one.
    pub(super) fn prepare(&mut self, text: &str) {
        if self.prepared.as_ref().is_none_or(|it| it.text() != text) {
            let before = self.saying.as_ref().map_or("", |it| it.synthesis.text());
            let synthesis = self.synthesis(text, before.to_owned());
            self.prepared = Some(synthesis);
        }
    }

    /// Adds a sentence under a number. It ends with [`finish`](Self::finish) or [`cut`](Self::cut).
    pub(super) fn queue(&mut self, id: u64, text: String, done: oneshot::Sender<Spoken>) {
        self.queued = Some(QueuedSentence { id, text, done });
    }

    /// Starts to speak the sentence.
    pub(super) fn speak(&mut self, id: u64) {
        let Some(queued) = self.queued.take_if(|queued| queued.id == id) else {
            return;
        };
        let prepared = self.prepared.take_if(|it| it.text() == queued.text);
        let synthesis = match prepared {
            Some(synthesis) => synthesis,
            None => self.synthesis(&queued.text, self.before.clone()),
        };
        self.saying = Some(Saying {
            id,
            done: queued.done,
            synthesis,
            finished: false,
            first_frame_at: None,
        });
        self.enqueue();
    }

    /// A new turn begins: its intonation does not continue the last one.
    pub(super) fn begin_turn(&mut self) {
        self.before.clear();
    }

    /// The first audio of a sentence was sent.
    pub(super) fn began(&mut self, id: u64, at: Instant) {
        if let Some(saying) = self.saying.as_mut().filter(|saying| saying.id == id) {
            saying.first_frame_at.get_or_insert(at);
        }
    }

    /// A sentence was played completely.
    pub(super) fn finish(&mut self, id: u64) {
        let Some(saying) = self.saying.take_if(|saying| saying.id == id) else {
            return;
        };
        self.before = saying.synthesis.text().to_owned();
        let played = saying.synthesis.samples();
        saying.end(played, true);
    }

    /// Cuts a sentence: the rest of it is not played.
    pub(super) fn cut(&mut self, id: u64) {
        self.prepared = None;
        if let Some(queued) = self.queued.take_if(|queued| queued.id == id) {
            let _ = queued.done.send(Spoken::default());
        }
        let Some(saying) = self.saying.take_if(|saying| saying.id == id) else {
            return;
        };
        let cleared = self.playout.clear();
        let cleared = cleared.iter().find(|it| it.segment == SegmentId(id));
        let samples = saying.synthesis.samples();
        // A finished segment that the queue no longer knows has just ended.
        let ended = saying.finished && cleared.is_none_or(|it| it.played >= samples);
        let played = match cleared {
            Some(cleared) => cleared.played,
            None if ended => samples,
            None => 0,
        };
        saying.end(played, ended);
    }

    /// Waits until every voice has failed on the current sentence; meanwhile enqueues its audio. Cancel-safe.
    pub(super) async fn failed(&mut self) -> u64 {
        loop {
            self.enqueue();
            let Self {
                saying,
                prepared,
                voices,
                warming,
                ..
            } = self;
            if let Some(saying) = saying
                && saying.synthesis.fails_now()
            {
                return saying.id;
            }
            let present = saying.as_mut().map(|saying| &mut saying.synthesis);
            tokio::select! {
                biased;
                piece = synthesis::next(present) => {
                    if let Some(saying) = saying {
                        saying.synthesis.add(piece, voices);
                    }
                }
                () = synthesis::warmed(warming.as_mut()) => {}
                piece = synthesis::next(prepared.as_mut()) => {
                    if let Some(synthesis) = prepared {
                        synthesis.add(piece, voices);
                    }
                }
            }
        }
    }

    /// Moves the received audio into the playout queue.
    fn enqueue(&mut self) {
        let Some(saying) = self.saying.as_mut() else {
            return;
        };
        let segment = SegmentId(saying.id);
        let sound = saying.synthesis.take_sound();
        if !sound.is_empty() {
            self.playout.enqueue(segment, &sound);
        }
        if saying.synthesis.is_whole() && !saying.finished {
            saying.finished = true;
            self.playout.finish(segment);
        }
    }

    fn synthesis(&mut self, text: &str, before: String) -> Synthesis {
        let spoken = self.pronunciation.apply(text);
        Synthesis::new(text.to_owned(), spoken, before, &mut self.voices)
    }
}

impl Saying {
    fn end(self, played: u64, complete: bool) {
        let synthesis = &self.synthesis;
        let sound = SoundTimes {
            first_byte_at: synthesis.first_byte_at(),
            first_frame_at: self.first_frame_at,
        };
        let heard = if complete {
            synthesis.text().trim()
        } else {
            synthesis.heard(played)
        };
        let ms = played.saturating_mul(1_000) / u64::from(SAMPLE_RATE);
        let _ = self.done.send(Spoken {
            heard_text: heard.to_owned(),
            complete,
            duration_ms: u32::try_from(ms).unwrap_or(u32::MAX),
            sound: Some(sound),
        });
    }
}
