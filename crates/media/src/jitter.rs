//! The jitter buffer: packets come in in any order, 20 ms frames go out in order and at a steady pace.
//!
//! It plays along a timeline in samples. Audio initially waits 40 ms, and up to 80 ms once packets have come late; a
//! packet that misses its turn is dropped. When the buffer runs empty, the timeline starts anew with the next packet.
//! When it was too full for half a second (the other side's clock is faster, or a burst followed a stall), it drops 20
//! ms.

use std::collections::VecDeque;
use std::time::Duration;

use crate::rtp::{Sequence, Timestamp};
use crate::{FRAME_SAMPLES, Frame, SILENCE};

const FRAME: i64 = FRAME_SAMPLES as i64;

/// The shortest playout delay.
pub const LEAST_WAIT: Duration = Duration::from_millis(40);

/// The shortest and the longest playout delay, in samples: 40 and 80 ms.
const LEAST_DELAY: i64 = 2 * FRAME;
const MOST_DELAY: i64 = 4 * FRAME;

/// The most audio that is kept: 240 ms.
const MOST_WAITING: i64 = 12 * FRAME;

/// A packet this far from the others belongs to a restarted stream: 1 s.
const JUMP: i64 = 50 * FRAME;

/// The sequence number range around the newest packet; RFC 3550, appendix A.1 calls the limits `MAX_DROPOUT` and
/// `MAX_MISORDER`.
const MOST_AHEAD: i16 = 3_000;
const MOST_BEHIND: i16 = -100;

/// The largest gap between the two packets that prove a restarted stream, because some may be lost.
const PROBATION_GAP: i16 = 8;

/// Packets kept at most: one second of the shortest that phones send.
const MOST_PACKETS: usize = 100;

/// Allowed samples per packet: 5 to 120 ms.
pub const PACKET_SAMPLES: std::ops::RangeInclusive<usize> = 40..=960;

/// The windows in frames for detecting too much audio (half a second), and for reducing the delay (10 s).
const DRIFT_FRAMES: u32 = 25;
const CALM_FRAMES: u32 = 500;

/// A decoded audio packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sound {
    /// The stream's SSRC.
    pub ssrc: u32,
    /// The sequence number.
    pub sequence: Sequence,
    /// The time of its first sample.
    pub timestamp: Timestamp,
    /// The samples, as many as [`PACKET_SAMPLES`] allows.
    pub samples: Vec<i16>,
}

/// The result of 20 ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "it is made and taken apart at once, on the stack"
)]
pub enum Pulled {
    /// Audio for more than half of a frame; the missing part is silent.
    Sound(Frame),
    /// Packets are lost or late, while later ones are here.
    Lost,
    /// There is nothing to play: the other side is silent, nothing arrives, or the packets wait for their turn.
    Empty,
}

/// Counters, which only increase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets received in time.
    pub received: u64,
    /// Packets that missed their turn.
    pub late: u64,
    /// Duplicate packets.
    pub duplicates: u64,
    /// Skipped sequence numbers, whether their packets came late or never. [`lost`](Self::lost) subtracts the late
    /// ones.
    pub skipped: u64,
    /// Packets that came after one of the same stream with a higher number.
    pub reordered: u64,
    /// Rejected packets: too short, too long, too many, or a single one of another stream.
    pub refused: u64,
    /// Frames without audio while later audio was there.
    pub gaps: u64,
    /// Times that the buffer ran empty in the middle of audio.
    pub underruns: u64,
    /// Frames dropped because the buffer was too full.
    pub dropped: u64,
    /// Times that the stream restarted: another SSRC, or a jump of its counters.
    pub restarts: u64,
}

impl Counts {
    /// Returns the number of packets that never came.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.skipped.saturating_sub(self.reordered)
    }

    /// Adds another buffer's counters.
    pub fn merge(&mut self, other: &Self) {
        for (ours, theirs) in [
            (&mut self.received, other.received),
            (&mut self.late, other.late),
            (&mut self.duplicates, other.duplicates),
            (&mut self.skipped, other.skipped),
            (&mut self.reordered, other.reordered),
            (&mut self.refused, other.refused),
            (&mut self.gaps, other.gaps),
            (&mut self.underruns, other.underruns),
            (&mut self.dropped, other.dropped),
            (&mut self.restarts, other.restarts),
        ] {
            *ours += theirs;
        }
    }
}

/// The jitter buffer of one call's incoming audio.
#[derive(Debug)]
pub struct JitterBuffer {
    stream: Option<Stream>,
    /// A packet of another stream that waits for a second one.
    probation: Option<Sound>,
    waiting: VecDeque<Placed>,
    /// The position of the next sample on the timeline.
    next: i64,
    delay: i64,
    flowing: bool,
    /// The least audio left after a frame, since the last drift check.
    least_left: i64,
    watched: u32,
    calm: u32,
    counts: Counts,
}

/// The state of the stream at its newest packet.
#[derive(Debug, Clone, Copy)]
struct Stream {
    ssrc: u32,
    newest: Sequence,
    timestamp: Timestamp,
    /// The position of that timestamp on the timeline.
    place: i64,
    /// Bit map of the last 64 sequence numbers, from the newest downwards.
    seen: u64,
}

/// A packet's order within its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    New,
    Older,
    Known,
}

#[derive(Debug)]
struct Placed {
    start: i64,
    samples: Vec<i16>,
}

impl Placed {
    fn end(&self) -> i64 {
        self.start + self.samples.len() as i64
    }
}

impl Default for JitterBuffer {
    fn default() -> Self {
        Self {
            stream: None,
            probation: None,
            waiting: VecDeque::new(),
            next: 0,
            delay: LEAST_DELAY,
            flowing: false,
            least_left: i64::MAX,
            watched: 0,
            calm: 0,
            counts: Counts::default(),
        }
    }
}

impl JitterBuffer {
    /// Returns the counters.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns the current playout delay in samples.
    #[must_use]
    pub const fn delay(&self) -> u32 {
        self.delay as u32
    }

    /// Adds a packet on arrival.
    pub fn put(&mut self, sound: Sound) {
        if !PACKET_SAMPLES.contains(&sound.samples.len()) {
            self.counts.refused += 1;
            return;
        }
        let Some(stream) = self.stream else {
            self.begin(sound);
            return;
        };
        let ahead = sound.sequence.since(stream.newest);
        let place = stream.place + i64::from(sound.timestamp.since(stream.timestamp));
        // The clock of a silent stream may run on or stand still; the clock of a playing stream must be continuous.
        let far = !self.waiting.is_empty() && (place - self.next).abs() > JUMP;
        let near = (MOST_BEHIND..=MOST_AHEAD).contains(&ahead);
        if sound.ssrc != stream.ssrc || !near || far {
            self.prove(sound);
            return;
        }
        self.probation = None;
        self.go_on(stream, sound, place);
    }

    /// Returns the next 20 ms.
    pub fn pull(&mut self) -> Pulled {
        let start = self.next;
        let end = start + FRAME;
        self.next = end;
        if self.waiting.is_empty() {
            self.least_left = 0;
            if self.flowing {
                self.flowing = false;
                self.counts.underruns += 1;
            }
            return Pulled::Empty;
        }
        let mut frame = SILENCE;
        let mut filled = 0;
        for packet in self.waiting.iter().take_while(|packet| packet.start < end) {
            let from = packet.start.max(start);
            let to = packet.end().min(end);
            if from < to {
                let samples =
                    &packet.samples[(from - packet.start) as usize..(to - packet.start) as usize];
                frame[(from - start) as usize..(to - start) as usize].copy_from_slice(samples);
                filled += to - from;
            }
        }
        while self
            .waiting
            .front()
            .is_some_and(|packet| packet.end() <= end)
        {
            self.waiting.pop_front();
        }
        self.watch();
        if filled * 2 > FRAME {
            self.flowing = true;
            return Pulled::Sound(frame);
        }
        if !self.flowing {
            // The packets wait for their turn.
            return Pulled::Empty;
        }
        self.counts.gaps += 1;
        Pulled::Lost
    }

    /// Registers a packet of the stream without audio, such as a telephone-event, so that its number does not count as
    /// lost.
    pub fn pass(&mut self, ssrc: u32, sequence: Sequence) {
        let Some(mut stream) = self.stream.filter(|stream| stream.ssrc == ssrc) else {
            return;
        };
        if (MOST_BEHIND..=MOST_AHEAD).contains(&sequence.since(stream.newest)) {
            self.number(&mut stream, sequence);
            self.stream = Some(stream);
        }
    }

    /// Counts a packet by its sequence number.
    fn number(&mut self, stream: &mut Stream, sequence: Sequence) -> Order {
        let ahead = sequence.since(stream.newest);
        let distance = u32::from(ahead.unsigned_abs());
        if ahead > 0 {
            self.counts.skipped += u64::from(distance) - 1;
            stream.newest = sequence;
            stream.seen = stream.seen.checked_shl(distance).unwrap_or(0) | 1;
            return Order::New;
        }
        match 1u64.checked_shl(distance) {
            Some(bit) if stream.seen & bit == 0 => {
                self.counts.reordered += 1;
                stream.seen |= bit;
                Order::Older
            }
            Some(_) => {
                self.counts.duplicates += 1;
                Order::Known
            }
            None => {
                self.counts.late += 1;
                Order::Known
            }
        }
    }

    /// Adds audio of the current stream.
    fn go_on(&mut self, mut stream: Stream, sound: Sound, place: i64) {
        let order = self.number(&mut stream, sound.sequence);
        let mut start = place;
        if order == Order::New {
            if self.waiting.is_empty() && place - self.next > JUMP {
                // The stream's clock ran on during silence.
                start = self.next + self.delay;
            }
            stream.timestamp = sound.timestamp;
            stream.place = start;
        }
        self.stream = Some(stream);
        if order != Order::Known {
            self.place(start, sound.samples, order == Order::New);
        }
    }

    /// Places audio on the timeline unless it missed its turn. New audio in an empty buffer restarts the timeline.
    fn place(&mut self, start: i64, samples: Vec<i16>, new: bool) {
        let end = start + samples.len() as i64;
        if start < self.next && new && self.waiting.is_empty() {
            // The audio is late, or the timeline ran on while the other side's clock stood still.
            if self.next - start < JUMP {
                self.grow();
            }
            self.next = start - self.delay;
        } else if end <= self.next {
            // If no allowed delay would have saved the packet, it is no reason to increase the delay.
            if self.next - end < MOST_DELAY && self.grow() {
                // Increase the delay: 20 ms pass without playout.
                self.next -= FRAME;
            }
            if end <= self.next {
                self.counts.late += 1;
                return;
            }
        }
        if self.waiting.len() >= MOST_PACKETS {
            self.counts.refused += 1;
            return;
        }
        self.counts.received += 1;
        let behind = self
            .waiting
            .iter()
            .rev()
            .take_while(|packet| packet.start > start)
            .count();
        let at = self.waiting.len() - behind;
        self.waiting.insert(at, Placed { start, samples });
    }

    /// The first packet of a call, or of a proven new stream.
    fn begin(&mut self, sound: Sound) {
        let start = self.next + self.delay;
        self.waiting.clear();
        self.flowing = false;
        self.stream = Some(Stream {
            ssrc: sound.ssrc,
            newest: sound.sequence,
            timestamp: sound.timestamp,
            place: start,
            seen: 1,
        });
        self.place(start, sound.samples, true);
    }

    /// A packet outside the stream. Together with a second one that follows it, it is a new stream; a single one may be
    /// a straggler, or forged.
    fn prove(&mut self, sound: Sound) {
        let Some(first) = self.probation.take() else {
            self.probation = Some(sound);
            return;
        };
        let gap = sound.sequence.since(first.sequence);
        let samples = i64::from(sound.timestamp.since(first.timestamp));
        let follows = (1..=PROBATION_GAP).contains(&gap) && (1..=JUMP).contains(&samples);
        if first.ssrc != sound.ssrc || !follows {
            self.counts.refused += 1;
            self.probation = Some(sound);
            return;
        }
        self.counts.restarts += 1;
        self.begin(first);
        self.put(sound);
    }

    /// Increases the delay up to its maximum.
    fn grow(&mut self) -> bool {
        let shorter = self.delay;
        self.delay = (shorter + FRAME).min(MOST_DELAY);
        self.calm = 0;
        self.delay > shorter
    }

    /// Checks the remaining audio after each frame. Too much for half a second, or far too much at once, is dropped.
    /// Ten calm seconds reduce the delay by one step, which takes effect at the next drop or restart.
    fn watch(&mut self) {
        let Some(end) = self.waiting.back().map(Placed::end) else {
            self.least_left = 0;
            return;
        };
        if end - self.next > MOST_WAITING {
            self.drop_until(end - self.delay);
        }
        self.least_left = self.least_left.min(end - self.next);
        self.calm += 1;
        if self.calm >= CALM_FRAMES {
            self.calm = 0;
            self.delay = (self.delay - FRAME).max(LEAST_DELAY);
        }
        self.watched += 1;
        if self.watched >= DRIFT_FRAMES {
            if self.least_left >= self.delay + FRAME {
                self.drop_until(self.next + FRAME);
            }
            self.watched = 0;
            self.least_left = i64::MAX;
        }
    }

    fn drop_until(&mut self, next: i64) {
        let frames = (next - self.next).max(0) / FRAME;
        self.next += frames * FRAME;
        self.counts.dropped += frames.unsigned_abs();
        while self
            .waiting
            .front()
            .is_some_and(|packet| packet.end() <= self.next)
        {
            self.waiting.pop_front();
        }
    }
}
