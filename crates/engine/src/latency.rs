//! How long one reply took, step by step.

use tokio::time::Instant;

use crate::ports::SoundTimes;

/// The way of one reply: each step in milliseconds from the end of the customer's speech, so that what a step took is
/// its value less that of the one before. A sentence may be made into sound before the last one has been said, so the
/// steps of the first sentence alone are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnLatency {
    /// The customer's turn was taken to be over.
    pub end_of_turn_ms: u32,
    /// The model gave its first sign of life.
    pub first_token_ms: u32,
    /// The first sentence was written, and given to the voice.
    pub first_sentence_ms: u32,
    /// The voice's first sound came.
    pub first_byte_ms: u32,
    /// The first sound was sent to the customer: what they waited.
    pub first_frame_ms: u32,
}

impl TurnLatency {
    /// What each step took, in milliseconds, with its name.
    pub const fn steps(&self) -> [(&'static str, u32); 5] {
        let (token, sentence) = (self.first_token_ms, self.first_sentence_ms);
        let (byte, frame) = (self.first_byte_ms, self.first_frame_ms);
        [
            ("end_of_turn", self.end_of_turn_ms),
            ("model", token.saturating_sub(self.end_of_turn_ms)),
            ("sentence", sentence.saturating_sub(token)),
            ("voice", byte.saturating_sub(sentence)),
            ("playout", frame.saturating_sub(byte)),
        ]
    }
}

/// A reply on its way to the voice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way {
    /// The customer's last sound.
    pub(crate) spoke_until: Instant,
    pub(crate) turn_over_at: Instant,
    pub(crate) first_token_at: Instant,
    pub(crate) first_sentence_at: Instant,
}

impl Way {
    /// The whole way, if the customer heard anything.
    pub(crate) fn measured(&self, sound: Option<SoundTimes>) -> Option<TurnLatency> {
        let first_frame_at = sound?.first_frame_at?;
        let first_byte_at = sound?.first_byte_at.unwrap_or(first_frame_at);
        let since = |at: Instant| {
            let waited = at.saturating_duration_since(self.spoke_until);
            u32::try_from(waited.as_millis()).unwrap_or(u32::MAX)
        };
        Some(TurnLatency {
            end_of_turn_ms: since(self.turn_over_at),
            first_token_ms: since(self.first_token_at),
            first_sentence_ms: since(self.first_sentence_at),
            first_byte_ms: since(first_byte_at),
            first_frame_ms: since(first_frame_at),
        })
    }
}
