//! Keys as telephone-events (RFC 4733): `0`–`9`, `*`, `#` and `A`–`D`.
//!
//! An event spans several packets, all with the timestamp of its beginning. Its end is sent three times, so that no key
//! is lost with a packet.

use crate::FRAME_SAMPLES;
use crate::rtp::Timestamp;

/// The keys, indexed by event code (RFC 4733, table 3).
const KEYS: &[u8; 16] = b"0123456789*#ABCD";

/// The payload of a packet: the state of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// The event code; 0 to 15 are keys.
    pub code: u8,
    /// Whether the event is over.
    pub end: bool,
    /// The tone's power below 0 dBm0, in dB, from 0 to 63.
    pub volume: u8,
    /// The duration so far, in samples.
    pub duration: u16,
}

impl Report {
    /// Parses a payload; `None` if it is too short. Further reports in it are ignored.
    #[must_use]
    pub fn read(payload: &[u8]) -> Option<Self> {
        let &[code, flags, high, low, ..] = payload else {
            return None;
        };
        Some(Self {
            code,
            end: flags & 0x80 != 0,
            volume: flags & 0x3F,
            duration: u16::from_be_bytes([high, low]),
        })
    }

    /// Returns the payload.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 4] {
        let [high, low] = self.duration.to_be_bytes();
        [
            self.code,
            ((self.end as u8) << 7) | (self.volume & 0x3F),
            high,
            low,
        ]
    }
}

/// Returns the key of an event code, if it is one.
#[must_use]
pub fn key(code: u8) -> Option<char> {
    KEYS.get(usize::from(code)).map(|&key| char::from(key))
}

/// Returns the event code of a key; letters may have either case.
#[must_use]
pub fn code(key: char) -> Option<u8> {
    let key = u8::try_from(key).ok()?.to_ascii_uppercase();
    let place = KEYS.iter().position(|&known| known == key)?;
    u8::try_from(place).ok()
}

/// Ticks without a report after which an event counts as over although its end was not seen: 100 ms.
const QUIET_TICKS: u32 = 5;

/// How much older than the newest event a straggler may be, in samples: 2 s. An even older packet belongs to a stream
/// that restarted.
const REORDERED: i32 = 16_000;

/// Receives the other side's events and reports each key once, at its end.
#[derive(Debug, Default)]
pub struct Inbox {
    last: Option<LastEvent>,
}

/// The newest event.
#[derive(Debug, Clone, Copy)]
struct LastEvent {
    ssrc: u32,
    code: u8,
    start: Timestamp,
    duration: u16,
    /// The key is still pressed.
    on: bool,
    quiet: u32,
}

impl Inbox {
    /// Adds a packet and returns the keys that it completes, in order: an earlier key whose end was lost, and this one
    /// if the packet is its end. Duplicates, and packets older than the newest event, have no effect.
    pub fn take(
        &mut self,
        ssrc: u32,
        timestamp: Timestamp,
        marker: bool,
        report: Report,
    ) -> [Option<char>; 2] {
        let mut over = [None, None];
        match self.last.as_mut().filter(|event| event.ssrc == ssrc) {
            Some(event) if event.continues(timestamp, marker, report) => {
                event.start = timestamp;
                event.duration = report.duration;
                event.quiet = 0;
            }
            Some(event) if event.repeats(timestamp, marker, report) => return over,
            Some(event) if (-REORDERED..0).contains(&timestamp.since(event.start)) => return over,
            Some(event) if timestamp == event.start => {
                if !event.on || event.code != report.code {
                    return over;
                }
                event.duration = event.duration.max(report.duration);
                event.quiet = 0;
            }
            _ => {
                over[0] = self.release();
                self.last = Some(LastEvent {
                    ssrc,
                    code: report.code,
                    start: timestamp,
                    duration: report.duration,
                    on: true,
                    quiet: 0,
                });
            }
        }
        if report.end {
            over[1] = self.release();
        }
        over
    }

    /// Advances 20 ms. Returns a key whose end must have been lost.
    pub fn tick(&mut self) -> Option<char> {
        let event = self.last.as_mut().filter(|event| event.on)?;
        event.quiet += 1;
        if event.quiet < QUIET_TICKS {
            return None;
        }
        self.release()
    }

    /// Returns whether an event is in progress, so that the audio is a tone.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.last.is_some_and(|event| event.on)
    }

    fn release(&mut self) -> Option<char> {
        let event = self.last.as_mut().filter(|event| event.on)?;
        event.on = false;
        key(event.code)
    }
}

impl LastEvent {
    /// Whether a packet with a later timestamp belongs to this event. An event of more than 2¹⁶ samples continues with
    /// a new timestamp (RFC 4733, §2.5.1.3), and some gateways wrongly give every packet of an event its own.
    fn continues(&self, timestamp: Timestamp, marker: bool, report: Report) -> bool {
        const NEARLY_FULL: u16 = u16::MAX - 8 * FRAME_SAMPLES as u16;
        let since = timestamp.since(self.start);
        let long = self.duration >= NEARLY_FULL && since > i32::from(NEARLY_FULL);
        let restamped =
            report.duration > self.duration && (1..=i32::from(report.duration)).contains(&since);
        self.on && !marker && self.code == report.code && (long || restamped)
    }

    /// Whether a packet with a later timestamp repeats the end, from such a gateway.
    fn repeats(&self, timestamp: Timestamp, marker: bool, report: Report) -> bool {
        const REPEATED_WITHIN: i32 = 4 * FRAME_SAMPLES as i32;
        let repeated = report.end && report.code == self.code && report.duration == self.duration;
        !self.on
            && !marker
            && repeated
            && (1..=REPEATED_WITHIN).contains(&timestamp.since(self.start))
    }
}

/// Frames of a key's tone: 100 ms.
pub(crate) const TONE_FRAMES: u32 = 5;

/// How often its end is sent.
const END_FRAMES: u32 = 3;

/// Frames of silence after it: with the repeated ends, 100 ms from the tone's end.
const GAP_FRAMES: u32 = 3;

/// Frames of a pause, written `w`: half a second.
const PAUSE_FRAMES: u32 = 25;

/// The power of our tones: 10 dB below 0 dBm0, as most phones send.
const VOLUME: u8 = 10;

/// Sends keys one after the other.
#[derive(Debug, Default)]
pub struct Outbox {
    waiting: std::collections::VecDeque<Step>,
    now: Option<(Step, u32, Timestamp)>,
}

/// One step of a key sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The key with this event code.
    Key(u8),
    /// Half a second of silence.
    Pause,
}

/// Parses a key sequence, with `w` for a pause.
pub(crate) fn steps(keys: &str) -> Result<Vec<Step>, NoKey> {
    let step = |(at, character)| match character {
        'w' | 'W' => Ok(Step::Pause),
        _ => code(character).map(Step::Key).ok_or(NoKey { at }),
    };
    keys.chars().enumerate().map(step).collect()
}

/// What a frame's packet contains instead of audio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outgoing {
    /// A report. `first` sets the packet's marker; the timestamp is that of the event's beginning.
    Report {
        /// Whether it is the event's first packet.
        first: bool,
        /// The event's beginning.
        timestamp: Timestamp,
        /// The payload.
        report: Report,
    },
    /// Silence between two keys, or after the last one.
    Silence,
}

/// A character that is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "`digits` may hold 0-9, *, #, A-D, and w for a pause of half a second; the character at {at} is none of these"
)]
pub struct NoKey {
    /// Its index among the characters, from 0.
    pub at: usize,
}

impl Outbox {
    /// Adds keys, with `w` for a pause of half a second. Returns [`NoKey`], and adds nothing, for any other character.
    pub fn push(&mut self, keys: &str) -> Result<(), NoKey> {
        let steps = steps(keys)?;
        self.waiting.extend(steps);
        Ok(())
    }

    /// Moves the waiting keys of another outbox to the end of this one.
    pub fn append(&mut self, other: &mut Self) {
        self.waiting.append(&mut other.waiting);
    }

    /// Returns what to send in the frame that begins at `timestamp`; `None` when all keys were sent and audio may
    /// continue.
    pub fn next(&mut self, timestamp: Timestamp) -> Option<Outgoing> {
        let (step, frame, start) = match self.now.take() {
            Some((step, frame, start)) if frame < step.frames() => (step, frame, start),
            _ => (self.waiting.pop_front()?, 0, timestamp),
        };
        self.now = Some((step, frame + 1, start));
        let Step::Key(code) = step else {
            return Some(Outgoing::Silence);
        };
        if frame >= TONE_FRAMES + END_FRAMES - 1 {
            return Some(Outgoing::Silence);
        }
        let sounded = (frame + 1).min(TONE_FRAMES);
        Some(Outgoing::Report {
            first: frame == 0,
            timestamp: start,
            report: Report {
                code,
                end: sounded == TONE_FRAMES,
                volume: VOLUME,
                duration: (sounded * FRAME_SAMPLES as u32) as u16,
            },
        })
    }

    /// Returns whether all keys were sent.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.waiting.is_empty()
            && self
                .now
                .is_none_or(|(step, frame, _)| frame >= step.frames())
    }
}

impl Step {
    /// The number of its frames.
    pub(crate) const fn frames(self) -> u32 {
        match self {
            Self::Key(_) => TONE_FRAMES + END_FRAMES - 1 + GAP_FRAMES,
            Self::Pause => PAUSE_FRAMES,
        }
    }
}
