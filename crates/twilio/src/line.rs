//! One call's line: the state that its task, its connection and the engine share.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use offhook_domain::{CallHandle, E164};
use offhook_engine::ports::LineError;
use offhook_engine::ports::audio::{Cleared, Playout, SegmentId, Signalling};
use offhook_media::outbox::Outbox;
use offhook_media::tones::tones;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, timeout};

use crate::client::TwilioError;
use crate::echoes::Echoes;
use crate::inbox::Inbox;
use crate::party::Party;
use crate::queue::Queue;
use crate::status::CallStatus;
use crate::stream::{self, dial_twiml};

/// Signals that may wait for a call's task.
pub(crate) const SIGNALS_WAITING: usize = 256;

/// Messages that may wait for a slow connection: two seconds of audio. Further ones are dropped.
const MOST_WAITING: usize = 120;

/// A message to the stream.
pub(crate) enum Text {
    /// Audio, or a mark after it: obsolete once audio is cleared.
    Speech(String),
    /// Clears the audio.
    Clear(String),
}

/// How long the requester of a hangup waits for Twilio's confirmation.
const HANG_UP_WITHIN: Duration = Duration::from_secs(4);

/// How long Twilio's answer may come after the end of the audio that it caused.
const ANSWERS_WITHIN: Duration = Duration::from_millis(500);

/// How long the audio of a call may take to end after a possible transfer.
const LEAVES_WITHIN: Duration = Duration::from_secs(2);

/// An event of a call.
#[derive(Debug)]
pub(crate) enum Signal {
    /// Twilio reports the call's status.
    Status {
        sid: String,
        status: CallStatus,
        sip_code: Option<u16>,
        /// Numbers the statuses, which may overtake each other.
        sequence: Option<u64>,
    },
    /// Twilio does not know the call any more.
    Forgotten,
    /// Twilio's answering machine detection is done.
    Screened { sid: String, machine: bool },
    /// The audio started.
    Started { sid: String },
    /// A key was pressed.
    Key(char),
    /// The audio ended regularly: the call is over, or was transferred.
    Stopped,
    /// The connection broke.
    Gone,
    /// The audio has an unexpected format.
    Unusable { sid: String },
}

impl Signal {
    /// The call id in the signal; every signal that can come before the id is known has one.
    pub(crate) fn sid(&self) -> Option<&str> {
        match self {
            Self::Status { sid, .. }
            | Self::Screened { sid, .. }
            | Self::Started { sid }
            | Self::Unusable { sid } => Some(sid),
            Self::Forgotten | Self::Key(_) | Self::Stopped | Self::Gone => None,
        }
    }
}

/// The shared state of a call.
pub(crate) struct Line {
    pub(crate) handle: CallHandle,
    /// Our number of the call.
    our_number: E164,
    /// The call's Twilio account.
    pub(crate) party: Arc<Party>,
    signals: mpsc::Sender<Signal>,
    pub(crate) queue: Mutex<Queue>,
    pub(crate) echoes: Mutex<Echoes>,
    pub(crate) inbox: Mutex<Inbox>,
    pub(crate) outbox: Outbox<Text>,
    /// Twilio's id of the call, once it is known.
    sid: OnceLock<String>,
    /// The stream's id, once the audio has started.
    stream_sid: OnceLock<String>,
    /// Connections that have not proved that they carry its audio.
    pub(crate) unnamed: AtomicUsize,
    /// The customer was transferred.
    is_handed_over: AtomicBool,
    /// The audio ended during the transfer.
    has_left: watch::Sender<bool>,
    /// A hangup was requested.
    hang_up: watch::Sender<bool>,
    /// The call is over.
    done: watch::Sender<bool>,
}

impl Line {
    pub(crate) fn new(
        handle: CallHandle,
        our_number: E164,
        party: Arc<Party>,
        signals: mpsc::Sender<Signal>,
    ) -> Self {
        Self {
            handle,
            our_number,
            party,
            signals,
            queue: Mutex::default(),
            echoes: Mutex::default(),
            inbox: Mutex::default(),
            outbox: Outbox::new(MOST_WAITING),
            sid: OnceLock::new(),
            stream_sid: OnceLock::new(),
            unnamed: AtomicUsize::new(0),
            is_handed_over: AtomicBool::new(false),
            has_left: watch::Sender::new(false),
            hang_up: watch::Sender::new(false),
            done: watch::Sender::new(false),
        }
    }

    /// Sends a signal to the call's task. If the task does not keep up, the call is ended.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Err(mpsc::error::TrySendError::Full(_)) = self.signals.try_send(signal) {
            tracing::warn!(call = %self.handle, "more happens to a call than can be taken in: it is ended");
            self.hang_up.send_replace(true);
        }
    }

    /// Twilio's id of the call, if known.
    pub(crate) fn sid(&self) -> Option<&str> {
        self.sid.get().map(String::as_str)
    }

    /// Whether this call has the id. An unknown id is set by the first call of this method.
    pub(crate) fn is_of(&self, sid: &str) -> bool {
        self.sid.get_or_init(|| sid.to_owned()) == sid
    }

    /// Sets the id of the audio stream.
    pub(crate) fn connected(&self, stream_sid: String) {
        let _ = self.stream_sid.set(stream_sid);
    }

    pub(crate) fn stream_sid(&self) -> &str {
        self.stream_sid.get().map_or("", String::as_str)
    }

    pub(crate) fn is_handed_over(&self) -> bool {
        self.is_handed_over.load(Ordering::Relaxed)
    }

    /// The audio of a call ended during its transfer.
    pub(crate) fn has_left(&self) {
        self.has_left.send_replace(true);
    }

    pub(crate) fn hang_ups(&self) -> watch::Receiver<bool> {
        self.hang_up.subscribe()
    }

    /// The call is over.
    pub(crate) fn end(&self) {
        self.outbox.close();
        self.done.send_replace(true);
    }

    /// Requests a hangup; `false` if it was not confirmed in time.
    pub(crate) async fn hang_up_and_wait(&self) -> bool {
        self.hang_up.send_replace(true);
        let mut done = self.done.subscribe();
        let ended = timeout(HANG_UP_WITHIN, done.wait_for(|done| *done));
        matches!(ended.await, Ok(Ok(_)))
    }

    /// Clears the audio that Twilio has not played.
    fn clear_unplayed(&self) {
        self.echoes.lock().clear();
        let clear = Text::Clear(stream::clear(self.stream_sid()));
        self.outbox
            .replace(|text| matches!(text, Text::Clear(_)), clear);
    }
}

/// Waits for a flag, without a borrow of its value.
pub(crate) async fn is_set(flag: &mut watch::Receiver<bool>) {
    let _ = flag.wait_for(|set| *set).await;
}

/// The engine's playout queue.
pub(crate) struct SpeechOutput(pub(crate) Arc<Line>);

impl Playout for SpeechOutput {
    fn enqueue(&self, segment: SegmentId, samples: &[i16]) {
        self.0.queue.lock().enqueue(segment, samples);
    }

    fn finish(&self, segment: SegmentId) {
        self.0.queue.lock().finish(segment, Instant::now());
    }

    fn pause(&self) {
        // The lock keeps audio from being sent after the clear message.
        let mut queue = self.0.queue.lock();
        let behind = self.0.echoes.lock().behind(Instant::now());
        if queue.pause(behind) {
            self.0.clear_unplayed();
        }
    }

    fn resume(&self) {
        self.0.queue.lock().resume();
    }

    fn set_background(&self, samples: Arc<[i16]>) {
        self.0.queue.lock().set_background(samples);
    }

    fn clear(&self) -> Vec<Cleared> {
        let mut queue = self.0.queue.lock();
        let behind = self.0.echoes.lock().behind(Instant::now());
        let (is_told, cleared) = queue.clear(behind);
        if is_told {
            self.0.clear_unplayed();
        }
        cleared
    }
}

/// A transfer in progress. The audio ends once Twilio has accepted it, which then does not count as a hangup by the
/// customer. If the transfer fails or is dropped, the call stays the agent's.
struct HandOver<'a> {
    line: &'a Line,
    is_done: bool,
}

impl<'a> HandOver<'a> {
    fn begin(line: &'a Line) -> Self {
        line.is_handed_over.store(true, Ordering::Relaxed);
        let is_done = false;
        Self { line, is_done }
    }
}

impl Drop for HandOver<'_> {
    fn drop(&mut self) {
        if !self.is_done && !*self.line.has_left.borrow() {
            self.line.is_handed_over.store(false, Ordering::Relaxed);
        }
    }
}

/// The actions on the call.
pub(crate) struct Control(pub(crate) Arc<Line>);

#[async_trait]
impl Signalling for Control {
    async fn transfer(&self, to: &E164) -> Result<(), LineError> {
        let line = &self.0;
        let sid = line.sid().ok_or(LineError::Refused)?;
        let twiml = dial_twiml(line.our_number.as_str(), to.as_str());
        let (mut handing, mut left) = (HandOver::begin(line), line.has_left.subscribe());
        let mut redirect = std::pin::pin!(line.party.client.redirect(sid, &twiml));
        let answer = tokio::select! {
            biased;
            answer = &mut redirect => answer,
            // Twilio transferred the call, or the customer hung up. Twilio's answer shows which, unless it is late or
            // lost.
            () = is_set(&mut left) => {
                let answer = timeout(ANSWERS_WITHIN, redirect).await;
                answer.unwrap_or(Err(TwilioError::Unknown))
            }
        };
        handing.is_done = match &answer {
            // The answer was lost; the end of the audio shows whether Twilio transferred the call.
            Err(TwilioError::Unknown) => timeout(LEAVES_WITHIN, is_set(&mut left)).await.is_ok(),
            answer => answer.is_ok(),
        };
        match answer {
            _ if handing.is_done => Ok(()),
            Err(TwilioError::Refused { status: 404, .. }) => Err(LineError::Gone),
            _ => Err(LineError::Refused),
        }
    }

    /// A stream has no messages for keys: their tones are part of the audio.
    async fn send_digits(&self, digits: &str) -> Result<(), LineError> {
        let line = &self.0;
        let frames = tones(digits).map_err(|_| LineError::Refused)?;
        if line.stream_sid().is_empty() || line.is_handed_over() {
            return Err(LineError::Refused);
        }
        if frames.is_empty() {
            return Ok(());
        }
        let mut done = line.done.subscribe();
        let (told, sent) = oneshot::channel();
        line.queue.lock().send_keys(frames, told);
        tokio::select! {
            biased;
            () = is_set(&mut done) => Err(LineError::Gone),
            sent = sent => sent.map_err(|_| LineError::Gone),
        }
    }

    async fn hang_up(&self) {
        self.0.hang_up_and_wait().await;
    }
}
