//! One call of a legacy agent: handed to the provider once, followed to its end by our reference, and settled as every
//! other call is.

use std::sync::Arc;
use std::time::Duration;

use offhook_domain::{
    AgentStatus, CallHandle, CallOutcome, ClaimId, FailureReason, Metadata, TerminationReason,
    Timestamp,
};
use offhook_engine::legacy::{LegacyCall, LegacyEnd, LegacyError};
use offhook_engine::{CallControl, CallSink, EndRequest};
use offhook_failpoints as failpoints;
use offhook_storage::{Conversation, StoreError};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use super::call::{numbers, refuse, top_up};
use super::closing::{MediaEnd, close, settle};
use super::record::{Record, insist};
use crate::Shared;

/// The longest call that credits are held for; the provider has limits of its own.
const LONGEST_S: i64 = 7_200;

/// How often a request to end the call is looked for: it is obeyed within 500 ms.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The waits before a connection is tried again: it may be retried twice (decision 8.4).
const PLACE_RETRIES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];

/// How often a provider that does not confirm a hang-up is asked again before the call is reported all the same.
const HANG_UP_TRIES: u32 = 3;

/// Hands a claimed call to the provider and follows it to its end. The request leaves before `place_by` or not at all.
pub(super) async fn hold(
    shared: &Arc<Shared>,
    call: &Conversation,
    claim: ClaimId,
    place_by: Instant,
    control: &CallControl,
) -> Result<(), StoreError> {
    let (credential, request) = match prepare(shared, call).await? {
        Ok(prepared) => prepared,
        Err(reason) => return refuse(shared, call, claim, reason).await,
    };
    failpoints::hit(failpoints::DIAL_AFTER_CLAIM);
    let mut retries = PLACE_RETRIES.into_iter();
    loop {
        match control.requested() {
            None => {}
            Some(EndRequest::ClaimLost) => return Ok(()),
            Some(EndRequest::Drain) => {
                return refuse(shared, call, claim, FailureReason::Interrupted).await;
            }
            Some(EndRequest::ApiHangup | EndRequest::OutOfCredits) => {
                return refuse(shared, call, claim, FailureReason::Cancelled).await;
            }
        }
        if Instant::now() >= place_by {
            return refuse(shared, call, claim, FailureReason::CarrierError).await;
        }
        match shared.legacy.place(&credential, request.clone()).await {
            // Whether an unanswered request had an effect is for the look-up by our reference to say.
            Ok(()) | Err(LegacyError::Unknown) => break,
            Err(LegacyError::Refused(_)) => {
                return refuse(shared, call, claim, FailureReason::AgentError).await;
            }
            Err(LegacyError::NotConnected) => match retries.next() {
                Some(wait) => sleep(wait).await,
                None => return refuse(shared, call, claim, FailureReason::CarrierError).await,
            },
        }
    }
    follow(shared, call, claim, control, &credential, 0).await
}

/// Takes an orphaned call over where its media goes on at the provider; `false` if there is nothing to take over: it
/// has been hung up, and was interrupted (decision 8.6).
pub(super) async fn adopt(
    shared: &Arc<Shared>,
    call: &Conversation,
    claim: ClaimId,
) -> Result<bool, StoreError> {
    let Some(credential) = shared.legacy_credential(call.account_id).await? else {
        return Ok(false);
    };
    let reference = CallHandle(call.id);
    let known = match shared.legacy.progress(&credential, reference).await {
        Ok(progress) => progress.is_some_and(|progress| progress.reported),
        // The lease runs out again, and the provider is asked again.
        Err(LegacyError::NotConnected | LegacyError::Unknown) => return Ok(true),
        Err(LegacyError::Refused(_)) => false,
    };
    if !known {
        for attempt in 1..=HANG_UP_TRIES {
            match shared.legacy.hang_up(&credential, reference).await {
                Ok(()) => break,
                Err(error) => {
                    tracing::warn!(%error, call = %call.id, "an orphan could not be hung up at the provider");
                    sleep(Duration::from_secs(u64::from(attempt))).await;
                }
            }
        }
        return Ok(false);
    }
    tracing::info!(call = %call.id, "an orphaned call goes on at its provider");
    let written = shared
        .store
        .turns(call.id, 0, i64::from(i32::MAX))
        .await?
        .len();
    let control = CallControl::new();
    shared.registry.insert(call.id, claim, control.clone());
    shared.registry.mark_alive(call.id);
    let followed = follow(shared, call, claim, &control, &credential, written).await;
    shared.registry.remove(call.id, claim);
    followed.map(|()| true)
}

/// Looks at the agent once more (decision 8.4), and at the credential that its provider wants.
async fn prepare(
    shared: &Shared,
    call: &Conversation,
) -> Result<Result<(String, LegacyCall), FailureReason>, StoreError> {
    let agent = insist(|| shared.store.agent(call.account_id, call.agent_id)).await?;
    let credential = insist(|| shared.legacy_credential(call.account_id)).await?;
    let agent = agent.filter(|agent| agent.status == AgentStatus::Active);
    let agent = agent.and_then(|agent| agent.provider_agent_id);
    let (Some(agent), Some(credential)) = (agent, credential) else {
        return Ok(Err(FailureReason::AgentError));
    };
    let Some((from, to)) = numbers(call) else {
        return Ok(Err(FailureReason::InvalidNumber));
    };
    let Ok(metadata) = Metadata::from_stored(&call.metadata) else {
        return Ok(Err(FailureReason::AgentError));
    };
    let request = LegacyCall {
        reference: CallHandle(call.id),
        agent,
        from,
        to,
        variables: metadata.variables(),
    };
    Ok(Ok((credential, request)))
}

/// What is known of a call that is being followed.
struct Followed {
    alive: bool,
    answered_at: Option<Timestamp>,
    written: usize,
}

async fn follow(
    shared: &Arc<Shared>,
    call: &Conversation,
    claim: ClaimId,
    control: &CallControl,
    credential: &str,
    written: usize,
) -> Result<(), StoreError> {
    let record = Record::new(shared.clone(), call.id, claim);
    let mut state = Followed {
        alive: false,
        answered_at: call.answered_at,
        written,
    };
    let end = {
        let top_up = top_up(shared, call, LONGEST_S, control);
        tokio::pin!(top_up);
        let end = until_end(shared, call, control, credential, (&record, &mut state));
        tokio::pin!(end);
        tokio::select! {
            end = &mut end => end,
            // It never ends by itself before the call does.
            () = &mut top_up => end.await,
        }
    };
    let Some(end) = end else { return Ok(()) };
    if record.finish().await.is_err() {
        return Ok(());
    }
    let media = MediaEnd {
        outcome: end.outcome,
        answered_at: state.answered_at,
        ended_at: end.ended_at,
        latencies_ms: Vec::new(),
    };
    let Some(duration) = close(shared, call, claim, &media).await? else {
        return Ok(());
    };
    if end.recorded {
        keep_recording(shared, call, claim, credential).await;
    }
    let times = (end.ended_at, duration);
    settle(shared, call, claim, end.outcome, times, end.summary).await
}

/// Asks after the call until it has ended; `None` if it is another owner's now, who goes on with it.
async fn until_end(
    shared: &Shared,
    call: &Conversation,
    control: &CallControl,
    credential: &str,
    (record, state): (&Record, &mut Followed),
) -> Option<LegacyEnd> {
    let reference = CallHandle(call.id);
    let every = shared.legacy.asked_every();
    let mut look = interval(LOOK_EVERY.min(every));
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut ask_at = Instant::now();
    let mut ending = None;
    let mut confirmed = true;
    loop {
        look.tick().await;
        let requested = control.requested();
        if requested == Some(EndRequest::ClaimLost) {
            return None;
        }
        if requested != ending {
            (ending, confirmed) = (requested, false);
            ask_at = Instant::now();
        }
        if Instant::now() < ask_at {
            continue;
        }
        ask_at = Instant::now() + every;
        if !confirmed {
            confirmed = shared.legacy.hang_up(credential, reference).await.is_ok();
        }
        let progress = match shared.legacy.progress(credential, reference).await {
            Ok(progress) => progress,
            Err(error) => {
                tracing::warn!(%error, call = %call.id, "the legacy provider does not say how a call goes");
                continue;
            }
        };
        let Some(progress) = progress else {
            // It was never placed, or its provider forgot it: nobody is on the line.
            return Some(LegacyEnd {
                outcome: CallOutcome::Failed(FailureReason::CarrierError),
                ended_at: shared.clock.now(),
                summary: String::new(),
                recorded: false,
            });
        };
        if progress.reported && !state.alive {
            state.alive = true;
            record.carrier_reported().await.ok()?;
        }
        if let (Some(at), None) = (progress.answered_at, state.answered_at) {
            record.answered(at).await.ok()?;
            state.answered_at = Some(at);
        }
        for turn in progress.turns.into_iter().skip(state.written) {
            record.turn(turn).await.ok()?;
            state.written += 1;
        }
        if let Some(end) = progress.end {
            return Some(LegacyEnd {
                outcome: outcome(end.outcome, ending),
                ..end
            });
        }
    }
}

/// What was asked for here says why the provider ended the call.
fn outcome(outcome: CallOutcome, ending: Option<EndRequest>) -> CallOutcome {
    match (outcome, ending) {
        (_, Some(EndRequest::Drain)) => CallOutcome::Failed(FailureReason::Interrupted),
        (CallOutcome::Completed(TerminationReason::ApiHangup), Some(EndRequest::OutOfCredits)) => {
            CallOutcome::Completed(TerminationReason::AgentHangup)
        }
        (outcome, _) => outcome,
    }
}

/// Fetches the recording and keeps it. Without it the call is settled all the same.
async fn keep_recording(shared: &Shared, call: &Conversation, claim: ClaimId, credential: &str) {
    let recording = shared
        .legacy
        .recording(credential, CallHandle(call.id))
        .await;
    let bytes = match recording {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return,
        Err(error) => {
            tracing::warn!(%error, call = %call.id, "a recording could not be fetched");
            return;
        }
    };
    let kept = shared.recordings.keep(call.account_id, call.id, bytes);
    match kept.await {
        Ok(true) => {}
        // Its row is told of it once it is kept.
        Ok(false) => return,
        Err(error) => {
            tracing::error!(%error, call = %call.id, "a recording could not be kept");
            return;
        }
    }
    // The recording is whole before the row tells of it.
    let told = insist(|| shared.store.call_recorded(call.id, claim)).await;
    if let Err(error) = told {
        tracing::error!(%error, call = %call.id, "a recording could not be told of");
    }
}
