//! The session of one phone call: what it needs, where it stores events, and how it ends.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use offhook_domain::{CallOutcome, Clock, FailureReason, Timestamp, TurnRole};
use tokio::time::{Instant, sleep_until};

use crate::control::{EndRequest, EndRequests};
use crate::deadline::Deadline;
use crate::latencies::Latencies;
use crate::latency::TurnLatency;
use crate::persona::Persona;
use crate::ports::{Carrier, DialRequest, Knowledge, Leg, Message, Models, Tools};
use crate::reply::ReplySource;

/// How long the carrier may take to confirm a hangup before the session goes on without it.
pub(crate) const HANG_UP_LIMIT: Duration = Duration::from_secs(5);

/// Everything that a session needs.
pub struct Session {
    pub carrier: Arc<dyn Carrier>,
    pub dial: DialRequest,
    /// The dial request leaves before this deadline or not at all (10 s from the claim).
    pub dial_by: Deadline,
    pub persona: Arc<Persona>,
    pub models: Arc<dyn Models>,
    /// The models' measured speed; one table for the whole process.
    pub latencies: Latencies,
    pub tools: Arc<dyn Tools>,
    /// The documents that the agent searches before each answer.
    pub knowledge: Option<Arc<dyn Knowledge>>,
    /// Timestamps the turns.
    pub clock: Arc<dyn Clock>,
}

/// Stores what happens in a session, as it happens. Each step is fenced by the call's claim: [`ClaimLost`] means that
/// another worker owns the call now, and the session hangs up at once.
///
/// The session waits for these methods while the phone call goes on. An implementation that cannot reach its database
/// should keep the event and return.
#[async_trait]
pub trait CallSink: Send + Sync {
    /// The phone network reacted for the first time: it rings, was answered, or failed.
    async fn carrier_reported(&self) -> Result<(), ClaimLost>;

    /// The phone rings for the first time.
    fn rang(&self, at: Timestamp) {
        let _ = at;
    }

    /// The carrier refused the call with this SIP status.
    fn refused(&self, status: u16) {
        let _ = status;
    }

    async fn answered(&self, at: Timestamp) -> Result<(), ClaimLost>;

    /// A turn is complete.
    async fn turn(&self, turn: Turn) -> Result<(), ClaimLost>;

    /// The customer heard the first sound of a reply. Only called on lines that [speak](crate::ports::Line::is_spoken).
    fn measured(&self, latency: &TurnLatency) {
        let _ = latency;
    }
}

/// The call has another owner, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the call is no longer ours")]
pub struct ClaimLost;

/// One line of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    pub role: TurnRole,
    /// What was heard of the turn.
    pub text: String,
    pub started_at: Timestamp,
    pub duration_ms: u32,
    /// Whether it was interrupted.
    pub interrupted: bool,
    /// How a model came to it; `None` if no model wrote it.
    pub source: Option<Box<ReplySource>>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SessionEnd {
    Ended {
        outcome: CallOutcome,
        /// When it was answered, if it was.
        answered_at: Option<Timestamp>,
        ended_at: Timestamp,
        /// The latency of each reply: from the end of the customer's speech to the agent's first word.
        latencies_ms: Vec<u32>,
        /// The messages, for the summary.
        transcript: Vec<Message>,
    },
    /// Another worker owns the call. This session hung up, and must write nothing more about the call.
    ClaimLost,
}

/// An answered call.
pub(crate) struct Answered {
    pub(crate) leg: Leg,
    pub(crate) machine: bool,
    /// The time of the answer for the records.
    pub(crate) at: Timestamp,
    /// The time of the answer for timers.
    pub(crate) since: Instant,
}

/// Why a session stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionExit {
    Outcome(CallOutcome),
    ClaimLost,
}

impl From<ClaimLost> for SessionExit {
    fn from(_: ClaimLost) -> Self {
        Self::ClaimLost
    }
}

impl From<FailureReason> for SessionExit {
    fn from(reason: FailureReason) -> Self {
        Self::Outcome(CallOutcome::Failed(reason))
    }
}

/// The outcome of an unanswered call that a request ended.
impl From<EndRequest> for SessionExit {
    fn from(request: EndRequest) -> Self {
        match request {
            EndRequest::ApiHangup | EndRequest::OutOfCredits => FailureReason::Cancelled.into(),
            EndRequest::Drain => FailureReason::Interrupted.into(),
            EndRequest::ClaimLost => Self::ClaimLost,
        }
    }
}

/// Waits for the sink, unless the claim is lost first.
pub(crate) async fn unless_lost(
    requests: &mut EndRequests,
    write: impl Future<Output = Result<(), ClaimLost>>,
) -> Result<(), ClaimLost> {
    tokio::select! {
        biased;
        result = write => result,
        _ = requests.beyond(Some(EndRequest::ApiHangup)) => Err(ClaimLost),
    }
}

/// Waits until the instant; never resolves without one.
pub(crate) async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

/// A wait of the session, scaled to a line that is `speed` times faster than real time.
pub(crate) fn at_speed(wait: Duration, speed: f64) -> Duration {
    if speed.is_finite() && speed > 0.0 {
        Duration::try_from_secs_f64(wait.as_secs_f64() / speed).unwrap_or(wait)
    } else {
        wait
    }
}
