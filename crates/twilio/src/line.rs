//! One call's line: what its task, its connection and the engine share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use offhook_domain::{CallHandle, E164};
use offhook_engine::ports::LineError;
use offhook_engine::ports::audio::{Cleared, Playout, SegmentId, Signalling};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};

use crate::client::{TwilioClient, TwilioError};
use crate::echoes::Echoes;
use crate::inbox::Inbox;
use crate::lock;
use crate::outbox::Outbox;
use crate::queue::Queue;
use crate::status::CallStatus;
use crate::stream::{self, dial_twiml};

/// Signals that may wait for a call's task.
pub(crate) const SIGNALS_WAITING: usize = 256;

/// How long Twilio may take to confirm the end of a call before whoever asked for it goes on.
const HANG_UP_WITHIN: Duration = Duration::from_secs(4);

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
    Unusable,
}

/// A call, as all who have to do with it see it.
pub(crate) struct Line {
    pub(crate) handle: CallHandle,
    from: E164,
    client: TwilioClient,
    signals: mpsc::Sender<Signal>,
    pub(crate) queue: Mutex<Queue>,
    pub(crate) echoes: Mutex<Echoes>,
    pub(crate) inbox: Mutex<Inbox>,
    pub(crate) outbox: Outbox,
    /// The call's id at Twilio, once it is known.
    sid: OnceLock<String>,
    /// The stream's id, once its sound has begun.
    stream_sid: OnceLock<String>,
    /// Somebody else has the customer now.
    is_handed_over: AtomicBool,
    /// It is to be ended.
    hang_up: watch::Sender<bool>,
    /// It is over.
    done: watch::Sender<bool>,
}

impl Line {
    pub(crate) fn new(
        handle: CallHandle,
        from: E164,
        client: TwilioClient,
        signals: mpsc::Sender<Signal>,
    ) -> Self {
        Self {
            handle,
            from,
            client,
            signals,
            queue: Mutex::default(),
            echoes: Mutex::default(),
            inbox: Mutex::default(),
            outbox: Outbox::default(),
            sid: OnceLock::new(),
            stream_sid: OnceLock::new(),
            is_handed_over: AtomicBool::new(false),
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
        lock(&self.echoes).clear();
        self.outbox.clear(stream::clear(self.stream_sid()));
    }
}

/// The playout queue, as the engine knows it.
pub(crate) struct Mouth(pub(crate) Arc<Line>);

impl Playout for Mouth {
    fn enqueue(&self, segment: SegmentId, samples: &[i16]) {
        lock(&self.0.queue).enqueue(segment, samples);
    }

    fn finish(&self, segment: SegmentId) {
        lock(&self.0.queue).finish(segment, Instant::now());
    }

    fn pause(&self) {
        // While it is locked nothing is sent that would come behind the message.
        let mut queue = lock(&self.0.queue);
        let behind = lock(&self.0.echoes).behind(Instant::now());
        if queue.pause(behind) {
            self.0.take_back();
        }
    }

    fn resume(&self) {
        lock(&self.0.queue).resume();
    }

    fn set_background(&self, samples: Arc<[i16]>) {
        lock(&self.0.queue).set_background(samples);
    }

    fn clear(&self) -> Vec<Cleared> {
        let mut queue = lock(&self.0.queue);
        let behind = lock(&self.0.echoes).behind(Instant::now());
        let (is_told, cleared) = queue.clear(behind);
        if is_told {
            self.0.take_back();
        }
        cleared
    }
}

/// The way to do something to the call.
pub(crate) struct Control(pub(crate) Arc<Line>);

#[async_trait]
impl Signalling for Control {
    async fn transfer(&self, to: &E164) -> Result<(), LineError> {
        let line = &self.0;
        let sid = line.sid().ok_or(LineError::Refused)?;
        let twiml = dial_twiml(line.from.as_str(), to.as_str());
        // Its sound ends as soon as Twilio has been told, which is not the customer's doing then.
        line.is_handed_over.store(true, Ordering::Relaxed);
        let handed_over = line.client.redirect(sid, &twiml).await;
        handed_over.map_err(|error| {
            line.is_handed_over.store(false, Ordering::Relaxed);
            match error {
                TwilioError::Refused { status: 404, .. } => LineError::Gone,
                _ => LineError::Refused,
            }
        })
    }

    /// A stream carries no keys to Twilio.
    async fn send_digits(&self, _digits: &str) -> Result<(), LineError> {
        Err(LineError::Refused)
    }

    async fn hang_up(&self) {
        self.0.hang_up_and_wait().await;
    }
}
