//! An audible phone: a line with packets on the clock, a recognizer that understands what the test says, and a
//! synthesizer whose samples identify their character.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use offhook_domain::{CallHandle, E164};
use offhook_engine::ports::audio::{
    AudioCarrier, AudioEvent, AudioLeg, Cleared, FRAME_SAMPLES, FRAME_TIME, Frame, Played, Playout,
    Recorder, SILENCE, SegmentId, Signalling, SpeechDetector, TICKS_AHEAD, Tick,
};
use offhook_engine::ports::speech::{
    INPUTS_AHEAD, Recognizer, RecognizerAbilities, RecognizerEvent, RecognizerInput,
    RecognizerSettings, SpeechError, SpeechPiece, SpeechToText, SpokenText, Synthesizer,
    TextToSpeech, VoiceSettings,
};
use offhook_engine::ports::{DialError, DialRequest, LineError, NoTools, Tools};
use offhook_engine::voice::{
    Ambient, Pronunciation, RecognizerChoice, SpokenCarrier, SpokenSettings, Voice,
};
use offhook_engine::{
    CallControl, Deadline, Latencies, Moment, Persona, Session, SessionEnd, TurnLatency,
};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, interval, sleep};

use crate::it::fakes::{FakeModel, FakeModels, Notes, TokioClock, dial_request, persona};

/// Samples per character: 60 ms.
pub(crate) const PER_CHAR: usize = 480;

/// The synthesizer's delay before its first audio.
pub(crate) const VOICE_TAKES: Duration = Duration::from_millis(200);

/// The caller's amplitude.
const LOUD: i16 = 5_000;

#[derive(Default)]
pub(crate) struct Queue {
    segments: VecDeque<Segment>,
    paused: bool,
    played: Option<mpsc::UnboundedSender<Played>>,
}

struct Segment {
    id: SegmentId,
    sound: VecDeque<i16>,
    enqueued: u64,
    finished: bool,
}

impl Segment {
    fn played(&self) -> u64 {
        self.enqueued - self.sound.len() as u64
    }
}

impl Queue {
    fn tell(&self, played: Played) {
        if let Some(sender) = &self.played {
            let _ = sender.send(played);
        }
    }

    fn frame(&mut self) -> Option<Frame> {
        let mut frame = SILENCE;
        let mut filled = 0;
        while filled < FRAME_SAMPLES && !self.paused {
            let Some(segment) = self.segments.front_mut() else {
                break;
            };
            let first = segment.played() == 0;
            let id = segment.id;
            let mut sent = false;
            while filled < FRAME_SAMPLES
                && let Some(sample) = segment.sound.pop_front()
            {
                frame[filled] = sample;
                filled += 1;
                sent = true;
            }
            let ended = segment.finished && segment.sound.is_empty();
            if first && sent {
                self.tell(Played::Began(id, Instant::now()));
            }
            if !ended {
                break;
            }
            self.segments.pop_front();
            self.tell(Played::Ended(id, Instant::now()));
        }
        (filled > 0).then_some(frame)
    }

    fn segment(&mut self, id: SegmentId) -> &mut Segment {
        let at = self.segments.iter().position(|segment| segment.id == id);
        let at = at.unwrap_or_else(|| {
            self.segments.push_back(Segment {
                id,
                sound: VecDeque::new(),
                enqueued: 0,
                finished: false,
            });
            self.segments.len() - 1
        });
        &mut self.segments[at]
    }
}

/// The state that the test and the line share.
#[derive(Default)]
pub(crate) struct Wire {
    queue: Mutex<Queue>,
    caller_speaks: AtomicBool,
    silent: AtomicBool,
    /// The sent frames, without silence.
    sent: Mutex<Vec<(Duration, i16)>>,
    pub(crate) recorded: AtomicUsize,
    pub(crate) background: Mutex<Option<Arc<[i16]>>>,
    pub(crate) hung_up: AtomicUsize,
    did: Mutex<Vec<String>>,
}

impl Playout for Wire {
    fn enqueue(&self, id: SegmentId, samples: &[i16]) {
        let mut queue = self.queue.lock();
        let segment = queue.segment(id);
        segment.enqueued += samples.len() as u64;
        segment.sound.extend(samples);
    }

    fn finish(&self, id: SegmentId) {
        let mut queue = self.queue.lock();
        queue.segment(id).finished = true;
        while let Some(first) = queue.segments.front()
            && first.finished
            && first.sound.is_empty()
        {
            queue.tell(Played::Ended(first.id, Instant::now()));
            queue.segments.pop_front();
        }
    }

    fn pause(&self) {
        self.queue.lock().paused = true;
    }

    fn resume(&self) {
        self.queue.lock().paused = false;
    }

    fn set_background(&self, samples: Arc<[i16]>) {
        *self.background.lock() = Some(samples);
    }

    fn clear(&self) -> Vec<Cleared> {
        let segments = std::mem::take(&mut self.queue.lock().segments);
        let cleared = segments.into_iter().map(|segment| Cleared {
            segment: segment.id,
            played: segment.played(),
            enqueued: segment.enqueued,
            finished: segment.finished,
        });
        cleared.collect()
    }
}

#[async_trait]
impl Signalling for Wire {
    async fn transfer(&self, to: &E164) -> Result<(), LineError> {
        self.did.lock().push(format!("transfer {to}"));
        Ok(())
    }

    async fn send_digits(&self, digits: &str) -> Result<(), LineError> {
        self.did.lock().push(format!("digits {digits}"));
        Ok(())
    }

    async fn hang_up(&self) {
        self.hung_up.fetch_add(1, Ordering::Relaxed);
    }
}

/// Sends and receives a frame every 20 ms.
async fn pump(wire: Arc<Wire>, ticks: mpsc::Sender<Tick>) {
    let since = Instant::now();
    let mut clock = interval(FRAME_TIME);
    for number in 0.. {
        clock.tick().await;
        let said = wire.queue.lock().frame();
        if let Some(frame) = said {
            let mut sent = wire.sent.lock();
            for sample in frame.iter().filter(|sample| **sample != 0) {
                sent.push((since.elapsed(), *sample));
            }
        }
        let loud = wire.caller_speaks.load(Ordering::Relaxed);
        let tick = Tick {
            number,
            heard: if loud { [LOUD; FRAME_SAMPLES] } else { SILENCE },
            lost: wire.silent.load(Ordering::Relaxed),
            said,
        };
        if ticks.is_closed() {
            return;
        }
        let _ = ticks.try_send(tick);
    }
}

struct Network(Mutex<Option<AudioLeg>>);

#[async_trait]
impl AudioCarrier for Network {
    async fn dial(&self, _: DialRequest) -> Result<AudioLeg, DialError> {
        self.0.lock().take().ok_or(DialError::Unknown)
    }

    async fn hang_up_orphan(&self, _: CallHandle) -> Result<(), DialError> {
        Ok(())
    }
}

struct Loud;

impl SpeechDetector for Loud {
    fn likelihood(&mut self, frame: &Frame) -> f32 {
        if frame[0] == LOUD { 0.9 } else { 0.1 }
    }
}

struct Counts(Arc<Wire>);

impl Recorder for Counts {
    fn record(&mut self, _: &Tick) {
        self.0.recorded.fetch_add(1, Ordering::Relaxed);
    }
}

/// A recognizer that understands what the test says.
#[derive(Clone, Default)]
pub(crate) struct FakeRecognizer {
    /// The text of the current utterance, returned on request.
    pub(crate) owes: Arc<Mutex<String>>,
    pub(crate) events: Arc<Mutex<Option<mpsc::Sender<RecognizerEvent>>>>,
    pub(crate) opened: Arc<AtomicUsize>,
    pub(crate) frames: Arc<AtomicUsize>,
    /// How often opening it fails.
    pub(crate) fails: Arc<AtomicUsize>,
    pub(crate) stalls: bool,
}

#[async_trait]
impl SpeechToText for FakeRecognizer {
    async fn open(&self, _: RecognizerSettings) -> Result<Recognizer, SpeechError> {
        if self.stalls {
            std::future::pending::<()>().await;
        }
        if self.fails.load(Ordering::Relaxed) > 0 {
            self.fails.fetch_sub(1, Ordering::Relaxed);
            return Err(SpeechError::Refused(503));
        }
        self.opened.fetch_add(1, Ordering::Relaxed);
        let (input, mut inputs) = mpsc::channel(INPUTS_AHEAD);
        let (sender, events) = mpsc::channel(64);
        *self.events.lock() = Some(sender.clone());
        let (owes, frames) = (Arc::clone(&self.owes), Arc::clone(&self.frames));
        tokio::spawn(async move {
            while let Some(input) = inputs.recv().await {
                match input {
                    RecognizerInput::Frame(_) => {
                        frames.fetch_add(1, Ordering::Relaxed);
                    }
                    RecognizerInput::SpeechBegan => {}
                    RecognizerInput::Finalize => {
                        sleep(Duration::from_millis(100)).await;
                        let text = std::mem::take(&mut *owes.lock());
                        if !text.is_empty() {
                            let _ = sender.send(RecognizerEvent::Final(text)).await;
                        }
                        let _ = sender.send(RecognizerEvent::Finalized).await;
                    }
                }
            }
        });
        Ok(Recognizer { input, events })
    }

    fn abilities(&self) -> RecognizerAbilities {
        RecognizerAbilities {
            partials: true,
            turns: false,
        }
    }
}

impl FakeRecognizer {
    async fn tell(&self, event: RecognizerEvent) {
        let sender = self.events.lock().clone();
        if let Some(sender) = sender {
            let _ = sender.send(event).await;
        }
    }

    /// The service breaks off.
    pub(crate) async fn breaks(&self) {
        self.tell(RecognizerEvent::Failed(SpeechError::Unreachable))
            .await;
    }
}

/// A synthesizer whose samples are the number of their character.
#[derive(Clone, Default)]
pub(crate) struct FakeVoice {
    pub(crate) asked: Arc<Mutex<Vec<SpokenText>>>,
    pub(crate) opened: Arc<AtomicUsize>,
    /// How long opening it takes.
    pub(crate) opens_in: Duration,
    pub(crate) stalls: bool,
    /// It breaks off after this many characters.
    pub(crate) breaks_after: Option<usize>,
}

#[async_trait]
impl TextToSpeech for FakeVoice {
    async fn open(&self, _: VoiceSettings) -> Result<Box<dyn Synthesizer>, SpeechError> {
        sleep(self.opens_in).await;
        self.opened.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(self.clone()))
    }
}

impl Synthesizer for FakeVoice {
    fn speak(&self, text: SpokenText) -> BoxStream<'static, Result<SpeechPiece, SpeechError>> {
        self.asked.lock().push(text.clone());
        if self.stalls {
            return stream::pending().boxed();
        }
        let chars = text.text.chars().count();
        let spoken = chars.min(self.breaks_after.unwrap_or(chars));
        let pieces = (0..spoken).map(|at| {
            let value = i16::try_from(at + 1).unwrap_or(i16::MAX);
            Ok(SpeechPiece::Audio(vec![value; PER_CHAR]))
        });
        let broken = (spoken < chars).then_some(Err(SpeechError::Unreachable));
        let pieces: Vec<_> = pieces.chain(broken).collect();
        stream::once(sleep(VOICE_TAKES))
            .flat_map(move |()| stream::iter(pieces.clone()))
            .boxed()
    }
}

/// The setup of an audible call.
pub(crate) struct Stage {
    pub(crate) persona: Persona,
    pub(crate) models: FakeModels,
    pub(crate) recognizers: Vec<FakeRecognizer>,
    pub(crate) voices: Vec<FakeVoice>,
    pub(crate) screens: bool,
    pub(crate) pronunciation: Pronunciation,
    pub(crate) ambient: Option<Ambient>,
    pub(crate) tools: Arc<dyn Tools>,
}

/// A running audible call.
pub(crate) struct Phone {
    pub(crate) wire: Arc<Wire>,
    pub(crate) control: CallControl,
    pub(crate) notes: Arc<Notes>,
    events: mpsc::Sender<AudioEvent>,
    ear: FakeRecognizer,
    since: Instant,
    task: JoinHandle<SessionEnd>,
}

pub(crate) fn stage() -> Stage {
    let persona = Persona {
        endpointing: Duration::ZERO,
        ..persona()
    };
    Stage {
        persona,
        models: FakeModels::default().with("main", &FakeModel::says("I see. Go on.")),
        recognizers: vec![FakeRecognizer::default()],
        voices: vec![FakeVoice::default()],
        screens: false,
        pronunciation: Pronunciation::default(),
        ambient: None,
        tools: Arc::new(NoTools),
    }
}

impl Stage {
    pub(crate) fn dial(self) -> Phone {
        let since = Instant::now();
        let wire = Arc::new(Wire::default());
        let (events, leg_events) = mpsc::channel(16);
        let (sender, ticks) = mpsc::channel(TICKS_AHEAD);
        let (played, leg_played) = mpsc::unbounded_channel();
        wire.queue.lock().played = Some(played);
        tokio::spawn(pump(Arc::clone(&wire), sender));
        let leg = AudioLeg {
            events: leg_events,
            ticks,
            played: leg_played,
            playout: Arc::<Wire>::clone(&wire),
            signalling: Arc::<Wire>::clone(&wire),
        };
        let ear = self.recognizers.last().cloned().unwrap_or_default();
        let settings = SpokenSettings {
            recognizers: self.recognizers.into_iter().map(hearing).collect(),
            voices: self.voices.into_iter().map(voice).collect(),
            endpointing: Duration::from_millis(700),
            screens: self.screens,
            ambient: self.ambient,
            pronunciation: self.pronunciation,
            detector: Box::new(Loud),
            recorder: Some(Box::new(Counts(Arc::clone(&wire)))),
        };
        let network = Arc::new(Network(Mutex::new(Some(leg))));
        let session = Session {
            carrier: Arc::new(SpokenCarrier::new(network, settings)),
            dial: dial_request(),
            dial_by: Deadline::after(Moment::now(), Duration::from_secs(10)),
            persona: Arc::new(self.persona),
            models: Arc::new(self.models),
            latencies: Latencies::new(),
            tools: self.tools,
            knowledge: None,
            clock: Arc::new(TokioClock::new()),
        };
        let notes = Arc::new(Notes::default());
        let control = CallControl::new();
        let task = tokio::spawn({
            let (notes, control) = (Arc::clone(&notes), control.clone());
            async move { offhook_engine::run(session, &*notes, &control).await }
        });
        Phone {
            wire,
            control,
            notes,
            events,
            ear,
            since,
            task,
        }
    }
}

fn hearing(ear: FakeRecognizer) -> RecognizerChoice {
    RecognizerChoice {
        service: Arc::new(ear),
        settings: RecognizerSettings {
            model: "m".to_owned(),
            language: "en".to_owned(),
            settings: "{}".into(),
        },
    }
}

fn voice(voice: FakeVoice) -> Voice {
    Voice {
        service: Arc::new(voice),
        settings: VoiceSettings {
            voice_id: "v".to_owned(),
            model: "m".to_owned(),
            language: "en".to_owned(),
            speed: 1.0,
            settings: "{}".into(),
            key: None,
        },
    }
}

impl Phone {
    pub(crate) async fn is(&self, event: AudioEvent) {
        let sent = self.events.send(event).await;
        assert!(sent.is_ok(), "the call is over");
    }

    pub(crate) async fn answer(&self) {
        self.is(AudioEvent::Ringing).await;
        self.is(AudioEvent::Answered).await;
    }

    /// The caller makes a sound of `ms` milliseconds that is not a word.
    pub(crate) async fn coughs(&self, ms: u64) {
        self.wire.caller_speaks.store(true, Ordering::Relaxed);
        sleep(Duration::from_millis(ms)).await;
        self.wire.caller_speaks.store(false, Ordering::Relaxed);
    }

    /// The caller speaks, 250 ms per word; it is recognized word by word.
    pub(crate) async fn says(&self, text: &str) {
        self.wire.caller_speaks.store(true, Ordering::Relaxed);
        text.clone_into(&mut self.ear.owes.lock());
        let words: Vec<&str> = text.split(' ').collect();
        for said in 1..=words.len() {
            sleep(Duration::from_millis(250)).await;
            let partial = words[..said].join(" ");
            self.ear.tell(RecognizerEvent::Partial(partial)).await;
        }
        self.wire.caller_speaks.store(false, Ordering::Relaxed);
    }

    /// No more packets arrive.
    pub(crate) fn falls_silent(&self) {
        self.wire.silent.store(true, Ordering::Relaxed);
    }

    /// The sent audio so far: each character's number and sample count.
    pub(crate) fn sent(&self) -> Vec<(i16, usize)> {
        let mut sent: Vec<(i16, usize)> = Vec::new();
        for (_, value) in self.wire.sent.lock().iter() {
            match sent.last_mut() {
                Some((last, samples)) if last == value => *samples += 1,
                _ => sent.push((*value, 1)),
            }
        }
        sent
    }

    /// Clears the sent audio.
    pub(crate) fn forgets(&self) {
        self.wire.sent.lock().clear();
    }

    /// When the agent was first and last heard, since the call began.
    pub(crate) fn sounded(&self) -> (Duration, Duration) {
        let sent = self.wire.sent.lock();
        let at = |it: Option<&(Duration, i16)>| it.map_or(Duration::ZERO, |it| it.0);
        (at(sent.first()), at(sent.last()))
    }

    pub(crate) async fn end(self) -> End {
        let Ok(end) = self.task.await else {
            panic!("the session panicked")
        };
        End {
            end,
            took: self.since.elapsed(),
            script: crate::it::fakes::script(&self.notes.turns.lock()),
            measured: self.notes.measured.lock().clone(),
            hung_up: self.wire.hung_up.load(Ordering::Relaxed),
        }
    }

    pub(crate) async fn hangs_up(self) -> End {
        self.is(AudioEvent::Hangup).await;
        self.end().await
    }
}

/// The result of a call.
pub(crate) struct End {
    pub(crate) end: SessionEnd,
    pub(crate) took: Duration,
    pub(crate) script: Vec<String>,
    pub(crate) measured: Vec<TurnLatency>,
    pub(crate) hung_up: usize,
}

impl End {
    pub(crate) fn outcome(&self) -> offhook_domain::CallOutcome {
        match &self.end {
            SessionEnd::Ended { outcome, .. } => *outcome,
            SessionEnd::ClaimLost => panic!("the claim was lost"),
        }
    }
}
