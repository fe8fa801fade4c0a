//! The queue of what is to be said. It knows of every segment how much of it was sent, to the sample, so that a reply cut
//! by a barge-in is known as far as it was heard.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::{FRAME_SAMPLES, Frame};

/// Names one segment of speech. Numbers rise, and none is used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Segment(pub u64);

/// What became of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Played {
    /// Its first sample was sent at this instant.
    Began(Segment, Instant),
    /// It was finished, and its last sample was sent. A segment that was cleared never ends.
    Ended(Segment, Instant),
}

/// How far a segment was played before it was cleared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cleared {
    /// Which.
    pub segment: Segment,
    /// Samples that were sent.
    pub played: u64,
    /// Samples that it had in all.
    pub enqueued: u64,
    /// Whether it was finished, so that `enqueued` is its whole length.
    pub finished: bool,
}

/// Samples over which sound fades that stops before its end, so that a pause does not click: 5 ms.
const FADE_SAMPLES: usize = 40;

/// The queue by itself: no clock, no lock.
#[derive(Debug, Default)]
pub struct Playout {
    queue: VecDeque<Entry>,
    paused: bool,
    /// The highest number that was named.
    newest: Option<Segment>,
    /// The last sample that went out.
    level: i16,
    /// What sounds beneath all that is said, in a loop.
    background: Option<Background>,
    underruns: u64,
    events: Vec<Played>,
}

#[derive(Debug)]
struct Entry {
    segment: Segment,
    samples: Vec<i16>,
    played: usize,
    finished: bool,
}

#[derive(Debug)]
struct Background {
    samples: Arc<[i16]>,
    /// The next sample.
    at: usize,
}

impl Background {
    /// Lays the next of it beneath a frame.
    fn mix(&mut self, frame: &mut Frame) {
        for sample in frame {
            *sample = sample.saturating_add(self.samples[self.at]);
            self.at = (self.at + 1) % self.samples.len();
        }
    }
}

impl Entry {
    const fn is_over(&self) -> bool {
        self.finished && self.played == self.samples.len()
    }
}

impl Playout {
    /// Adds sound to a segment. Segments are played in the order in which they were first named. `false` if the segment
    /// is finished, cleared or over, or if a higher one was named before it: its sound is dropped then.
    pub fn enqueue(&mut self, segment: Segment, samples: &[i16]) -> bool {
        match self.entry(segment) {
            Some(entry) if !entry.finished => {
                entry.samples.extend_from_slice(samples);
                true
            }
            _ => false,
        }
    }

    /// Nothing more comes for this segment. [`Played::Ended`] is told once all of it was sent, at once if nothing is left.
    pub fn finish(&mut self, segment: Segment, now: Instant) {
        if let Some(entry) = self.entry(segment) {
            entry.finished = true;
            self.settle(now);
        }
    }

    /// Falls silent with the next frame, and keeps the queue.
    pub fn pause(&mut self) {
        self.paused = true;
    }

    /// Goes on with the first sample that was not sent.
    pub fn resume(&mut self) {
        self.paused = false;
    }

    /// Empties the queue; a pause stays. It tells of every segment that had not ended, in their order.
    pub fn clear(&mut self) -> Vec<Cleared> {
        self.queue
            .drain(..)
            .map(|entry| Cleared {
                segment: entry.segment,
                played: entry.played as u64,
                enqueued: entry.samples.len() as u64,
                finished: entry.finished,
            })
            .collect()
    }

    /// What sounds from now on beneath all that is said, and while nothing is: a loop. It belongs to no segment, so that
    /// neither a pause nor a clear touches it. Without samples there is none.
    pub fn set_background(&mut self, samples: Arc<[i16]>) {
        let is_empty = samples.is_empty();
        self.background = (!is_empty).then_some(Background { samples, at: 0 });
    }

    /// Fills the next frame. Returns how many samples of it are of the queue; what follows them is silence, or the
    /// background alone.
    pub fn pull(&mut self, frame: &mut Frame, now: Instant) -> usize {
        let mut filled = 0;
        while !self.paused && filled < FRAME_SAMPLES {
            let Some(entry) = self.queue.front_mut() else {
                break;
            };
            let rest = &entry.samples[entry.played..];
            if rest.is_empty() {
                // What is finished is taken out when it ends: more is to come of this one, and it is late.
                self.underruns += u64::from(entry.played > 0);
                break;
            }
            let length = rest.len().min(FRAME_SAMPLES - filled);
            frame[filled..filled + length].copy_from_slice(&rest[..length]);
            if entry.played == 0 {
                self.events.push(Played::Began(entry.segment, now));
            }
            entry.played += length;
            filled += length;
            self.settle(now);
        }
        self.fade(frame, filled);
        if let Some(background) = &mut self.background {
            background.mix(frame);
        }
        filled
    }

    /// The segment that is played now or next, and how many of its samples were sent.
    #[must_use]
    pub fn position(&self) -> Option<(Segment, u64)> {
        self.queue
            .front()
            .map(|entry| (entry.segment, entry.played as u64))
    }

    /// Samples that wait to be sent.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queue
            .iter()
            .map(|entry| entry.samples.len() - entry.played)
            .sum()
    }

    /// Whether all that was named has ended or was cleared.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether it is paused.
    #[must_use]
    pub const fn is_paused(&self) -> bool {
        self.paused
    }

    /// Frames that were silent in part or whole within a segment, because its sound came too late.
    #[must_use]
    pub const fn underruns(&self) -> u64 {
        self.underruns
    }

    /// What became of segments since the last look, in order.
    pub fn events(&mut self) -> impl Iterator<Item = Played> + '_ {
        self.events.drain(..)
    }

    fn entry(&mut self, segment: Segment) -> Option<&mut Entry> {
        if self.newest.is_none_or(|newest| segment > newest) {
            self.newest = Some(segment);
            self.queue.push_back(Entry {
                segment,
                samples: Vec::new(),
                played: 0,
                finished: false,
            });
            return self.queue.back_mut();
        }
        self.queue.iter_mut().find(|entry| entry.segment == segment)
    }

    /// Takes out what is over.
    fn settle(&mut self, now: Instant) {
        while let Some(entry) = self.queue.front().filter(|entry| entry.is_over()) {
            self.events.push(Played::Ended(entry.segment, now));
            self.queue.pop_front();
        }
    }

    fn fade(&mut self, frame: &mut Frame, filled: usize) {
        let (sound, silence) = frame.split_at_mut(filled);
        let from = i32::from(sound.last().copied().unwrap_or(self.level));
        silence.fill(0);
        let length = silence.len().min(FADE_SAMPLES);
        for (place, sample) in silence[..length].iter_mut().enumerate() {
            *sample = (from * (length - place - 1) as i32 / length as i32) as i16;
        }
        self.level = frame[FRAME_SAMPLES - 1];
    }
}

/// The queue as it is shared between who speaks and the pump. No call waits for longer than a frame is copied.
#[derive(Debug, Clone)]
pub struct Speaker {
    playout: Arc<Mutex<Playout>>,
    told: mpsc::UnboundedSender<Played>,
}

impl Speaker {
    /// An empty queue, and what will be told of its segments: two events for each at most.
    #[must_use]
    pub fn new() -> (Self, mpsc::UnboundedReceiver<Played>) {
        let (told, events) = mpsc::unbounded_channel();
        let playout = Arc::default();
        (Self { playout, told }, events)
    }

    /// [`Playout::enqueue`].
    pub fn enqueue(&self, segment: Segment, samples: &[i16]) -> bool {
        self.playout.lock().enqueue(segment, samples)
    }

    /// [`Playout::finish`], now.
    pub fn finish(&self, segment: Segment) {
        let mut playout = self.playout.lock();
        playout.finish(segment, Instant::now());
        self.tell(&mut playout);
    }

    /// [`Playout::pause`].
    pub fn pause(&self) {
        self.playout.lock().pause();
    }

    /// [`Playout::resume`].
    pub fn resume(&self) {
        self.playout.lock().resume();
    }

    /// [`Playout::clear`].
    #[must_use]
    pub fn clear(&self) -> Vec<Cleared> {
        self.playout.lock().clear()
    }

    /// [`Playout::set_background`].
    pub fn set_background(&self, samples: Arc<[i16]>) {
        self.playout.lock().set_background(samples);
    }

    /// [`Playout::position`].
    #[must_use]
    pub fn position(&self) -> Option<(Segment, u64)> {
        self.playout.lock().position()
    }

    /// [`Playout::waiting`].
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.playout.lock().waiting()
    }

    /// [`Playout::is_drained`].
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.playout.lock().is_drained()
    }

    /// [`Playout::underruns`].
    #[must_use]
    pub fn underruns(&self) -> u64 {
        self.playout.lock().underruns()
    }

    /// [`Playout::pull`], and tells what it made of the segments.
    pub fn pull(&self, frame: &mut Frame, now: Instant) -> usize {
        let mut playout = self.playout.lock();
        let filled = playout.pull(frame, now);
        self.tell(&mut playout);
        filled
    }

    /// Under the lock, so that events come in their order. Who no longer listens is not told.
    fn tell(&self, playout: &mut Playout) {
        for event in playout.events() {
            let _ = self.told.send(event);
        }
    }
}
