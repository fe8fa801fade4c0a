//! The customer's audio until the engine takes it.

use offhook_media::codec::Codec;
use offhook_media::jitter::{JitterBuffer, Pulled, Sound};
use offhook_media::rtp::{Sequence, Timestamp};
use offhook_media::{FRAME_SAMPLES, Frame, SILENCE};

/// The longest audio of a message: half a second.
const MOST_CODES: usize = 4_000;

/// The incoming audio of one call. It never holds more than a quarter of a second.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    jitter: JitterBuffer,
    rest: Vec<i16>,
    sequence: u16,
    timestamp: u32,
}

impl Inbox {
    /// Adds µ-law audio; `false` if it is empty or too long.
    pub(crate) fn put(&mut self, codes: &[u8]) -> bool {
        if codes.is_empty() || codes.len() > MOST_CODES {
            return false;
        }
        Codec::Pcmu.decode_into(codes, &mut self.rest);
        while self.rest.len() >= FRAME_SAMPLES {
            let samples = self.rest.drain(..FRAME_SAMPLES).collect();
            // The connection keeps the order, and loses nothing.
            self.jitter.put(Sound {
                ssrc: 0,
                sequence: Sequence(self.sequence),
                timestamp: Timestamp(self.timestamp),
                samples,
            });
            self.sequence = self.sequence.wrapping_add(1);
            self.timestamp = self.timestamp.wrapping_add(FRAME_SAMPLES as u32);
        }
        true
    }

    /// The next 20 ms, and whether nothing came in time.
    pub(crate) fn pull(&mut self) -> (Frame, bool) {
        match self.jitter.pull() {
            Pulled::Sound(frame) => (frame, false),
            Pulled::Lost | Pulled::Empty => (SILENCE, true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_heard_whatever_the_length_of_its_messages() {
        let codes: Vec<u8> = (0..1_600)
            .map(|at| Codec::Pcmu.encode((at % 80) * 100))
            .collect();
        let hear = |size: usize| {
            let mut inbox = Inbox::default();
            for part in codes.chunks(size) {
                assert!(inbox.put(part));
            }
            (0..10).map(|_| inbox.pull()).collect::<Vec<_>>()
        };
        assert!(
            hear(160)
                .iter()
                .any(|(frame, lost)| !lost && *frame != SILENCE)
        );
        assert_eq!(hear(160), hear(100));
        assert_eq!(hear(160), hear(800));
    }

    #[test]
    fn nothing_and_too_much_are_no_sound_and_a_flood_keeps_little_waiting() {
        let mut inbox = Inbox::default();
        assert!(!inbox.put(&[]));
        assert!(!inbox.put(&[0; MOST_CODES + 1]));
        for _ in 0..500 {
            assert!(inbox.put(&[0x55; MOST_CODES]));
        }
        let waiting = (0..500).filter(|_| !inbox.pull().1).count();
        assert!(waiting <= 15, "{waiting}");
    }
}
