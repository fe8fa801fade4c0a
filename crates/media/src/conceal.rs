//! Packet loss concealment: repeats the last frame, and fades it out within 80 ms.

use crate::{FRAME_SAMPLES, Frame, SILENCE};

/// The levels of the repetitions, in sixteenths.
const LEVELS: [i32; 3] = [11, 6, 2];

/// Fills gaps in the audio.
#[derive(Debug, Clone)]
pub(crate) struct Concealer {
    last: Frame,
    missing: usize,
    /// The level at the end of the last frame, in sixteenths.
    level: i32,
}

impl Default for Concealer {
    fn default() -> Self {
        Self {
            last: SILENCE,
            missing: 0,
            level: 16,
        }
    }
}

impl Concealer {
    /// Adds a received frame.
    pub(crate) fn received(&mut self, frame: &Frame) {
        self.last = *frame;
        self.missing = 0;
        self.level = 16;
    }

    /// Returns a replacement for a missing frame. It starts at the level at which the previous frame ended.
    pub(crate) fn missed(&mut self) -> Frame {
        let to = LEVELS.get(self.missing).copied().unwrap_or(0);
        let from = self.level;
        self.missing += 1;
        self.level = to;
        if from == 0 {
            return SILENCE;
        }
        let mut frame = self.last;
        for (place, sample) in frame.iter_mut().enumerate() {
            let slope = (to - from) * place as i32 / FRAME_SAMPLES as i32;
            // The factor is at most 16/16, so the result fits.
            *sample = (i32::from(*sample) * (from + slope) / 16) as i16;
        }
        frame
    }
}
