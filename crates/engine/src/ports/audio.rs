//! Audio legs: one side of a call as sound. A carrier adapter handles signaling and packets. The engine receives
//! frames, fills a playout queue and gets reports of what was played.
//!
//! All sound at these ports is mono 16-bit linear PCM at 8 kHz. G.711 loses nothing here: each of its values has one
//! linear value, which encodes to the same value again. An adapter with another rate resamples on its side.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use offhook_domain::{CallHandle, E164, FailureReason, NumberProvider};
use offhook_media::playout::Speaker;
pub use offhook_media::playout::{Cleared, Played, Segment as SegmentId};
pub use offhook_media::pump::Tick;
use offhook_media::recorder;
pub use offhook_media::{FRAME_SAMPLES, FRAME_TIME, Frame, SAMPLE_RATE, SILENCE};
use tokio::sync::mpsc;

use super::{DialError, DialRequest, LineError};

/// Frames that may wait between the carrier and the engine: 5 s. The carrier never waits; frames that do not fit are
/// dropped, and [`Tick::number`] shows the gap.
pub const TICKS_AHEAD: usize = 250;

/// A phone network whose calls carry audio.
#[async_trait]
pub trait AudioCarrier: Send + Sync {
    /// Calls a number once. `Ok` means that the carrier accepted the call; events report its progress. [`DialError`]
    /// says whether the request can have had an effect.
    async fn dial(&self, request: DialRequest) -> Result<AudioLeg, DialError>;

    /// Ends a call whose owner died, if it still goes on. Succeeds for a handle that the carrier does not know. A
    /// failed request may be retried.
    async fn hang_up_orphan(&self, handle: CallHandle) -> Result<(), DialError>;

    /// What another process needs, besides the handle, to end an answered call of this process, in the network's own
    /// format. `None` if the handle suffices, or if the call is unknown.
    fn dialog(&self, handle: CallHandle) -> Option<String> {
        let _ = handle;
        None
    }

    /// The same for an unanswered call, if the network lets another process end it.
    fn early_dialog(&self, handle: CallHandle) -> Option<String> {
        let _ = handle;
        None
    }

    /// Ends a call of a process that died, by that process's [`dialog`](Self::dialog). Succeeds for a call that is
    /// over. A failed request may be retried.
    async fn hang_up_dialog(&self, handle: CallHandle, dialog: &str) -> Result<(), DialError> {
        let _ = dialog;
        self.hang_up_orphan(handle).await
    }

    /// Whether the carrier is known to be unreachable now (`upstream_unreachable`).
    fn is_down(&self) -> bool {
        false
    }

    /// A number from which every account may call.
    fn shared_number(&self) -> Option<E164> {
        None
    }

    /// The provider of the numbers that calls go out from.
    fn number_provider(&self) -> NumberProvider {
        NumberProvider::Sip
    }

    /// Whether it can list the numbers of an account's own credential.
    fn lists_numbers(&self) -> bool {
        false
    }

    /// Lists the numbers that an account's own credential opens at this carrier. Returns [`DialError::Refused`] if the
    /// carrier rejects the credential, another error if it did not answer.
    async fn numbers(&self, credential: &str) -> Result<Vec<E164>, DialError> {
        let _ = credential;
        Err(DialError::Refused(FailureReason::CarrierError))
    }

    /// Routes incoming calls to these numbers, which an account's own credential opens, to this deployment. Fails like
    /// [`numbers`](Self::numbers); a retry is safe.
    async fn receive(&self, credential: &str, numbers: &[E164]) -> Result<(), DialError> {
        let _ = (credential, numbers);
        Ok(())
    }

    /// The same network for calls from the numbers of an account's own credential; `None` if the credential is of
    /// another kind.
    fn of_account(&self, credential: &str) -> Option<Arc<dyn AudioCarrier>> {
        let _ = credential;
        None
    }
}

/// One side of a call, from dialing (or the answer of an incoming call) to its end. Dropping it hangs up.
pub struct AudioLeg {
    /// Signaling events, in order. The channel closes when the line is gone.
    pub events: mpsc::Receiver<AudioEvent>,
    /// What is heard and said: one tick each 20 ms while the line carries sound, even if no packet came. The channel
    /// holds [`TICKS_AHEAD`].
    pub ticks: mpsc::Receiver<Tick>,
    /// Reports of the segments in the playout queue. Each segment has two events at most, so the channel needs no
    /// bound.
    pub played: mpsc::UnboundedReceiver<Played>,
    /// The queue of audio to play.
    pub playout: Arc<dyn Playout>,
    /// Actions on the call itself.
    pub signalling: Arc<dyn Signalling>,
}

/// An event of a call. [`Hangup`](Self::Hangup) and [`Failed`](Self::Failed) are always the last.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AudioEvent {
    /// The carrier has queued the call. It only shows that the carrier is alive.
    Accepted,
    Ringing,
    /// The carrier's SIP status for the failure that follows.
    Status(u16),
    /// The network sends audio before the answer: ringback or an announcement. It is ignored.
    EarlyMedia,
    /// A human or a machine answered.
    Answered,
    /// The carrier's answering machine detection is done: `true` for a machine. It comes after the answer, or never.
    Screened(bool),
    /// A key press, reported once at its end: `0`–`9`, `*`, `#` or `A`–`D`.
    Dtmf(char),
    /// The other side put the call on hold (`true`) or resumed it.
    Hold(bool),
    Hangup,
    /// The call failed. A call that fails before the answer was never answered.
    Failed(FailureReason),
}

/// Hides the key: a customer may type a secret.
impl fmt::Debug for AudioEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted => f.write_str("Accepted"),
            Self::Ringing => f.write_str("Ringing"),
            Self::Status(code) => write!(f, "Status({code})"),
            Self::EarlyMedia => f.write_str("EarlyMedia"),
            Self::Answered => f.write_str("Answered"),
            Self::Screened(machine) => write!(f, "Screened({machine})"),
            Self::Dtmf(_) => f.write_str("Dtmf"),
            Self::Hold(on) => write!(f, "Hold({on})"),
            Self::Hangup => f.write_str("Hangup"),
            Self::Failed(reason) => write!(f, "Failed({reason})"),
        }
    }
}

/// The playout queue of a leg. Silence is sent while it is empty or paused. No method blocks or waits.
pub trait Playout: Send + Sync {
    /// Adds audio to a segment. Segments play in the order in which they were first enqueued.
    fn enqueue(&self, segment: SegmentId, samples: &[i16]);

    /// Marks a segment as complete. [`Played::Ended`] follows once all of it was sent, at once if it is empty. While
    /// its first segment is incomplete and has no audio, the queue sends silence and does not go on to the next.
    fn finish(&self, segment: SegmentId);

    /// Goes silent with the next frame, and keeps the queue.
    fn pause(&self);

    /// Continues with the first sample that was not sent.
    fn resume(&self);

    /// Loops background sound beneath all speech and silence. It is no segment: neither a pause nor a clear affects it.
    /// [`Tick::said`] includes it.
    fn set_background(&self, samples: Arc<[i16]>);

    /// Empties the queue; a pause stays in effect. Returns every segment that had not ended, in order.
    fn clear(&self) -> Vec<Cleared>;
}

impl Playout for Speaker {
    fn enqueue(&self, segment: SegmentId, samples: &[i16]) {
        self.enqueue(segment, samples);
    }

    fn finish(&self, segment: SegmentId) {
        self.finish(segment);
    }

    fn pause(&self) {
        self.pause();
    }

    fn resume(&self) {
        self.resume();
    }

    fn set_background(&self, samples: Arc<[i16]>) {
        self.set_background(samples);
    }

    fn clear(&self) -> Vec<Cleared> {
        self.clear()
    }
}

#[async_trait]
pub trait Signalling: Send + Sync {
    /// Transfers the customer to another number without announcement (blind transfer). After success the agent no
    /// longer has the line; after an error the customer is still on it.
    async fn transfer(&self, to: &E164) -> Result<(), LineError>;

    /// Sends tones: digits, `*`, `#` and `A`–`D`, with `w` for a pause of half a second. Resolves when they are sent.
    async fn send_digits(&self, digits: &str) -> Result<(), LineError>;

    /// Ends the call in whatever state it is. A second call has no effect.
    async fn hang_up(&self);
}

/// Voice activity detection, frame by frame.
pub trait SpeechDetector: Send {
    /// The probability that the caller speaks in this frame, from 0 to 1. Frames come in order; lost ones are passed
    /// too.
    fn likelihood(&mut self, frame: &Frame) -> f32;
}

/// Records both sides of a call.
pub trait Recorder: Send {
    /// Adds one tick of an answered call. Never blocks.
    fn record(&mut self, tick: &Tick);
}

impl Recorder for recorder::Recorder {
    fn record(&mut self, tick: &Tick) {
        self.record(tick);
    }
}
