//! The jitter buffer: packets in any order come in, 20 ms of sound go out, in order and at a steady pace.
//!
//! It plays along a line of time in samples. Sound waits for 40 ms when it begins, and up to 80 ms once packets were seen
//! to come late; what comes later than its turn is dropped. When nothing is left to be played, the line begins anew with
//! the next packet. When there was more than enough for half a second (the other side's clock is faster, or a burst came
//! after a stall), 20 ms are dropped.

use std::collections::VecDeque;
use std::time::Duration;

use crate::rtp::{Sequence, Timestamp};
use crate::{FRAME_SAMPLES, Frame, SILENCE};

const FRAME: i64 = FRAME_SAMPLES as i64;

/// The least that sound waits before it is heard.
pub const LEAST_WAIT: Duration = Duration::from_millis(40);

/// The least and the most that sound waits, in samples: 40 and 80 ms.
const LEAST_DELAY: i64 = 2 * FRAME;
const MOST_DELAY: i64 = 4 * FRAME;

/// More than this is never kept waiting: 240 ms.
const MOST_WAITING: i64 = 12 * FRAME;

/// A packet this far from the others is of a stream that begins anew: 1 s.
const JUMP: i64 = 50 * FRAME;

/// Packets that a stream may be away from the newest: RFC 3550, appendix A.1 calls these `MAX_DROPOUT` and `MAX_MISORDER`.
const MOST_AHEAD: i16 = 3_000;
const MOST_BEHIND: i16 = -100;

/// Packets that a stream must show to be believed to have begun anew may be this far apart, where some are lost.
const PROBATION_GAP: i16 = 8;

/// Packets that are kept at most: a second's worth of the shortest that phones send.
const MOST_PACKETS: usize = 100;

/// Samples that a packet may have: 5 to 120 ms.
pub const PACKET_SAMPLES: std::ops::RangeInclusive<usize> = 40..=960;

/// Frames over which it is watched whether too much waits (half a second), and whether less delay would do (10 s).
const DRIFT_FRAMES: u32 = 25;
const CALM_FRAMES: u32 = 500;

/// A packet of sound, decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sound {
    /// Which stream it is of.
    pub ssrc: u32,
    /// Its number.
    pub sequence: Sequence,
    /// When its first sample was taken.
    pub timestamp: Timestamp,
    /// As many as [`PACKET_SAMPLES`] allows.
    pub samples: Vec<i16>,
}

/// What came of 20 ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "it is made and taken apart at once, on the stack"
)]
pub enum Taken {
    /// Sound, whole or for the greater part; what is missing is silent.
    Sound(Frame),
    /// Packets are missing, and later ones are here: lost, or too late.
    Lost,
    /// Nothing is here to be played: the other side is silent, nothing arrives, or what arrived waits for its turn.
    Empty,
}

/// What was counted. All of it only grows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets taken in time.
    pub received: u64,
    /// Packets that came after their turn.
    pub late: u64,
    /// Packets that came twice.
    pub duplicates: u64,
    /// Numbers that were passed over, whether their packets came later or never. Late ones are taken off again by
    /// [`lost`](Self::lost).
    pub skipped: u64,
    /// Packets of one stream that came after one with a higher number.
    pub reordered: u64,
    /// Packets that cannot be: too short or too long, too many, or one alone of another stream.
    pub refused: u64,
    /// Frames that went out without sound while later sound was there.
    pub gaps: u64,
    /// Times that nothing was left in the middle of sound.
    pub underruns: u64,
    /// Frames dropped because too much waited.
    pub dropped: u64,
    /// Times that the stream began anew: another SSRC, or a jump of its counters.
    pub restarts: u64,
}

impl Counts {
    /// Packets that never came.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.skipped.saturating_sub(self.reordered)
    }

    /// Adds what another buffer counted.
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

/// The buffer of one call's incoming sound.
#[derive(Debug)]
pub struct JitterBuffer {
    stream: Option<Stream>,
    /// One packet of another stream, waiting for a second.
    probation: Option<Sound>,
    waiting: VecDeque<Placed>,
    /// The place on the line of what is played next.
    next: i64,
    delay: i64,
    flowing: bool,
    /// The least that was left to play after each frame, since the last look at the drift.
    least_left: i64,
    watched: u32,
    calm: u32,
    counts: Counts,
}

/// Where the stream stands, as its newest packet said.
#[derive(Debug, Clone, Copy)]
struct Stream {
    ssrc: u32,
    newest: Sequence,
    timestamp: Timestamp,
    /// Where that timestamp is on the line.
    place: i64,
    /// The last 64 numbers from the newest downwards, as bits.
    seen: u64,
}

/// Where a packet is among the others of its stream.
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
    /// What was counted.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// How long sound waits when it begins, in samples.
    #[must_use]
    pub const fn delay(&self) -> u32 {
        self.delay as u32
    }

    /// Takes a packet as it arrives.
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
        // A stream that was silent may have let its clock run or stand still; one that plays goes on from where it is.
        let far = !self.waiting.is_empty() && (place - self.next).abs() > JUMP;
        let near = (MOST_BEHIND..=MOST_AHEAD).contains(&ahead);
        if sound.ssrc != stream.ssrc || !near || far {
            self.prove(sound);
            return;
        }
        self.probation = None;
        self.go_on(stream, sound, place);
    }

    /// The next 20 ms.
    pub fn take(&mut self) -> Taken {
        let start = self.next;
        let end = start + FRAME;
        self.next = end;
        if self.waiting.is_empty() {
            self.least_left = 0;
            if self.flowing {
                self.flowing = false;
                self.counts.underruns += 1;
            }
            return Taken::Empty;
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
            return Taken::Sound(frame);
        }
        if !self.flowing {
            // It waits for its turn.
            return Taken::Empty;
        }
        self.counts.gaps += 1;
        Taken::Lost
    }

    /// Notes a packet of the stream that is no sound, such as a telephone-event, so that its number is not missed.
    pub fn pass(&mut self, ssrc: u32, sequence: Sequence) {
        let Some(mut stream) = self.stream.filter(|stream| stream.ssrc == ssrc) else {
            return;
        };
        if (MOST_BEHIND..=MOST_AHEAD).contains(&sequence.since(stream.newest)) {
            self.number(&mut stream, sequence);
            self.stream = Some(stream);
        }
    }

    /// Counts a packet by its number.
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

    /// Sound of the stream that is being played.
    fn go_on(&mut self, mut stream: Stream, sound: Sound, place: i64) {
        let order = self.number(&mut stream, sound.sequence);
        let mut start = place;
        if order == Order::New {
            if self.waiting.is_empty() && place - self.next > JUMP {
                // Its clock ran on while it was silent.
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

    /// Puts sound on the line, unless its turn is over. New sound for which nothing waits begins the line anew.
    fn place(&mut self, start: i64, samples: Vec<i16>, new: bool) {
        let end = start + samples.len() as i64;
        if start < self.next && new && self.waiting.is_empty() {
            // It is late, or the line ran on while the other side's clock stood still.
            if self.next - start < JUMP {
                self.grow();
            }
            self.next = start - self.delay;
        } else if end <= self.next {
            // One that no delay would have helped says nothing of the delay.
            if self.next - end < MOST_DELAY && self.grow() {
                // A longer delay from here on: 20 ms pass in which nothing is played.
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

    /// The first packet of all, or of a stream that is believed.
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

    /// A packet that does not belong to the stream: with a second one that follows it, they are a new stream; alone it may
    /// be a straggler, or forged.
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

    /// Makes the delay longer, unless it is the longest.
    fn grow(&mut self) -> bool {
        let shorter = self.delay;
        self.delay = (shorter + FRAME).min(MOST_DELAY);
        self.calm = 0;
        self.delay > shorter
    }

    /// Looks after each frame at what is left: too much for half a second, or far too much at once, is dropped; ten calm
    /// seconds take a step of the delay back, which the next drop or the next beginning makes good.
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
