//! One call's line: what its task, its connection and the engine share.

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

/// Messages that may wait for a connection that does not take them: two seconds of sound. What comes on top is dropped.
const MOST_WAITING: usize = 120;

/// A message of the stream.
pub(crate) enum Text {
    /// Sound, or a mark behind it: of no use once what was said is taken back.
    Speech(String),
    /// Takes back what was said.
    Clear(String),
}

/// How long Twilio may take to confirm the end of a call before whoever asked for it goes on.
const HANG_UP_WITHIN: Duration = Duration::from_secs(4);

/// How long Twilio's answer may be behind the end of the sound, which it caused.
const ANSWERS_WITHIN: Duration = Duration::from_millis(500);

/// How long the sound of a call may take to end that may have been handed over.
const LEAVES_WITHIN: Duration = Duration::from_secs(2);

/// What happens to a call.
#[derive(Debug)]
pub(crate) enum Signal {
    /// Twilio says where it is.
    Status {
        sid: String,
        status: CallStatus,
        sip_code: Option<u16>,
        /// Statuses are numbered, and may overtake each other.
        sequence: Option<u64>,
    },
    /// Twilio knows nothing of it any more.
    Forgotten,
    /// Twilio has found out who answered.
    Screened { sid: String, machine: bool },
    /// Its sound begins.
    Started { sid: String },
    /// A key was pressed.
    Key(char),
    /// Its sound has ended, as it should: the call is over, or went elsewhere.
    Stopped,
    /// Its connection is gone without a word.
    Gone,
    /// Its sound is of a kind that was not agreed on.
    Unusable { sid: String },
}

impl Signal {
    /// The id of the call that it tells of, where it names one: so does all that can come before the id is known.
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

/// A call, as all who have to do with it see it.
pub(crate) struct Line {
    pub(crate) handle: CallHandle,
    /// The number here that it goes by.
    ours: E164,
    /// Whose call it is at Twilio.
    pub(crate) party: Arc<Party>,
    signals: mpsc::Sender<Signal>,
    pub(crate) queue: Mutex<Queue>,
    pub(crate) echoes: Mutex<Echoes>,
    pub(crate) inbox: Mutex<Inbox>,
    pub(crate) outbox: Outbox<Text>,
    /// The call's id at Twilio, once it is known.
    sid: OnceLock<String>,
    /// The stream's id, once its sound has begun.
    stream_sid: OnceLock<String>,
    /// Connections that have not shown that they carry its sound.
    pub(crate) unnamed: AtomicUsize,
    /// Somebody else has the customer now.
    is_handed_over: AtomicBool,
    /// Its sound ended while it was being handed over.
    has_left: watch::Sender<bool>,
    /// It is to be ended.
    hang_up: watch::Sender<bool>,
    /// It is over.
    done: watch::Sender<bool>,
}

impl Line {
    pub(crate) fn new(
        handle: CallHandle,
        ours: E164,
        party: Arc<Party>,
        signals: mpsc::Sender<Signal>,
    ) -> Self {
        Self {
            handle,
            ours,
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

    /// Tells the call's task. One that does not keep up cannot go on.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Err(mpsc::error::TrySendError::Full(_)) = self.signals.try_send(signal) {
            tracing::warn!(call = %self.handle, "more happens to a call than can be taken in: it is ended");
            self.hang_up.send_replace(true);
        }
    }

    /// The call's id at Twilio, as far as it is known.
    pub(crate) fn sid(&self) -> Option<&str> {
        self.sid.get().map(String::as_str)
    }

    /// Whether this is the call of this id. The first one that is named is.
    pub(crate) fn is_of(&self, sid: &str) -> bool {
        self.sid.get_or_init(|| sid.to_owned()) == sid
    }

    /// Its sound goes by the stream of this id.
    pub(crate) fn connected(&self, stream_sid: String) {
        let _ = self.stream_sid.set(stream_sid);
    }

    pub(crate) fn stream_sid(&self) -> &str {
        self.stream_sid.get().map_or("", String::as_str)
    }

    pub(crate) fn is_handed_over(&self) -> bool {
        self.is_handed_over.load(Ordering::Relaxed)
    }

    /// The sound of a call that is being handed over has ended.
    pub(crate) fn has_left(&self) {
        self.has_left.send_replace(true);
    }

    pub(crate) fn hang_ups(&self) -> watch::Receiver<bool> {
        self.hang_up.subscribe()
    }

    /// Nothing is left of it.
    pub(crate) fn end(&self) {
        self.outbox.close();
        self.done.send_replace(true);
    }

    /// Asks for its end; `false` if that was not confirmed in time.
    pub(crate) async fn hang_up_and_wait(&self) -> bool {
        self.hang_up.send_replace(true);
        let mut done = self.done.subscribe();
        let ended = timeout(HANG_UP_WITHIN, done.wait_for(|done| *done));
        matches!(ended.await, Ok(Ok(_)))
    }

    /// Has Twilio forget what it has not played.
    fn take_back(&self) {
        self.echoes.lock().clear();
        let clear = Text::Clear(stream::clear(self.stream_sid()));
        self.outbox
            .replace(|text| matches!(text, Text::Clear(_)), clear);
    }
}

/// Waits for a flag, and holds nothing of it.
pub(crate) async fn is_set(flag: &mut watch::Receiver<bool>) {
    let _ = flag.wait_for(|set| *set).await;
}

/// The playout queue, as the engine knows it.
pub(crate) struct Mouth(pub(crate) Arc<Line>);

impl Playout for Mouth {
    fn enqueue(&self, segment: SegmentId, samples: &[i16]) {
        self.0.queue.lock().enqueue(segment, samples);
    }

    fn finish(&self, segment: SegmentId) {
        self.0.queue.lock().finish(segment, Instant::now());
    }

    fn pause(&self) {
        // While it is locked nothing is sent that would come behind the message.
        let mut queue = self.0.queue.lock();
        let behind = self.0.echoes.lock().behind(Instant::now());
        if queue.pause(behind) {
            self.0.take_back();
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
            self.0.take_back();
        }
        cleared
    }
}

/// A call that is being handed over. Its sound ends as soon as Twilio has been told, which is not the customer's doing
/// then. Unless it is done, or its sound has ended, the call is the agent's as before, also where nobody waits any more.
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

/// The way to do something to the call.
pub(crate) struct Control(pub(crate) Arc<Line>);

#[async_trait]
impl Signalling for Control {
    async fn transfer(&self, to: &E164) -> Result<(), LineError> {
        let line = &self.0;
        let sid = line.sid().ok_or(LineError::Refused)?;
        let twiml = dial_twiml(line.ours.as_str(), to.as_str());
        let (mut handing, mut left) = (HandOver::begin(line), line.has_left.subscribe());
        let mut redirect = std::pin::pin!(line.party.client.redirect(sid, &twiml));
        let answer = tokio::select! {
            biased;
            answer = &mut redirect => answer,
            // Twilio did it, or the customer hung up. The answer tells which of them, unless it is late or lost.
            () = is_set(&mut left) => {
                let answer = timeout(ANSWERS_WITHIN, redirect).await;
                answer.unwrap_or(Err(TwilioError::Unknown))
            }
        };
        handing.is_done = match &answer {
            // The answer was lost: whether Twilio did it shows by the end of the sound.
            Err(TwilioError::Unknown) => timeout(LEAVES_WITHIN, is_set(&mut left)).await.is_ok(),
            answer => answer.is_ok(),
        };
        match answer {
            _ if handing.is_done => Ok(()),
            Err(TwilioError::Refused { status: 404, .. }) => Err(LineError::Gone),
            _ => Err(LineError::Refused),
        }
    }

    /// A stream has no message for keys: their tones are in the sound.
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
