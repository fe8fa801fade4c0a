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

/// How long a phone may ring, counted from the carrier's first word of it.
const RING_LIMIT: Duration = Duration::from_secs(45);

/// The least time that it rings by the machine's own clock.
const TOLD_WITHIN: Duration = Duration::from_secs(5);

/// The waits before a connection is tried again: it may be retried twice.
const DIAL_RETRIES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];

/// The waits between attempts to end a call of which the carrier said nothing.
const ORPHAN_RETRIES: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_secs(5),
    Duration::from_secs(10),
];

/// How long the carrier may take to confirm a hang-up before the session goes on without it.
pub(crate) const HANG_UP_LIMIT: Duration = Duration::from_secs(5);

/// Everything that a session works with.
pub struct Session {
    /// The phone network.
    pub carrier: Arc<dyn Carrier>,
    /// Whom to call.
    pub dial: DialRequest,
    /// The request leaves before this instant or not at all (10 s from the claim).
    pub dial_by: Deadline,
    /// The agent.
    pub persona: Arc<Persona>,
    /// The models that agents may name.
    pub models: Arc<dyn Models>,
    /// What is known of the models' speed; one table for the whole process.
    pub latencies: Latencies,
    /// What the agent may do besides speaking.
    pub tools: Arc<dyn Tools>,
    /// What the agent looks things up in before each answer.
    pub knowledge: Option<Arc<dyn Knowledge>>,
    /// What turns are stamped with.
    pub clock: Arc<dyn Clock>,
}

/// Where a session writes down what happens, as it happens. Each step is fenced by the call's claim: [`ClaimLost`]
/// means that the call belongs to another owner now, and the session hangs up at once.
///
/// The session waits for these calls, while the phone call goes on; an implementation that cannot reach its database
/// should keep what it was told and return.
#[async_trait]
pub trait CallSink: Send + Sync {
    /// The carrier gave its first sign of life: it rings, was answered, or failed.
    async fn carrier_reported(&self) -> Result<(), ClaimLost>;

    /// The call was answered.
    async fn answered(&self, at: Timestamp) -> Result<(), ClaimLost>;

    /// A turn is over.
    async fn turn(&self, turn: Turn) -> Result<(), ClaimLost>;

    /// The customer heard the first sound of a reply. It is told on lines that [speak](crate::ports::Line::is_spoken).
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
    /// Who spoke.
    pub role: TurnRole,
    /// What was heard of it.
    pub text: String,
    /// When it began.
    pub started_at: Timestamp,
    /// How long it took.
    pub duration_ms: u32,
    /// Whether it was cut short.
    pub interrupted: bool,
}

/// How a session ended.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionEnd {
    /// The call is over.
    Ended {
        /// How it ended.
        outcome: CallOutcome,
        /// When it was answered, if it was.
        answered_at: Option<Timestamp>,
        /// When it ended.
        ended_at: Timestamp,
        /// Of each reply: from the end of the customer's speech to the agent's first word.
        latencies_ms: Vec<u32>,
        /// What was said, for the summary.
        transcript: Vec<Message>,
    },
    /// The call is another owner's: it was hung up here, and nothing more may be written about it.
    ClaimLost,
}

/// Holds one call from the dialing to its end. A carrier that took the call over and never reports anything is not
/// ended here: the call's lease is the caller's to judge, and [`CallControl`] works at any time.
pub async fn run(session: Session, sink: &dyn CallSink, control: &CallControl) -> SessionEnd {
    let mut requests = control.subscribe();
    let answered = match dial(&session, control, &mut requests).await {
        Ok(leg) => ring(leg, &session, sink, &mut requests).await,
        Err(over) => Err(over),
    };
    match answered {
        Ok(answered) => Box::pin(live::hold(answered, session, sink, requests)).await,
        Err(Over::ClaimLost) => SessionEnd::ClaimLost,
        Err(Over::Outcome(outcome)) => SessionEnd::Ended {
            outcome,
            answered_at: None,
            ended_at: session.clock.now(),
            latencies_ms: Vec::new(),
            transcript: Vec::new(),
        },
    }
}

/// A call that somebody answered.
pub(crate) struct Answered {
    pub(crate) leg: Leg,
    pub(crate) machine: bool,
    /// For what is written down.
    pub(crate) at: Timestamp,
    /// For what is waited for.
    pub(crate) since: Instant,
}

/// Why a session goes no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    Outcome(CallOutcome),
    ClaimLost,
}

impl From<ClaimLost> for Over {
    fn from(_: ClaimLost) -> Self {
        Self::ClaimLost
    }
}

impl From<FailureReason> for Over {
    fn from(reason: FailureReason) -> Self {
        Self::Outcome(CallOutcome::Failed(reason))
    }
}

/// What a request ends a call with that nobody answered yet.
impl From<EndRequest> for Over {
    fn from(request: EndRequest) -> Self {
        match request {
            EndRequest::ApiHangup | EndRequest::OutOfCredits => FailureReason::Cancelled.into(),
            EndRequest::Drain => FailureReason::Interrupted.into(),
            EndRequest::ClaimLost => Self::ClaimLost,
        }
    }
}

/// Asks the carrier for the call, once; only a connection that never opened is tried again.
async fn dial(
    session: &Session,
    control: &CallControl,
    requests: &mut EndRequests,
) -> Result<Leg, Over> {
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
                // The request may have left already.
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

/// Ends a call of which the carrier said nothing, by our handle. If the carrier stays silent, nothing more can be done
/// from here.
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

/// Waits for the answer. The ring limit counts from the first ringing.
async fn ring(
    mut leg: Leg,
    session: &Session,
    sink: &dyn CallSink,
    requests: &mut EndRequests,
) -> Result<Answered, Over> {
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
                // However fast the line is, it has to have the time to tell that somebody answered.
                let limit = at_speed(RING_LIMIT, leg.speed).max(TOLD_WITHIN);
                gives_up_at = Some(Instant::now() + limit);
            }
            Some(LegEvent::Answered { machine }) => {
                let (at, since) = (session.clock.now(), Instant::now());
                // It becomes sound while the answer is written down, and while it is found out who answered.
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

/// Waits for the sink, but not beyond the claim.
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

/// Waits until then; for ever, if there is no such instant.
pub(crate) async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

/// A wait of the session itself, on a line whose people are `speed` times faster than real ones.
pub(crate) fn at_speed(wait: Duration, speed: f64) -> Duration {
    if speed.is_finite() && speed > 0.0 {
        Duration::try_from_secs_f64(wait.as_secs_f64() / speed).unwrap_or(wait)
    } else {
        wait
    }
}
