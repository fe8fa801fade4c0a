//! Audio legs: one side of a call as sound. A carrier's adapter moves signalling and packets; the engine hears frames,
//! fills a playout queue and is told what of it was played.
//!
//! All sound at these ports is mono, linear, 16 bit, 8 kHz. G.711 loses nothing on the way: each of its values has one
//! linear value, which encodes to the same one again. Who speaks another rate resamples on its own side.

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

/// Frames that may wait between the carrier and the engine: 5 s. The carrier's side never waits; what finds no room is
/// dropped, and [`Tick::number`] shows the gap.
pub const TICKS_AHEAD: usize = 250;

/// A phone network whose calls are heard.
#[async_trait]
pub trait AudioCarrier: Send + Sync {
    /// Calls a number, once. `Ok` means that the carrier took the call over; what becomes of it comes as events.
    ///
    /// # Errors
    /// [`DialError`] says whether the request can have had an effect.
    async fn dial(&self, request: DialRequest) -> Result<AudioLeg, DialError>;

    /// Ends a call whose owner died, if it still goes on. A handle that the carrier does not know is no error.
    ///
    /// # Errors
    /// [`DialError`] if the carrier did not confirm; it may be asked again.
    async fn hang_up_orphan(&self, handle: CallHandle) -> Result<(), DialError>;

    /// What another process needs, beside the handle, to end an answered call of this one, in the network's own words;
    /// `None` where the handle is enough, and of a call that is not known here.
    fn dialog(&self, handle: CallHandle) -> Option<String> {
        let _ = handle;
        None
    }

    /// The same of a call that nobody has answered yet, where that can be ended from elsewhere.
    fn early_dialog(&self, handle: CallHandle) -> Option<String> {
        let _ = handle;
        None
    }

    /// Ends a call of a process that died, by what [`dialog`](Self::dialog) said there. One that is over is no error.
    ///
    /// # Errors
    /// [`DialError`] if the carrier did not confirm; it may be asked again.
    async fn hang_up_dialog(&self, handle: CallHandle, dialog: &str) -> Result<(), DialError> {
        let _ = dialog;
        self.hang_up_orphan(handle).await
    }

    /// Whether the carrier is known to be out of reach now (`upstream_unreachable`).
    fn is_down(&self) -> bool {
        false
    }

    /// A number that every account may call from.
    fn ours(&self) -> Option<E164> {
        None
    }

    /// Whose numbers calls go out from.
    fn number_provider(&self) -> NumberProvider {
        NumberProvider::Sip
    }

    /// Whether it can say which numbers an account's own credential opens.
    fn lists_numbers(&self) -> bool {
        false
    }

    /// The numbers that an account's own credential opens at this carrier.
    ///
    /// # Errors
    /// [`DialError::Refused`] for a credential that it does not take, another one if it did not answer.
    async fn numbers(&self, credential: &str) -> Result<Vec<E164>, DialError> {
        let _ = credential;
        Err(DialError::Refused(FailureReason::CarrierError))
    }

    /// Has calls to these numbers, which an account's own credential opens, come in here from now on.
    ///
    /// # Errors
    /// As [`numbers`](Self::numbers); it may be asked again.
    async fn receive(&self, credential: &str, numbers: &[E164]) -> Result<(), DialError> {
        let _ = (credential, numbers);
        Ok(())
    }

    /// The same network for calls from numbers that an account's own credential opens; `None` if it is no such credential.
    fn of_account(&self, credential: &str) -> Option<Arc<dyn AudioCarrier>> {
        let _ = credential;
        None
    }
}

/// One side of a call, from the dialing (or, of a call that came in, from its answer) to its end. Dropping it hangs up.
pub struct AudioLeg {
    /// What the signalling tells, in order. The end of the channel means that the line is gone.
    pub events: mpsc::Receiver<AudioEvent>,
    /// What is heard and said, one tick each 20 ms for as long as the line carries sound, whether a packet came or not.
    /// The channel holds [`TICKS_AHEAD`].
    pub ticks: mpsc::Receiver<Tick>,
    /// What becomes of the segments in the playout queue. It holds two events per segment at most, so it needs no bound.
    pub played: mpsc::UnboundedReceiver<Played>,
    /// The queue of what is to be said.
    pub playout: Arc<dyn Playout>,
    /// The way to do something to the call itself.
    pub signalling: Arc<dyn Signalling>,
}

/// What happens to a call. Nothing comes after [`Hangup`](Self::Hangup) and [`Failed`](Self::Failed).
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AudioEvent {
    /// The carrier has the call, and will make it when its turn comes: a sign of life, and nothing else.
    Accepted,
    /// The other side's phone rings.
    Ringing,
    /// The network sends sound before the answer: ringback, or an announcement. Nobody listens to it.
    EarlyMedia,
    /// Somebody, or something, answered.
    Answered,
    /// The carrier has found out who answered: `true` for a machine. It comes after the answer, or never.
    Screened(bool),
    /// A key was pressed, reported once, at its end: `0`–`9`, `*`, `#` or `A`–`D`.
    Dtmf(char),
    /// The other side put the call on hold, or took it off again.
    Hold(bool),
    /// The other side hung up.
    Hangup,
    /// The call failed; before the answer, it was never answered.
    Failed(FailureReason),
}

/// Without the key: what a customer types may be a secret.
impl fmt::Debug for AudioEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted => f.write_str("Accepted"),
            Self::Ringing => f.write_str("Ringing"),
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

/// The queue of what is to be said on a leg. While it is empty or paused, silence is sent. No call blocks or waits.
pub trait Playout: Send + Sync {
    /// Adds sound to a segment. The queue plays segments in the order in which they were first named here.
    fn enqueue(&self, segment: SegmentId, samples: &[i16]);

    /// Nothing more comes for this segment: once all of it was sent, [`Played::Ended`] is told, at once if it is empty.
    /// A queue whose first segment is unfinished and has nothing to play sends silence, and does not go on to the next.
    fn finish(&self, segment: SegmentId);

    /// Falls silent with the next frame, and keeps the queue.
    fn pause(&self);

    /// Goes on with the first sample that was not sent.
    fn resume(&self);

    /// What sounds from now on beneath all that is said and while nothing is: a loop, which is no segment, so that neither
    /// a pause nor a clear touches it. [`Tick::said`] has it in it.
    fn set_background(&self, samples: Arc<[i16]>);

    /// Empties the queue; a pause stays. What it returns tells of every segment that had not ended, in their order.
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

/// The way to do something to a call.
#[async_trait]
pub trait Signalling: Send + Sync {
    /// Hands the customer over to another number, blindly. Once it has succeeded the line is the agent's no more.
    ///
    /// # Errors
    /// [`LineError`] if the customer is still on this line.
    async fn transfer(&self, to: &E164) -> Result<(), LineError>;

    /// Sends tones: digits, `*`, `#` and `A`–`D`, with `w` for half a second's pause. It resolves when they are sent.
    ///
    /// # Errors
    /// [`LineError`] if they were not sent.
    async fn send_digits(&self, digits: &str) -> Result<(), LineError>;

    /// Ends the call in whatever state it is. Ending it twice is the same as once.
    async fn hang_up(&self);
}

/// Tells speech from other sound, frame by frame.
pub trait SpeechDetector: Send {
    /// How likely the caller speaks in this frame, from 0 to 1. Frames come in order; what was lost comes as it is.
    fn likelihood(&mut self, frame: &Frame) -> f32;
}

/// Keeps what is heard and said.
pub trait Recorder: Send {
    /// Takes one tick of an answered call. It neither blocks nor waits.
    fn record(&mut self, tick: &Tick);
}

impl Recorder for recorder::Recorder {
    fn record(&mut self, tick: &Tick) {
        self.record(tick);
    }
}
