//! The end of a call at its provider: in whose words, and what is kept of its sound.

use std::sync::Arc;
use std::time::Duration;

use offhook_domain::{CallOutcome, ClaimId, FailureReason, TerminationReason};
use offhook_engine::EndRequest;
use offhook_engine::legacy::{LegacyError, LegacyReference};
use offhook_storage::Conversation;
use tokio::time::sleep;

use super::super::record::insist;
use crate::Shared;

/// The waits before a recording that did not come is asked for again.
const FETCH_RETRIES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];

pub(super) const fn failed(reason: FailureReason) -> CallOutcome {
    CallOutcome::Failed(reason)
}

/// What was asked for here says why the provider ended the call.
pub(super) fn outcome(outcome: CallOutcome, ending: Option<EndRequest>) -> CallOutcome {
    match (outcome, ending) {
        (_, Some(EndRequest::Drain)) => failed(FailureReason::Interrupted),
        (CallOutcome::Completed(TerminationReason::ApiHangup), Some(EndRequest::OutOfCredits)) => {
            CallOutcome::Completed(TerminationReason::AgentHangup)
        }
        (outcome, _) => outcome,
    }
}

/// Fetches the recording and keeps it. Without it the call is settled all the same.
pub(super) async fn keep_recording(
    shared: &Arc<Shared>,
    call: &Conversation,
    claim: ClaimId,
    (credential, reference): (&str, &LegacyReference),
) {
    let bytes = match fetch(shared, credential, reference).await {
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

/// To read it again does no harm.
async fn fetch(
    shared: &Shared,
    credential: &str,
    reference: &LegacyReference,
) -> Result<Option<Vec<u8>>, LegacyError> {
    let mut retries = FETCH_RETRIES.into_iter();
    loop {
        let error = match shared.legacy.recording(credential, reference).await {
            Ok(recording) => return Ok(recording),
            Err(error @ LegacyError::Refused(_)) => return Err(error),
            Err(error) => error,
        };
        match retries.next() {
            Some(wait) => sleep(wait).await,
            None => return Err(error),
        }
    }
}
