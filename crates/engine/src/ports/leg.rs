//! One side of a call as the session uses it: texts in, texts out.

use std::fmt;

use async_trait::async_trait;
use offhook_domain::{E164, FailureReason};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// One side of a call, from dialing to its end. Dropping it hangs up.
pub struct Leg {
    /// Events, in order. The channel closes when the line is gone.
    pub events: mpsc::Receiver<LegEvent>,
    /// Speaks to the other side.
    pub line: Box<dyn Line>,
    /// How many times faster than real time the line runs: 1 on a real network.
    pub speed: f64,
}

/// An event of a leg.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LegEvent {
    /// The carrier has queued the call. It only shows that the carrier is alive.
    Accepted,
    /// The other side's phone rings.
    Ringing,
    /// The carrier's SIP status for the failure that follows.
    Status(u16),
    /// A human or a machine answered.
    Answered { machine: bool },
    /// The customer began to speak.
    CustomerStarted,
    /// The customer finished an utterance.
    Heard {
        /// What the customer said.
        text: String,
        duration_ms: u32,
    },
    /// Screening is done, on a line that [screens](Line::screens). The callee's first words are no question: the
    /// agent's first message answers them.
    Screened {
        /// A machine answered, and is still talking.
        machine: bool,
        /// What a person said; may be empty.
        text: String,
        duration_ms: u32,
    },
    /// The line judged that the customer's turn is over, so the agent answers at once. On such a line one follows each
    /// [`CustomerStarted`](Self::CustomerStarted), perhaps with an empty text.
    TurnOver {
        text: String,
        duration_ms: u32,
        /// When its last word was spoken.
        spoke_until: Instant,
        /// Whether it interrupts the agent. A murmur while the agent talks does not.
        interrupts: bool,
    },
    /// The other side put the call on hold (`true`) or resumed it.
    Held(bool),
    /// The other side hung up.
    Hangup,
    /// The call failed.
    Failed(FailureReason),
}

/// Hides the words: transcripts do not belong in logs.
impl fmt::Debug for LegEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted => f.write_str("Accepted"),
            Self::Ringing => f.write_str("Ringing"),
            Self::Status(code) => write!(f, "Status({code})"),
            Self::Answered { machine } => write!(f, "Answered {{ machine: {machine} }}"),
            Self::CustomerStarted => f.write_str("CustomerStarted"),
            Self::Heard { duration_ms, .. } => write!(f, "Heard {{ {duration_ms} ms }}"),
            Self::Screened { machine, .. } => write!(f, "Screened {{ machine: {machine} }}"),
            Self::TurnOver { duration_ms, .. } => write!(f, "TurnOver {{ {duration_ms} ms }}"),
            Self::Held(on) => write!(f, "Held({on})"),
            Self::Hangup => f.write_str("Hangup"),
            Self::Failed(reason) => write!(f, "Failed({reason})"),
        }
    }
}

/// Speaks on a leg.
#[async_trait]
pub trait Line: Send + Sync {
    /// Says a text. Resolves when it was spoken, when [`stop_speaking`](Self::stop_speaking) cut it, or when the line
    /// is gone. One text at a time.
    async fn say(&self, text: &str) -> Spoken;

    /// Announces the next text, so that it can be synthesized early. This is a hint without obligation.
    fn prepare(&self, text: &str) {
        let _ = text;
    }

    /// Goes silent at once; the pending `say` resolves with what was heard.
    fn stop_speaking(&self);

    /// Whether the customer may interrupt from now on. Only lines that decide themselves who has the floor use it; they
    /// allow interruption by default.
    fn set_interruptible(&self, may: bool) {
        let _ = may;
    }

    /// Whether the line detects who answered. If so, the agent waits for [`LegEvent::Screened`].
    fn screens(&self) -> bool {
        false
    }

    /// Whether texts become sound. If so, [`Spoken::sound`] says when the customer heard them.
    fn is_spoken(&self) -> bool {
        false
    }

    /// Transfers the customer to another number. After success the agent no longer has the line; after an error the
    /// customer is still on it.
    async fn transfer(&self, to: &E164) -> Result<(), LineError>;

    /// Sends tones: digits, `*`, `#` and `A`–`D`, with `w` for a pause of half a second.
    async fn send_digits(&self, digits: &str) -> Result<(), LineError>;

    /// Ends the call. A second call has no effect.
    async fn hang_up(&self);
}

/// Why a line action failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    #[error("the call is over")]
    Gone,
    /// The carrier refused, or was unreachable.
    #[error("the carrier refused")]
    Refused,
}

/// The result of saying a text.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Spoken {
    /// The part that the other side heard.
    pub heard_text: String,
    /// Whether that is the whole text.
    pub complete: bool,
    pub duration_ms: u32,
    /// When it became sound, if the line [speaks](Line::is_spoken).
    pub sound: Option<SoundTimes>,
}

/// When a text became sound; `None` for what did not happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SoundTimes {
    /// The synthesizer's first audio arrived.
    pub first_byte_at: Option<Instant>,
    /// The first audio went to the customer.
    pub first_frame_at: Option<Instant>,
}

/// Hides the words: transcripts do not belong in logs.
impl fmt::Debug for Spoken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Spoken {{ complete: {}, {} ms }}",
            self.complete, self.duration_ms
        )
    }
}
