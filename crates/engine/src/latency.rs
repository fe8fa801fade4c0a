//! The latency of one reply, step by step.

use tokio::time::Instant;

use crate::ports::SoundTimes;

/// The latency of one reply. Each step is in milliseconds from the end of the customer's speech, so a step's own time
/// is its value minus the previous one. Only the first sentence is measured, because later ones may be synthesized
/// while earlier ones still play.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnLatency {
    /// End of turn: the customer's turn was judged to be over.
    pub end_of_turn_ms: u32,
    /// The model sent its first output.
    pub first_token_ms: u32,
    /// The first sentence was complete and went to the synthesizer.
    pub first_sentence_ms: u32,
    /// The synthesizer sent its first audio.
    pub first_byte_ms: u32,
    /// The first audio went to the customer: the time the customer waited.
    pub first_frame_ms: u32,
}

impl TurnLatency {
    /// Each step's name and own duration in milliseconds.
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

/// The times of a reply on its way to the synthesizer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplyTimes {
    /// The end of the customer's speech.
    pub(crate) spoke_until: Instant,
    pub(crate) turn_over_at: Instant,
    pub(crate) first_token_at: Instant,
    pub(crate) first_sentence_at: Instant,
}

impl ReplyTimes {
    /// The complete latency, if the customer heard anything.
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
