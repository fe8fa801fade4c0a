//! The session of one phone call: dialing, ringing, live, ended.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use offhook_domain::{CallOutcome, Clock, FailureReason, Timestamp, TurnRole};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::control::{CallControl, EndRequest, EndRequests};
use crate::deadline::Deadline;
use crate::latencies::Latencies;
use crate::latency::TurnLatency;
use crate::live;
use crate::persona::Persona;
use crate::ports::{
    Carrier, DialError, DialRequest, Knowledge, Leg, LegEvent, Message, Models, Tools,
};

/// How long a phone may ring, from the carrier's first ringing event.
const RING_LIMIT: Duration = Duration::from_secs(45);

/// The shortest ring limit in real time, on a line faster than real time.
const TOLD_WITHIN: Duration = Duration::from_secs(5);

/// The delays before the two retries of a connection.
const DIAL_RETRIES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];

/// The delays before the attempts to end a call of which the carrier reported nothing.
const ORPHAN_RETRIES: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_secs(5),
    Duration::from_secs(10),
];

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

/// Runs one call from dialing to its end. It does not end a call that the carrier accepted but never reports on: the
/// caller of this function judges that by the call's lease. [`CallControl`] works at any time.
pub async fn run(session: Session, sink: &dyn CallSink, control: &CallControl) -> SessionEnd {
    let mut requests = control.subscribe();
    let answered = match dial(&session, control, &mut requests).await {
        Ok(leg) => ring(leg, &session, sink, &mut requests).await,
        Err(over) => Err(over),
    };
    match answered {
        Ok(answered) => Box::pin(live::hold(answered, session, sink, requests)).await,
        Err(SessionExit::ClaimLost) => SessionEnd::ClaimLost,
        Err(SessionExit::Outcome(outcome)) => SessionEnd::Ended {
            outcome,
            answered_at: None,
            ended_at: session.clock.now(),
            latencies_ms: Vec::new(),
            transcript: Vec::new(),
        },
    }
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

/// Sends the dial request to the carrier once; only a connection that never opened is retried.
async fn dial(
    session: &Session,
    control: &CallControl,
    requests: &mut EndRequests,
) -> Result<Leg, SessionExit> {
    let mut retries = DIAL_RETRIES.into_iter();
    loop {
        if let Some(request) = control.requested() {
            return Err(request.into());
        }
        if session.dial_by.is_over() {
            return Err(FailureReason::CarrierError.into());
        }
        let result = tokio::select! {
            biased;
            result = session.carrier.dial(session.dial.clone()) => result,
            request = requests.beyond(None) => {
                // The dial request may already have been sent.
                end_unseen(session).await;
                return Err(request.into());
            }
        };
        match result {
            Ok(leg) => return Ok(leg),
            Err(DialError::Refused(reason)) => return Err(reason.into()),
            Err(DialError::Unknown) => {
                end_unseen(session).await;
                return Err(FailureReason::CarrierError.into());
            }
            Err(DialError::NotConnected) => {
                let Some(wait) = retries.next() else {
                    return Err(FailureReason::CarrierError.into());
                };
                tokio::select! {
                    biased;
                    request = requests.beyond(None) => return Err(request.into()),
                    () = sleep(wait) => {}
                }
            }
        }
    }
}

/// Ends, by our handle, a call of which the carrier reported nothing. If the carrier does not confirm, the session can
/// do nothing more.
async fn end_unseen(session: &Session) {
    for wait in ORPHAN_RETRIES {
        sleep(wait).await;
        let ending = session.carrier.hang_up_orphan(session.dial.handle);
        if matches!(timeout(HANG_UP_LIMIT, ending).await, Ok(Ok(()))) {
            return;
        }
    }
    tracing::warn!("the carrier did not confirm the end of a call that it may have placed");
}

/// Waits for the answer. The ring limit starts with the first ringing.
async fn ring(
    mut leg: Leg,
    session: &Session,
    sink: &dyn CallSink,
    requests: &mut EndRequests,
) -> Result<Answered, SessionExit> {
    let mut reported = false;
    let mut gives_up_at = None;
    loop {
        let event = tokio::select! {
            biased;
            request = requests.beyond(None) => {
                hang_up(&leg).await;
                return Err(request.into());
            }
            event = leg.events.recv() => event,
            () = at(gives_up_at) => {
                hang_up(&leg).await;
                return Err(FailureReason::NoAnswer.into());
            }
        };
        if !reported && event.is_some() {
            reported = true;
            if let Err(lost) = unless_lost(requests, sink.carrier_reported()).await {
                hang_up(&leg).await;
                return Err(lost.into());
            }
        }
        match event {
            Some(LegEvent::Ringing) if gives_up_at.is_none() => {
                // Even a fast line needs time to report an answer.
                let limit = at_speed(RING_LIMIT, leg.speed).max(TOLD_WITHIN);
                gives_up_at = Some(Instant::now() + limit);
            }
            Some(LegEvent::Answered { machine }) => {
                let (at, since) = (session.clock.now(), Instant::now());
                // Synthesize the first words while the answer is recorded and the callee is screened.
                let Persona {
                    notice,
                    first_message,
                    ..
                } = &*session.persona;
                let texts = [notice, first_message].map(|text| text.trim());
                if let Some(first) = texts.into_iter().find(|text| !text.is_empty()) {
                    leg.line.prepare(first);
                }
                if let Err(lost) = unless_lost(requests, sink.answered(at)).await {
                    hang_up(&leg).await;
                    return Err(lost.into());
                }
                return Ok(Answered {
                    leg,
                    machine,
                    at,
                    since,
                });
            }
            Some(LegEvent::Failed(reason)) => return Err(reason.into()),
            Some(LegEvent::Hangup) => return Err(FailureReason::Rejected.into()),
            Some(
                LegEvent::Accepted
                | LegEvent::Ringing
                | LegEvent::CustomerStarted
                | LegEvent::Heard { .. }
                | LegEvent::TurnOver { .. }
                | LegEvent::Screened { .. }
                | LegEvent::Held(_),
            ) => {}
            None => return Err(FailureReason::CarrierError.into()),
        }
    }
}

async fn hang_up(leg: &Leg) {
    let _ = timeout(HANG_UP_LIMIT, leg.line.hang_up()).await;
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
