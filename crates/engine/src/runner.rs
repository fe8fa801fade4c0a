//! Runs a session: dials, waits for the answer, then runs the live call.

use std::time::Duration;

use offhook_domain::FailureReason;
use tokio::time::{Instant, sleep, timeout};

use crate::control::{CallControl, EndRequests};
use crate::live;
use crate::persona::Persona;
use crate::ports::{DialError, Leg, LegEvent};
use crate::session::{
    Answered, CallSink, HANG_UP_LIMIT, Session, SessionEnd, SessionExit, at, at_speed, unless_lost,
};

/// How long a phone may ring, from the carrier's first ringing event.
const RING_LIMIT: Duration = Duration::from_secs(45);

/// The shortest ring limit in real time, on a line faster than real time.
const MIN_RING_LIMIT: Duration = Duration::from_secs(5);

/// The delays before the two retries of a connection.
const DIAL_RETRIES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];

/// The delays before the attempts to end a call of which the carrier reported nothing.
const ORPHAN_RETRIES: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_secs(5),
    Duration::from_secs(10),
];

/// Runs one call from dialing to its end. It does not end a call that the carrier accepted but never reports on: the
/// caller of this function judges that by the call's lease. [`CallControl`] works at any time.
pub async fn run(session: Session, sink: &dyn CallSink, control: &CallControl) -> SessionEnd {
    let mut requests = control.subscribe();
    let answered = match dial(&session, control, &mut requests).await {
        Ok(leg) => ring(leg, &session, sink, &mut requests).await,
        Err(over) => Err(over),
    };
    match answered {
        Ok(answered) => Box::pin(live::run(answered, session, sink, requests)).await,
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
                let limit = at_speed(RING_LIMIT, leg.speed).max(MIN_RING_LIMIT);
                gives_up_at = Some(Instant::now() + limit);
                sink.rang(session.clock.now());
            }
            Some(LegEvent::Status(code)) => sink.refused(code),
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
