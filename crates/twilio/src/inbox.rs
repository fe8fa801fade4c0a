//! The customer's audio until the engine takes it.

use offhook_media::codec::Codec;
use offhook_media::{Frame, inbox};

/// The longest audio of a message: half a second.
const MOST_CODES: usize = 4_000;

/// The incoming audio of one call.
#[derive(Debug, Default)]
pub(crate) struct Inbox(inbox::Inbox);

impl Inbox {
    /// Adds µ-law audio; `false` if it is empty or too long.
    pub(crate) fn put(&mut self, codes: &[u8]) -> bool {
        let fits = !codes.is_empty() && codes.len() <= MOST_CODES;
        if fits {
            self.0.put(|rest| Codec::Pcmu.decode_into(codes, rest));
        }
        fits
    }

    /// The next 20 ms, or `None` if nothing came in time.
    pub(crate) fn pull(&mut self) -> Option<Frame> {
        self.0.pull()
    }
}

#[cfg(test)]
mod tests {
    use offhook_media::SILENCE;

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
        assert!(hear(160).iter().flatten().any(|frame| *frame != SILENCE));
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
        let waiting = (0..500).filter(|_| inbox.pull().is_some()).count();
        assert!(waiting <= 15, "{waiting}");
    }
}
