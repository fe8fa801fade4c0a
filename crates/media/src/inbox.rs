//! The incoming audio of a connection that keeps its order and loses nothing, until the call pulls it.

use crate::jitter::{JitterBuffer, Pulled, Sound};
use crate::rtp::{Sequence, Timestamp};
use crate::{FRAME_SAMPLES, Frame};

/// Samples in any amount in, a frame each 20 ms out. It never holds more than a quarter of a second.
#[derive(Debug, Default)]
pub struct Inbox {
    jitter: JitterBuffer,
    /// Samples of an incomplete frame.
    rest: Vec<i16>,
    sequence: u16,
    timestamp: u32,
}

impl Inbox {
    /// Adds the samples that `decode` appends.
    pub fn put(&mut self, decode: impl FnOnce(&mut Vec<i16>)) {
        decode(&mut self.rest);
        while self.rest.len() >= FRAME_SAMPLES {
            let samples = self.rest.drain(..FRAME_SAMPLES).collect();
            self.jitter.put(Sound {
                ssrc: 0,
                sequence: Sequence(self.sequence),
                timestamp: Timestamp(self.timestamp),
                samples,
            });
            self.sequence = self.sequence.wrapping_add(1);
            self.timestamp = self.timestamp.wrapping_add(FRAME_SAMPLES as u32);
        }
    }

    /// Returns the next 20 ms, or `None` if nothing came in time.
    pub fn pull(&mut self) -> Option<Frame> {
        match self.jitter.pull() {
            Pulled::Sound(frame) => Some(frame),
            Pulled::Lost | Pulled::Empty => None,
        }
    }
}
