//! What is heard in place of a frame that did not come: the last one again, fading away within 80 ms.

use crate::{FRAME_SAMPLES, Frame, SILENCE};

/// How loud the repetitions are, in sixteenths.
const LEVELS: [i32; 3] = [11, 6, 2];

/// Fills gaps.
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
    /// Takes a frame that came.
    pub(crate) fn heard(&mut self, frame: &Frame) {
        self.last = *frame;
        self.missing = 0;
        self.level = 16;
    }

    /// The frame for one that did not come: no louder at its beginning than the one before at its end.
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
            // From -32,768 to 32,767 times sixteenths: it fits.
            *sample = (i32::from(*sample) * (from + slope) / 16) as i16;
        }
        frame
    }
}
