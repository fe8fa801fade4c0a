//! The outcome of a call that ended at its provider.

use offhook_domain::{CallOutcome, FailureReason, TerminationReason};
use offhook_engine::EndRequest;

pub(super) const fn failed(reason: FailureReason) -> CallOutcome {
    CallOutcome::Failed(reason)
}

/// A request made here explains why the provider ended the call.
pub(super) fn outcome(outcome: CallOutcome, ending: Option<EndRequest>) -> CallOutcome {
    match (outcome, ending) {
        (_, Some(EndRequest::Drain)) => failed(FailureReason::Interrupted),
        (CallOutcome::Completed(TerminationReason::ApiHangup), Some(EndRequest::OutOfCredits)) => {
            CallOutcome::Completed(TerminationReason::AgentHangup)
        }
        (outcome, _) => outcome,
    }
}
