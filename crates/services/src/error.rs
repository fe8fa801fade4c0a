//! Why use cases do not do what they are asked for.

use offhook_domain::FieldError;
use offhook_objects::ObjectError;
use offhook_storage::StoreError;

use crate::Refusal;

/// Why nothing became of what a use case was asked for. Nothing was written, save perhaps in
/// [`UseCaseError::UnknownCommit`]. A text is the sentence for the client.
#[derive(Debug, thiserror::Error)]
pub enum UseCaseError {
    /// The account has no such resource, or an agent no widget.
    #[error("no such resource")]
    NotFound,
    /// A body field is wrong.
    #[error("{0}")]
    Invalid(#[from] FieldError),
    /// The state of the resource or the account forbids it.
    #[error("{0}")]
    Conflict(Refusal),
    /// The operation does not exist for the agent's runtime.
    #[error("{0}")]
    UnsupportedRuntime(Refusal),
    /// The agent does not serve now.
    #[error("{0}")]
    AgentDisabled(Refusal),
    /// The account has no agent of the name in the body.
    #[error("no agent of this account has that id")]
    AgentNotFound,
    /// The account's plan does not hold it.
    #[error("{0}")]
    PlanLimit(&'static str),
    /// The wallet does not cover this.
    #[error("the wallet does not cover {0}")]
    PaymentRequired(&'static str),
    /// The key's monthly budget does not.
    #[error("the key's monthly credit budget cannot cover the call")]
    KeyBudgetExhausted,
    /// As much as may be, for so many seconds.
    #[error("{0}")]
    RateLimited(&'static str, u64),
    /// The Idempotency-Key was used with another body.
    #[error("the Idempotency-Key was used with another body")]
    IdempotencyConflict,
    /// The message's id was used for another text.
    #[error("the message's id was used for another text")]
    OtherText,
    /// The page's origin is none that the widget names, or not the session's.
    #[error("the page may not talk to this agent")]
    Origin,
    /// The token opens no session, or no longer.
    #[error("the session's token is not valid")]
    Unauthorized,
    /// Another service did not do its part: which one, and why.
    #[error("{1}")]
    Upstream(&'static str, String),
    /// The carrier is known to be down.
    #[error("the carrier cannot be reached")]
    UpstreamUnreachable,
    /// No model answered. The customer's words are kept, and the answer is not charged.
    #[error("no model answered")]
    NoReply,
    /// This process is being stopped, and leaves what is new to others.
    #[error("{0}")]
    Stopping(&'static str),
    /// This process holds as many calls as it can.
    #[error("this process holds as many calls as it can")]
    Full,
    /// Too many calls wait already.
    #[error("too many calls wait to be dialed")]
    QueueFull,
    /// What was due when the endpoint was disabled is being cancelled: waiting cures it.
    #[error("what was due when the endpoint was disabled is still being cancelled")]
    StillCancelling,
    /// The connection broke during the COMMIT of what a retry tells of.
    #[error("{0}")]
    UnknownCommit(&'static str),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Files are out of reach.
    #[error(transparent)]
    Objects(#[from] ObjectError),
}

impl UseCaseError {
    /// Of a write that can be asked for again under the same key; `doubt` says so where its outcome is not known.
    pub(crate) fn of_write(doubt: &'static str) -> impl FnOnce(StoreError) -> Self {
        move |error| match error {
            StoreError::UnknownCommit(_) => Self::UnknownCommit(doubt),
            other => Self::Store(other),
        }
    }
}

pub(crate) type Result<T, E = UseCaseError> = std::result::Result<T, E>;

/// Why what an operator or a member gave was not taken.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// A value is wrong, or the state of the account forbids it; the sentence says which.
    #[error("{0}")]
    Invalid(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
