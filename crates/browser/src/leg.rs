//! The leg: every 20 ms it passes the page's audio to the engine, and the agent's audio to the page.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::{BufMut, Bytes, BytesMut};
use offhook_domain::E164;
use offhook_engine::ports::LineError;
use offhook_engine::ports::audio::{
    AudioEvent, AudioLeg, Cleared, Playout, SegmentId, Signalling, TICKS_AHEAD, Tick,
};
use offhook_media::outbox::Outbox;
use offhook_media::playout::Speaker;
use offhook_media::resample::Resampler;
use offhook_media::{FRAME_TIME, Frame, SAMPLE_RATE, SILENCE};
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use crate::inbox::{Inbox, Refused, to_engine};
use crate::{SAMPLE_BYTES, WIRE_RATE};

/// A page that sends nothing for this long is gone.
const SILENT_AT_MOST: Duration = Duration::from_secs(10);

/// Ticks that are caught up at once after the machine was busy. After a longer stall they are skipped.
const MOST_BEHIND: u32 = 5;

/// Silent frames after audio, so that the last samples leave the resampler, and a gap of a frame or two within a
/// sentence is inaudible at the page.
const TRAILING: u32 = 5;

/// Events that may wait for the engine.
const EVENTS_WAITING: usize = 64;

/// Frames that may wait for a page that does not read: one second. Further ones are dropped.
const MOST_WAITING: usize = 50;

/// A message to the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sent {
    /// Audio to play after the previous audio.
    Sound(Bytes),
    /// Discard all audio that was sent and not played yet.
    Clear,
}

/// The handle for the owner of the page's connection. Dropping it means that the page has hung up.
pub struct PageEnd {
    shared: Arc<Shared>,
    events: mpsc::Sender<AudioEvent>,
    _here: mpsc::Sender<()>,
}

/// The line of a page that waits for an answer.
pub struct PageLine {
    guard: LineGuard,
    events: mpsc::Sender<AudioEvent>,
    told: mpsc::Receiver<AudioEvent>,
    here: mpsc::Receiver<()>,
    to_wire: Resampler,
}

struct Shared {
    inbox: Mutex<Inbox>,
    outbox: Outbox<Sent>,
    /// The engine has hung up.
    is_over: watch::Sender<bool>,
}

/// Both ends of a page's line. `None` only if resampling between the two supported rates failed.
pub fn page() -> Option<(PageEnd, PageLine)> {
    let (to_engine, to_wire) = (to_engine()?, Resampler::new(SAMPLE_RATE, WIRE_RATE).ok()?);
    let shared = Arc::new(Shared {
        inbox: Mutex::new(Inbox::new(to_engine, Instant::now())),
        outbox: Outbox::new(MOST_WAITING),
        is_over: watch::Sender::new(false),
    });
    let (events, told) = mpsc::channel(EVENTS_WAITING);
    let (present, here) = mpsc::channel(1);
    let end = PageEnd {
        shared: shared.clone(),
        events: events.clone(),
        _here: present,
    };
    let line = PageLine {
        guard: LineGuard(shared),
        events,
        told,
        here,
        to_wire,
    };
    Some((end, line))
}

impl PageEnd {
    /// Adds audio of the page's microphone: whole samples, at most [`MOST_FRAME_BYTES`](crate::MOST_FRAME_BYTES). On
    /// [`Refused`] the caller should disconnect the page.
    pub fn push_audio(&self, pcm: &[u8]) -> Result<(), Refused> {
        self.shared.inbox.lock().put(pcm, Instant::now())
    }

    /// Adds a key press: `0`–`9`, `*`, `#`. Other keys, and a flood of keys, are ignored.
    pub fn press(&self, key: char) {
        if matches!(key, '0'..='9' | '*' | '#') {
            let _ = self.events.try_send(AudioEvent::Dtmf(key));
        }
    }

    /// The next message to the page, or `None` once the line is gone. Cancel-safe.
    pub async fn next(&self) -> Option<Sent> {
        self.shared.outbox.next().await
    }
}

impl PageLine {
    /// Answers: from now on audio flows both ways. Must be called within the runtime on which the line will run.
    pub fn answer(self) -> AudioLeg {
        let Self {
            guard,
            events,
            told,
            here,
            to_wire,
        } = self;
        let shared = guard.0.clone();
        let (ticks, heard) = mpsc::channel(TICKS_AHEAD);
        let (speaker, played) = Speaker::new();
        let leg = AudioLeg {
            events: told,
            ticks: heard,
            played,
            playout: Arc::new(SpeechOutput {
                speaker: speaker.clone(),
                shared: shared.clone(),
            }),
            signalling: Arc::new(Line(shared)),
        };
        let pacer = Pacer {
            guard,
            events,
            here,
            ticks,
            speaker,
            to_wire,
            number: 0,
            quiet: TRAILING,
        };
        tokio::spawn(pacer.run());
        leg
    }
}

/// The line's side of the shared state: dropping it ends the line, answered or not.
struct LineGuard(Arc<Shared>);

impl Drop for LineGuard {
    fn drop(&mut self) {
        self.0.outbox.close();
    }
}

/// The task of one line.
struct Pacer {
    guard: LineGuard,
    events: mpsc::Sender<AudioEvent>,
    here: mpsc::Receiver<()>,
    ticks: mpsc::Sender<Tick>,
    speaker: Speaker,
    to_wire: Resampler,
    number: u64,
    /// Silent frames since the last audio.
    quiet: u32,
}

impl Pacer {
    async fn run(mut self) {
        if self.events.send(AudioEvent::Answered).await.is_err() {
            return;
        }
        // Earlier audio is past; silence counts from now on.
        self.guard.0.inbox.lock().begins(Instant::now());
        let mut over = self.guard.0.is_over.subscribe();
        let mut deadline = Instant::now();
        let page_is_gone = loop {
            tokio::select! {
                biased;
                _ = over.wait_for(|over| *over) => break false,
                // The engine has dropped the line.
                () = self.ticks.closed() => break false,
                // Nothing is sent here: the channel closes when the page is gone.
                _ = self.here.recv() => break true,
                () = sleep_until(deadline) => {}
            }
            let now = Instant::now();
            let late = now.saturating_duration_since(deadline);
            let behind = (late.as_millis() / FRAME_TIME.as_millis()) as u32;
            if behind > MOST_BEHIND {
                self.number += u64::from(behind);
                deadline += FRAME_TIME * behind;
            }
            if !self.tick(now) {
                break true;
            }
            deadline += FRAME_TIME;
        };
        if page_is_gone {
            // Queued after keys that the engine has not read yet; a closed channel ignores it.
            let _ = self.events.send(AudioEvent::Hangup).await;
        }
    }

    /// Advances 20 ms; `false` if the page has been silent for too long.
    fn tick(&mut self, now: Instant) -> bool {
        let heard = {
            let mut inbox = self.guard.0.inbox.lock();
            if inbox.silent_for(now) >= SILENT_AT_MOST {
                return false;
            }
            inbox.pull()
        };
        let mut frame = SILENCE;
        self.speaker.pull(&mut frame, now);
        let is_sound = frame != SILENCE;
        self.quiet = if is_sound {
            0
        } else {
            self.quiet.saturating_add(1)
        };
        if self.quiet < TRAILING {
            let sound = self.on_the_wire(&frame);
            if !sound.is_empty() {
                self.guard.0.outbox.push(Sent::Sound(sound));
            }
        }
        let tick = Tick {
            number: self.number,
            heard,
            lost: false,
            said: is_sound.then_some(frame),
        };
        self.number += 1;
        // An engine that is busy for five seconds loses the ticks that do not fit.
        let _ = self.ticks.try_send(tick);
        true
    }

    fn on_the_wire(&mut self, frame: &Frame) -> Bytes {
        let mut samples = Vec::with_capacity(frame.len() * 2 + 64);
        self.to_wire.push(frame, &mut samples);
        let mut bytes = BytesMut::with_capacity(samples.len() * SAMPLE_BYTES);
        for sample in samples {
            bytes.put_i16_le(sample);
        }
        bytes.freeze()
    }
}

/// The playout queue; the page holds a small part of it.
struct SpeechOutput {
    speaker: Speaker,
    shared: Arc<Shared>,
}

impl Playout for SpeechOutput {
    fn enqueue(&self, segment: SegmentId, samples: &[i16]) {
        self.speaker.enqueue(segment, samples);
    }

    fn finish(&self, segment: SegmentId) {
        self.speaker.finish(segment);
    }

    fn pause(&self) {
        self.speaker.pause();
    }

    fn resume(&self) {
        self.speaker.resume();
    }

    fn set_background(&self, samples: Arc<[i16]>) {
        self.speaker.set_background(samples);
    }

    fn clear(&self) -> Vec<Cleared> {
        let cleared = self.speaker.clear();
        // Segments that never started are not at the page.
        if cleared.iter().any(|it| it.played > 0) {
            self.shared.outbox.replace(|_| false, Sent::Clear);
        }
        cleared
    }
}

/// A page supports hangup only: it cannot be transferred.
struct Line(Arc<Shared>);

#[async_trait]
impl Signalling for Line {
    async fn transfer(&self, _to: &E164) -> Result<(), LineError> {
        Err(LineError::Refused)
    }

    async fn send_digits(&self, _digits: &str) -> Result<(), LineError> {
        Err(LineError::Refused)
    }

    async fn hang_up(&self) {
        self.0.is_over.send_replace(true);
    }
}
