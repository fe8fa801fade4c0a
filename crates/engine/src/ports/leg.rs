//! One side of a call as the session knows it: texts in, texts out.

use std::fmt;

use async_trait::async_trait;
use offhook_domain::{E164, FailureReason};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// One side of a call, from the dialing to its end. Dropping it hangs up.
pub struct Leg {
    /// What happens on it, in order. The end of the channel means that the line is gone.
    pub events: mpsc::Receiver<LegEvent>,
    /// The way to speak on it.
    pub line: Box<dyn Line>,
    /// How many times faster than real life its people are: 1 on a real network.
    pub speed: f64,
}

/// What happens on a leg.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LegEvent {
    /// The carrier has the call, and will make it when its turn comes: a sign of life, and nothing else.
    Accepted,
    /// The other side's phone rings.
    Ringing,
    /// Somebody, or something, answered.
    Answered { machine: bool },
    /// The customer began to speak.
    CustomerStarted,
    /// The customer finished an utterance.
    Heard {
        /// What was said.
        text: String,
        /// How long it took.
        duration_ms: u32,
    },
    /// It was found out who answered, on a line that [screens](Line::screens). What they said first is no question to
    /// be answered, but what the agent's first message answers.
    Screened {
        /// It is a machine; what it says is still going on.
        machine: bool,
        /// What a person said, perhaps nothing.
        text: String,
        /// How long it took.
        duration_ms: u32,
    },
    /// The customer's turn is over, as the line itself judges: it is answered at once. Each
    /// [`CustomerStarted`](Self::CustomerStarted) of such a line is followed by one, perhaps without words.
    TurnOver {
        /// What was said.
        text: String,
        /// How long it took.
        duration_ms: u32,
        /// When the last of it was spoken.
        spoke_until: Instant,
        /// Whether the agent falls silent for it: it does not for a word that is said beside its own.
        interrupts: bool,
    },
    /// The other side put the call on hold, or took it off again.
    Held(bool),
    /// The other side hung up.
    Hangup,
    /// The call failed.
    Failed(FailureReason),
}

/// Without the words: a transcript has no place in a log.
impl fmt::Debug for LegEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted => f.write_str("Accepted"),
            Self::Ringing => f.write_str("Ringing"),
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

/// The way to speak on a leg.
#[async_trait]
pub trait Line: Send + Sync {
    /// Says a text. It resolves when the text is spoken, when [`stop_speaking`](Self::stop_speaking) cut it short, or
    /// when the line is gone. One text at a time.
    async fn say(&self, text: &str) -> Spoken;

    /// What will be said next, so that it can be made ready meanwhile. It is a hint, and may come to nothing.
    fn prepare(&self, text: &str) {
        let _ = text;
    }

    /// Falls silent at once; the `say` under way resolves with what was heard.
    fn stop_speaking(&self);

    /// Whether the customer may interrupt what is said from now on. It concerns lines that judge themselves who has
    /// the floor; they let the customer interrupt until they are told otherwise.
    fn set_interruptible(&self, may: bool) {
        let _ = may;
    }

    /// Whether the line finds out who answered: [`LegEvent::Screened`] comes then, and the agent waits for it.
    fn screens(&self) -> bool {
        false
    }

    /// Whether what is said becomes sound: [`Spoken::sound`] tells then when the customer heard it.
    fn is_spoken(&self) -> bool {
        false
    }

    /// Hands the customer over to another number. Once it has succeeded the line is the agent's no more.
    ///
    /// # Errors
    /// [`LineError`] if the customer is still on this line.
    async fn transfer(&self, to: &E164) -> Result<(), LineError>;

    /// Sends tones: digits, `*`, `#` and `A`–`D`, with `w` for half a second's pause.
    ///
    /// # Errors
    /// [`LineError`] if they were not sent.
    async fn send_digits(&self, digits: &str) -> Result<(), LineError>;

    /// Ends the call. Ending it twice is the same as once.
    async fn hang_up(&self);
}

/// Why a line did not do what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// The call is over.
    #[error("the call is over")]
    Gone,
    /// The carrier would not, or could not be reached.
    #[error("the carrier refused")]
    Refused,
}

/// What became of a text that was to be said.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Spoken {
    /// The part that the other side heard.
    pub heard_text: String,
    /// Whether that is all of it.
    pub complete: bool,
    /// How long it took.
    pub duration_ms: u32,
    /// When it became sound, on a line that [speaks](Line::is_spoken).
    pub sound: Option<SoundTimes>,
}

/// When a text became sound; what never happened has no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SoundTimes {
    /// The voice's first sound came.
    pub first_byte_at: Option<Instant>,
    /// The first sound was sent to the customer.
    pub first_frame_at: Option<Instant>,
}

/// Without the words: a transcript has no place in a log.
impl fmt::Debug for Spoken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Spoken {{ complete: {}, {} ms }}",
            self.complete, self.duration_ms
        )
    }
}
