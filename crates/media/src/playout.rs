//! The playout queue. It knows how many samples of each segment were sent, so that after a barge-in it is known how
//! much of a reply was heard.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::{FRAME_SAMPLES, Frame};

/// The number of a speech segment. Numbers increase and are never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Segment(pub u64);

/// A report about a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Played {
    /// Its first sample was sent at this instant.
    Began(Segment, Instant),
    /// It was finished, and its last sample was sent. A cleared segment never ends.
    Ended(Segment, Instant),
}

/// How much of a segment was played before it was cleared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cleared {
    /// The segment.
    pub segment: Segment,
    /// The samples that were sent.
    pub played: u64,
    /// All its samples.
    pub enqueued: u64,
    /// Whether it was finished, so that `enqueued` is its whole length.
    pub finished: bool,
}

/// Samples of the fade-out when audio stops early, so that a pause does not click: 5 ms.
const FADE_SAMPLES: usize = 40;

/// The queue without a clock or a lock.
#[derive(Debug, Default)]
pub struct Playout {
    queue: VecDeque<Entry>,
    paused: bool,
    /// The highest segment number so far.
    newest: Option<Segment>,
    /// The last sample sent.
    level: i16,
    /// The background loop.
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
    /// The position of the next sample.
    at: usize,
}

impl Background {
    /// Mixes the next part of the loop into a frame.
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
    /// Adds audio to a segment. Segments play in the order in which they were first enqueued. Returns `false`, and
    /// drops the audio, if the segment is finished, cleared or over, or if a higher one was enqueued before.
    pub fn enqueue(&mut self, segment: Segment, samples: &[i16]) -> bool {
        match self.entry(segment) {
            Some(entry) if !entry.finished => {
                entry.samples.extend_from_slice(samples);
                true
            }
            _ => false,
        }
    }

    /// Marks a segment as complete. [`Played::Ended`] follows once all of it was sent, at once if nothing is left.
    pub fn finish(&mut self, segment: Segment, now: Instant) {
        if let Some(entry) = self.entry(segment) {
            entry.finished = true;
            self.settle(now);
        }
    }

    /// Goes silent with the next frame, and keeps the queue.
    pub fn pause(&mut self) {
        self.paused = true;
    }

    /// Continues with the first sample that was not sent.
    pub fn resume(&mut self) {
        self.paused = false;
    }

    /// Empties the queue; a pause stays in effect. Returns every segment that had not ended, in order.
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

    /// Loops background sound beneath all speech and silence. It is no segment: neither a pause nor a clear affects it.
    /// Empty samples remove it.
    pub fn set_background(&mut self, samples: Arc<[i16]>) {
        let is_empty = samples.is_empty();
        self.background = (!is_empty).then_some(Background { samples, at: 0 });
    }

    /// Fills the next frame. Returns how many of its samples come from the queue; the rest is silence or background.
    pub fn pull(&mut self, frame: &mut Frame, now: Instant) -> usize {
        let mut filled = 0;
        while !self.paused && filled < FRAME_SAMPLES {
            let Some(entry) = self.queue.front_mut() else {
                break;
            };
            let rest = &entry.samples[entry.played..];
            if rest.is_empty() {
                // A finished segment is removed when it ends, so more audio of this one is due, and late.
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

    /// Returns the current or next segment, and how many of its samples were sent.
    #[must_use]
    pub fn position(&self) -> Option<(Segment, u64)> {
        self.queue
            .front()
            .map(|entry| (entry.segment, entry.played as u64))
    }

    /// Returns the number of waiting samples.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queue
            .iter()
            .map(|entry| entry.samples.len() - entry.played)
            .sum()
    }

    /// Returns whether every segment has ended or was cleared.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.queue.is_empty()
    }

    /// Returns whether the queue is paused.
    #[must_use]
    pub const fn is_paused(&self) -> bool {
        self.paused
    }

    /// Returns the number of frames that were partly or completely silent within a segment, because its audio came too
    /// late.
    #[must_use]
    pub const fn underruns(&self) -> u64 {
        self.underruns
    }

    /// Returns the reports since the last call, in order.
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

    /// Removes segments that are over.
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

/// The queue as shared by the speaking side and the pump. No method blocks longer than copying a frame takes.
#[derive(Debug, Clone)]
pub struct Speaker {
    playout: Arc<Mutex<Playout>>,
    reports: mpsc::UnboundedSender<Played>,
}

impl Speaker {
    /// Creates an empty queue and the receiver of its reports: at most two per segment.
    #[must_use]
    pub fn new() -> (Self, mpsc::UnboundedReceiver<Played>) {
        let (reports, events) = mpsc::unbounded_channel();
        let playout = Arc::default();
        (Self { playout, reports }, events)
    }

    /// Calls [`Playout::enqueue`].
    pub fn enqueue(&self, segment: Segment, samples: &[i16]) -> bool {
        self.playout.lock().enqueue(segment, samples)
    }

    /// Calls [`Playout::finish`] with the current time.
    pub fn finish(&self, segment: Segment) {
        let mut playout = self.playout.lock();
        playout.finish(segment, Instant::now());
        self.report(&mut playout);
    }

    /// Calls [`Playout::pause`].
    pub fn pause(&self) {
        self.playout.lock().pause();
    }

    /// Calls [`Playout::resume`].
    pub fn resume(&self) {
        self.playout.lock().resume();
    }

    /// Calls [`Playout::clear`].
    #[must_use]
    pub fn clear(&self) -> Vec<Cleared> {
        self.playout.lock().clear()
    }

    /// Calls [`Playout::set_background`].
    pub fn set_background(&self, samples: Arc<[i16]>) {
        self.playout.lock().set_background(samples);
    }

    /// Calls [`Playout::position`].
    #[must_use]
    pub fn position(&self) -> Option<(Segment, u64)> {
        self.playout.lock().position()
    }

    /// Calls [`Playout::waiting`].
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.playout.lock().waiting()
    }

    /// Calls [`Playout::is_drained`].
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.playout.lock().is_drained()
    }

    /// Calls [`Playout::underruns`].
    #[must_use]
    pub fn underruns(&self) -> u64 {
        self.playout.lock().underruns()
    }

    /// Calls [`Playout::pull`], and sends the reports about segments.
    pub fn pull(&self, frame: &mut Frame, now: Instant) -> usize {
        let mut playout = self.playout.lock();
        let filled = playout.pull(frame, now);
        self.report(&mut playout);
        filled
    }

    /// Runs under the lock, so that reports stay in order. A closed receiver is ignored.
    fn report(&self, playout: &mut Playout) {
        for event in playout.events() {
            let _ = self.reports.send(event);
        }
    }
}
