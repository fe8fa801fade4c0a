//! What the use cases refuse, in the interface's codes. Every conversion is exhaustive.

use offhook_domain::FieldError;
use offhook_services::ResourceError;
use offhook_services::objects::ObjectError;
use offhook_services::store::StoreError;
use offhook_services::{
    BatchError, ChatError, HangUpError, KnowledgeError, PlaceCallError, RecordingError, Refusal,
    TalkError,
};

use super::{ApiError, Code, STORE_RETRY_AFTER_S};

/// Seconds after which another request may find what this one was too early for.
const SOON_S: u64 = 1;

/// Seconds after which another process may have taken this one's place.
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

/// A fault in a body.
impl From<FieldError> for ApiError {
    fn from(fault: FieldError) -> Self {
        let message = fault.to_string();
        Self {
            fault: Some(Box::new(fault)),
            ..Code::InvalidBody.error(message)
        }
    }
}

impl From<ResourceError> for ApiError {
    fn from(error: ResourceError) -> Self {
        match error {
            ResourceError::NotFound => Self::not_found(),
            ResourceError::Invalid(fault) => fault.into(),
            ResourceError::Conflict(refusal) => conflict(refusal),
            ResourceError::UnsupportedRuntime(refusal) => refused(Code::UnsupportedRuntime, refusal),
            ResourceError::Upstream(who, cause) => upstream(who, cause),
            ResourceError::StillCancelling => Code::ServiceUnavailable.error("What was due when the endpoint was disabled is still being cancelled. Nothing was changed; try again \
                 in a moment.",
            )
            .retry_after(SOON_S),
            ResourceError::Store(error) => error.into(),
        }
    }
}

/// Files are out of reach, whatever was to be done with them.
impl From<ObjectError> for ApiError {
    fn from(error: ObjectError) -> Self {
        Code::ServiceUnavailable
            .error("The service cannot reach its files at the moment. Try again shortly.")
            .retry_after(STORE_RETRY_AFTER_S)
            .because(error)
    }
}

impl From<RecordingError> for ApiError {
    fn from(error: RecordingError) -> Self {
        match error {
            RecordingError::Store(error) => error.into(),
            RecordingError::Objects(error) => error.into(),
        }
    }
}

impl From<BatchError> for ApiError {
    fn from(error: BatchError) -> Self {
        match error {
            BatchError::NotFound => Self::not_found(),
            BatchError::Invalid(fault) => fault.into(),
            // What is true of a call is true of a batch.
            BatchError::PlanLimit => PlaceCallError::PlanLimit.into(),
            BatchError::Conflict(refusal) => conflict(refusal),
            BatchError::UnsupportedRuntime(refusal) => refused(Code::UnsupportedRuntime, refusal),
            BatchError::IdempotencyConflict => PlaceCallError::IdempotencyConflict.into(),
            BatchError::InFlight => PlaceCallError::InFlight.into(),
            BatchError::UnknownCommit => Code::ServiceUnavailable
                .error(
                    "The batch may have been written: a retry with the same Idempotency-Key tells.",
                )
                .retry_after(SOON_S)
                .because("the outcome of a commit is unknown"),
            BatchError::Store(error) => error.into(),
        }
    }
}

impl From<KnowledgeError> for ApiError {
    fn from(error: KnowledgeError) -> Self {
        match error {
            KnowledgeError::NotFound => Self::not_found(),
            KnowledgeError::Invalid(fault) => fault.into(),
            KnowledgeError::Conflict(refusal) => conflict(refusal),
            KnowledgeError::Store(error) => error.into(),
            KnowledgeError::Objects(error) => error.into(),
        }
    }
}

impl From<HangUpError> for ApiError {
    fn from(error: HangUpError) -> Self {
        match error {
            HangUpError::NotFound => Self::not_found(),
            HangUpError::Ended => conflict(Refusal::CallEnded),
            HangUpError::Elsewhere => conflict(Refusal::CallElsewhere),
            HangUpError::Store(error) => error.into(),
        }
    }
}

impl From<PlaceCallError> for ApiError {
    fn from(error: PlaceCallError) -> Self {
        match error {
            PlaceCallError::Invalid(fault) => fault.into(),
            PlaceCallError::PlanLimit => Code::PlanLimit.error("The account's plan holds no calls: choose one that does.",
            ),
            PlaceCallError::AgentNotFound => Code::AgentNotFound.error("`agent_id`: no agent of this account has this id",
            ),
            PlaceCallError::AgentDisabled(refusal) => refused(Code::AgentDisabled, refusal),
            PlaceCallError::IdempotencyConflict => Code::IdempotencyConflict.error("This Idempotency-Key was used with another body in the last 24 hours.",
            ),
            PlaceCallError::InFlight => {
                conflict(Refusal::InFlight).retry_after(SOON_S)
            }
            PlaceCallError::Conflict {
                refusal,
                retry_after_s,
            } => {
                let conflict = conflict(refusal);
                match retry_after_s {
                    Some(seconds) => conflict.retry_after(seconds),
                    None => conflict,
                }
            }
            PlaceCallError::PaymentRequired => Code::PaymentRequired.error("The account's credits do not cover this call.",
            ),
            PlaceCallError::KeyBudgetExhausted => Code::KeyBudgetExhausted.error("The monthly credit budget of this key does not cover this call.",
            ),
            PlaceCallError::UpstreamUnreachable => Code::UpstreamUnreachable.error("The phone network cannot be reached at the moment. Nothing was dialed.",
            )
            .because("the carrier is known to be down"),
            PlaceCallError::Stopping => Code::ServiceUnavailable.error("This process is being stopped and places no more calls. Nothing was placed; try again shortly.",
            )
            .retry_after(STOPPING_RETRY_AFTER_S)
            .because("the process is being stopped"),
            PlaceCallError::QueueFull => Code::ServiceUnavailable.error("Too many calls wait to be dialed. Nothing was placed; try again shortly.",
            )
            .retry_after(SOON_S)
            .because("the dial queue is full"),
            PlaceCallError::UnknownCommit => Code::ServiceUnavailable.error("The call may have been placed: a retry with the same Idempotency-Key tells.",
            )
            .retry_after(SOON_S)
            .because("the outcome of a commit is unknown"),
            PlaceCallError::Store(error) => error.into(),
        }
    }
}

impl From<ChatError> for ApiError {
    fn from(error: ChatError) -> Self {
        match error {
            ChatError::Invalid(fault) => fault.into(),
            ChatError::NotFound => Self::not_found(),
            ChatError::Origin => Self::foreign_page(),
            ChatError::Unauthorized => Code::Unauthorized.error("Send the session's token as `Authorization: Bearer <token>`. It opens its own session alone, for four \
                 hours.",
            ),
            ChatError::AgentDisabled(refusal) => refused(Code::AgentDisabled, refusal),
            ChatError::PlanLimit => Code::PlanLimit.error("The account's plan has no API, and so no widget.",
            ),
            ChatError::TooManySessions { retry_after_s } => Code::RateLimitExceeded.error("Too many sessions with this agent began in this minute.",
            )
            .retry_after(retry_after_s),
            ChatError::CapReached { retry_after_s } => Code::RateLimitExceeded.error("The widget's daily credits are used up, or held by conversations that are open. The next day begins at midnight UTC.",
            )
            .retry_after(retry_after_s),
            ChatError::PaymentRequired => Code::PaymentRequired.error("The account's credits do not cover an answer.",
            ),
            ChatError::Busy => {
                conflict(Refusal::BeingAnswered).retry_after(SOON_S)
            }
            ChatError::OtherText => Code::IdempotencyConflict.error("`message_id`: was used in this session for another text",
            ),
            ChatError::Ended => conflict(Refusal::SessionEnded),
            ChatError::NoReply => Code::UpstreamError.error("No model answered. The message is kept and nothing was charged; send it again with the same `message_id`.",
            )
            .because("no model answered a chat"),
            ChatError::Stopping => Code::ServiceUnavailable.error("This process is being stopped and begins nothing more. Nothing was changed; try again shortly.",
            )
            .retry_after(STOPPING_RETRY_AFTER_S)
            .because("the process is being stopped"),
            ChatError::UnknownCommit => Code::ServiceUnavailable.error("It may have been done: a retry with the same `message_id` tells.",
            )
            .retry_after(SOON_S)
            .because("the outcome of a commit is unknown"),
            ChatError::Store(error) => error.into(),
        }
    }
}

impl From<TalkError> for ApiError {
    fn from(error: TalkError) -> Self {
        match error {
            TalkError::Session(error) => error.into(),
            TalkError::LinesBusy => {
                conflict(Refusal::LinesBusy).retry_after(SOON_S)
            }
            TalkError::Speechless => conflict(Refusal::Speechless),
            TalkError::Closed { retry_after_s } => {
                let closed = conflict(Refusal::TalkOutsideHours);
                match retry_after_s {
                    Some(seconds) => closed.retry_after(seconds),
                    None => closed,
                }
            }
            TalkError::Full => Code::ServiceUnavailable.error("This process holds as many calls as it can. Nothing was changed; try again shortly.",
            )
            .retry_after(STOPPING_RETRY_AFTER_S)
            .because("this process holds as many calls as it can"),
        }
    }
}

fn conflict(refusal: Refusal) -> ApiError {
    refused(Code::Conflict, refusal)
}

fn refused(code: Code, refusal: Refusal) -> ApiError {
    let message = sentence(refusal.to_string());
    ApiError {
        refusal: Some(Box::new(refusal)),
        ..code.error(message)
    }
}

/// What another service did not do while the client waited; why is said in words of ours, which hold nothing of its answer.
/// What it has done although it did not say so nobody knows here.
fn upstream(who: &str, cause: String) -> ApiError {
    let message = format!("{who} did not do its part: {cause}. Nothing was changed here.");
    Code::UpstreamError.error(message).because(cause)
}

/// The rules speak in clauses; a message that begins with a field's path stays as it is.
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
        let closed = PlaceCallError::Conflict {
            refusal: Refusal::OutsideHours,
            retry_after_s: Some(3_600),
        };
        let closed = ApiError::from(closed);
        assert_eq!(closed.retry_after_s, Some(3_600));
        assert_eq!(closed.message, "Outside the agent's calling hours.");
        assert_eq!(
            ApiError::from(PlaceCallError::InFlight).retry_after_s,
            Some(1)
        );
        assert_eq!(ApiError::from(HangUpError::Ended).retry_after_s, None);
    }
}
