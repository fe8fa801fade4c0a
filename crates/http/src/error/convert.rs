//! Maps the errors of the use cases to the API's codes. Every conversion is exhaustive.

use offhook_domain::FieldError;
use offhook_services::objects::ObjectError;
use offhook_services::store::StoreError;
use offhook_services::{Refusal, UseCaseError};

use super::{ApiError, Code, STORE_RETRY_AFTER_S};

/// Seconds after which a retry may succeed, where the request came too early.
const SOON_S: u64 = 1;

/// Seconds after which another process may have replaced this one.
const STOPPING_RETRY_AFTER_S: u64 = 5;

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(_) | StoreError::Locked => Self::database_unavailable(error),
            StoreError::UnknownCommit(_) => Code::ServiceUnavailable.error("The change may have been made: the connection to the database broke while it was being written.",
            )
            .retry_after(STORE_RETRY_AFTER_S)
            .because(error),
            StoreError::Url(_)
            | StoreError::Conflict(_)
            | StoreError::Corrupt(_)
            | StoreError::Internal(_) => Self::internal(error),
        }
    }
}

impl From<FieldError> for ApiError {
    fn from(fault: FieldError) -> Self {
        let message = fault.to_string();
        Self {
            fault: Some(Box::new(fault)),
            ..Code::InvalidBody.error(message)
        }
    }
}

impl From<UseCaseError> for ApiError {
    fn from(error: UseCaseError) -> Self {
        match error {
            UseCaseError::NotFound => Self::not_found(),
            UseCaseError::Invalid(fault) => fault.into(),
            UseCaseError::Conflict(refusal) => refused(Code::Conflict, refusal),
            UseCaseError::UnsupportedRuntime(refusal) => refused(Code::UnsupportedRuntime, refusal),
            UseCaseError::AgentDisabled(refusal) => refused(Code::AgentDisabled, refusal),
            UseCaseError::AgentNotFound => Code::AgentNotFound
                .error("`agent_id`: no agent of this account has this id"),
            UseCaseError::PlanLimit(refusal) => refused(Code::PlanLimit, refusal),
            UseCaseError::PaymentRequired(what) => Code::PaymentRequired
                .error(format!("The account's credits do not cover {what}.")),
            UseCaseError::KeyBudgetExhausted => Code::KeyBudgetExhausted
                .error("The monthly credit budget of this key does not cover this call."),
            UseCaseError::RateLimited(refusal, seconds) => {
                refused(Code::RateLimitExceeded, refusal).retry_after(seconds)
            }
            UseCaseError::IdempotencyConflict => Code::IdempotencyConflict
                .error("This Idempotency-Key was used with another body in the last 24 hours."),
            UseCaseError::OtherText => Code::IdempotencyConflict
                .error("`message_id`: was used in this session for another text"),
            UseCaseError::Origin => Self::foreign_page(),
            UseCaseError::Unauthorized => Code::Unauthorized.error(
                "Send the session's token as `Authorization: Bearer <token>`. It opens its own session alone, for four \
                 hours.",
            ),
            UseCaseError::Upstream(refusal) => {
                let cause = refusal.to_string();
                refused(Code::UpstreamError, refusal).because(cause)
            }
            UseCaseError::UpstreamUnreachable => Code::UpstreamUnreachable
                .error("The phone network cannot be reached at the moment. Nothing was dialed.")
                .because("the carrier is known to be down"),
            UseCaseError::NoReply => Code::UpstreamError
                .error(
                    "No model answered. The message is kept and nothing was charged; send it again with the same \
                     `message_id`.",
                )
                .because("no model answered a chat"),
            UseCaseError::Stopping(message) => Code::ServiceUnavailable
                .error(message)
                .retry_after(STOPPING_RETRY_AFTER_S)
                .because("the process is being stopped"),
            UseCaseError::Full => Code::ServiceUnavailable
                .error(
                    "This process holds as many calls as it can. Nothing was changed; try again shortly.",
                )
                .retry_after(STOPPING_RETRY_AFTER_S)
                .because("this process holds as many calls as it can"),
            UseCaseError::QueueFull => Code::ServiceUnavailable
                .error("Too many calls wait to be dialed. Nothing was placed; try again shortly.")
                .retry_after(SOON_S)
                .because("the dial queue is full"),
            UseCaseError::StillCancelling => Code::ServiceUnavailable
                .error(
                    "What was due when the endpoint was disabled is still being cancelled. Nothing was changed; try \
                     again in a moment.",
                )
                .retry_after(SOON_S),
            UseCaseError::UnknownCommit(message) => Code::ServiceUnavailable
                .error(message)
                .retry_after(SOON_S)
                .because("the outcome of a commit is unknown"),
            UseCaseError::Store(error) => error.into(),
            UseCaseError::Objects(error) => error.into(),
        }
    }
}

/// The object storage is unreachable, whatever the operation.
impl From<ObjectError> for ApiError {
    fn from(error: ObjectError) -> Self {
        Code::ServiceUnavailable
            .error("The service cannot reach its files at the moment. Try again shortly.")
            .retry_after(STORE_RETRY_AFTER_S)
            .because(error)
    }
}

fn refused(code: Code, refusal: Refusal) -> ApiError {
    let message = sentence(refusal.to_string());
    ApiError {
        retry_after_s: refusal.retry_after_s(),
        refusal: Some(Box::new(refusal)),
        ..code.error(message)
    }
}

/// The rules write clauses, which become sentences. A message that begins with a field's path stays unchanged.
fn sentence(clause: String) -> String {
    let mut letters = clause.chars();
    let Some(first) = letters.next().filter(|first| first.is_lowercase()) else {
        return clause;
    };
    let stop = if clause.ends_with('.') { "" } else { "." };
    format!("{}{}{stop}", first.to_uppercase(), letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_503_with_retry_after_and_a_fault_of_ours_is_500() {
        let outage = ApiError::from(StoreError::Unavailable("gone".to_owned()));
        assert_eq!(outage.code(), Code::ServiceUnavailable);
        assert_eq!(outage.retry_after_s, Some(STORE_RETRY_AFTER_S));
        let fault = ApiError::from(StoreError::Corrupt("row 7".to_owned()));
        assert_eq!(fault.code(), Code::InternalError);
        assert!(!fault.message.contains("row 7"));
        assert!(fault.cause.is_some_and(|cause| cause.contains("row 7")));
    }

    #[test]
    fn a_conflict_carries_retry_after_exactly_when_waiting_cures_it() {
        let conflict = |refusal| ApiError::from(UseCaseError::Conflict(refusal));
        let closed = conflict(Refusal::OutsideHours(3_600));
        assert_eq!(closed.retry_after_s, Some(3_600));
        assert_eq!(closed.message, "Outside the agent's calling hours.");
        assert_eq!(conflict(Refusal::InFlight).retry_after_s, Some(1));
        assert_eq!(conflict(Refusal::CallEnded).retry_after_s, None);
    }
}
