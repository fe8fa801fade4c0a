//! Voice activity detection: a small neural network rates each frame, and a debouncer derives starts and stops of
//! speech.
//!
//! The network sometimes takes ringback and the edges of tones for speech. So it must run only after the answer, and
//! not while a key is pressed.

use std::time::Duration;

use earshot::Detector;

use crate::{FRAME_TIME, Frame};

/// Samples per run of the network: 16 ms at 16 kHz.
const NET_SAMPLES: usize = 256;

/// The neural network that distinguishes speech from other sound.
pub struct Likelihood {
    net: Box<Detector>,
    last: i16,
    wide: Vec<i16>,
}

impl std::fmt::Debug for Likelihood {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Likelihood").finish_non_exhaustive()
    }
}

impl Default for Likelihood {
    fn default() -> Self {
        Self {
            net: Detector::default_boxed(),
            last: 0,
            wide: Vec::with_capacity(3 * NET_SAMPLES),
        }
    }
}

impl Likelihood {
    /// Returns the probability that the caller speaks in this frame, from 0 to 1. Frames must come in order.
    pub fn of(&mut self, frame: &Frame) -> f32 {
        // Upsample by linear interpolation. A good filter would leave the upper half of the band empty, which the
        // network did not see in its training: it would take up to 97 % of frames with noise and tones for speech,
        // instead of none of noise. It finds the same amount of speech either way.
        for &sample in frame {
            self.wide.push(i16::midpoint(self.last, sample));
            self.wide.push(sample);
            self.last = sample;
        }
        let mut likelihood: f32 = 0.0;
        let mut windows = self.wide.chunks_exact(NET_SAMPLES);
        for window in &mut windows {
            likelihood = likelihood.max(self.net.predict_i16(window));
        }
        let rest = windows.remainder().len();
        self.wide.drain(..self.wide.len() - rest);
        likelihood
    }
}

/// The thresholds of speech detection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// From this probability on, a frame counts as speech.
    pub threshold: f32,
    /// Speech of this length is a start.
    pub start: Duration,
    /// Silence of this length is a stop.
    pub stop: Duration,
}

impl Default for Settings {
    /// 0.5, 120 ms and 200 ms.
    fn default() -> Self {
        Self {
            threshold: 0.5,
            start: Duration::from_millis(120),
            stop: Duration::from_millis(200),
        }
    }
}

/// A start or a stop. Frames are numbered from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Speech began with this frame.
    Started {
        /// The first frame of speech, some frames before its detection.
        frame: u64,
    },
    /// Speech ended before this frame.
    Stopped {
        /// The first frame of silence, some frames before its detection.
        frame: u64,
    },
}

/// Derives starts and stops from frames of speech and silence.
#[derive(Debug, Clone)]
pub struct Debouncer {
    start: u64,
    stop: u64,
    frame: u64,
    speaking: bool,
    /// Frames of speech minus frames of silence since `since`, while silent.
    balance: u64,
    /// The first frame of a possible start.
    since: u64,
    /// The frame after the last one of speech.
    until: u64,
}

impl Debouncer {
    /// Creates a debouncer. Durations are rounded up to at least one frame.
    #[must_use]
    pub fn new(start: Duration, stop: Duration) -> Self {
        let frames =
            |time: Duration| (time.as_millis().div_ceil(FRAME_TIME.as_millis()) as u64).max(1);
        Self {
            start: frames(start),
            stop: frames(stop),
            frame: 0,
            speaking: false,
            balance: 0,
            since: 0,
            until: 0,
        }
    }

    /// Adds the next frame. Before a start, a frame of silence cancels one of speech, so that clicks cause no start.
    pub fn step(&mut self, speech: bool) -> Option<Change> {
        let frame = self.frame;
        self.frame += 1;
        if speech {
            self.until = self.frame;
        }
        if self.speaking {
            if self.frame - self.until < self.stop {
                return None;
            }
            self.speaking = false;
            self.balance = 0;
            return Some(Change::Stopped { frame: self.until });
        }
        if !speech {
            self.balance = self.balance.saturating_sub(1);
            return None;
        }
        if self.balance == 0 {
            self.since = frame;
        }
        self.balance += 1;
        if self.balance < self.start {
            return None;
        }
        self.speaking = true;
        Some(Change::Started { frame: self.since })
    }

    /// Adds a frame that cannot be judged, such as a tone; it cancels a possible start.
    pub fn mask(&mut self) -> Option<Change> {
        self.balance = 0;
        self.step(false)
    }

    /// Returns whether speech is in progress.
    #[must_use]
    pub const fn is_speaking(&self) -> bool {
        self.speaking
    }
}

/// The neural network and the debouncer together.
#[derive(Debug)]
pub struct Vad {
    likelihood: Likelihood,
    threshold: f32,
    debouncer: Debouncer,
}

impl Vad {
    /// Creates a detector.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            likelihood: Likelihood::default(),
            threshold: settings.threshold,
            debouncer: Debouncer::new(settings.start, settings.stop),
        }
    }

    /// Adds the next frame; `masked` while a key is pressed.
    pub fn step(&mut self, frame: &Frame, masked: bool) -> Option<Change> {
        let likelihood = self.likelihood.of(frame);
        if masked {
            return self.debouncer.mask();
        }
        self.debouncer.step(likelihood >= self.threshold)
    }

    /// Returns whether the caller is speaking.
    #[must_use]
    pub const fn is_speaking(&self) -> bool {
        self.debouncer.is_speaking()
    }
}
