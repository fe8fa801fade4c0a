//! Errors of use cases.

use offhook_objects::ObjectError;

use crate::prelude::*;

/// Why a use case failed. Nothing was written, except perhaps after [`UseCaseError::UnknownCommit`]. Texts are
/// sentences for the client.
#[derive(Debug, thiserror::Error)]
pub enum UseCaseError {
    /// The account has no such resource, or the agent has no widget.
    #[error("no such resource")]
    NotFound,
    #[error("{0}")]
    Invalid(#[from] FieldError),
    /// The state of the resource or the account forbids it.
    #[error("{0}")]
    Conflict(Refusal),
    /// The operation does not exist for the agent's runtime.
    #[error("{0}")]
    UnsupportedRuntime(Refusal),
    /// The agent takes no conversations now.
    #[error("{0}")]
    AgentDisabled(Refusal),
    /// The account has no agent of the name in the body.
    #[error("no agent of this account has that id")]
    AgentNotFound,
    /// The account's plan does not include it.
    #[error("{0}")]
    PlanLimit(Refusal),
    #[error("the wallet does not cover {0}")]
    PaymentRequired(&'static str),
    #[error("the key's monthly credit budget cannot cover the call")]
    KeyBudgetExhausted,
    /// The limit is reached, for this many seconds.
    #[error("{0}")]
    RateLimited(Refusal, u64),
    #[error("the Idempotency-Key was used with another body")]
    IdempotencyConflict,
    #[error("the message's id was used for another text")]
    OtherText,
    /// The widget does not list the page's origin, or the session has another origin.
    #[error("the page may not talk to this agent")]
    Origin,
    /// The token is unknown or expired.
    #[error("the session's token is not valid")]
    Unauthorized,
    /// Another service failed while the client waited. It may have acted without confirming it.
    #[error("{0}")]
    Upstream(Refusal),
    #[error("the carrier cannot be reached")]
    UpstreamUnreachable,
    /// No model answered. The customer's message is stored, and the answer is not charged.
    #[error("no model answered")]
    NoReply,
    /// This process is being stopped and starts nothing new.
    #[error("{0}")]
    Stopping(&'static str),
    #[error("this process holds as many calls as it can")]
    Full,
    #[error("too many calls wait to be dialed")]
    QueueFull,
    /// Deliveries due when the endpoint was disabled are still being cancelled; a later retry succeeds.
    #[error("what was due when the endpoint was disabled is still being cancelled")]
    StillCancelling,
    /// The connection broke during the COMMIT. A retry tells what happened.
    #[error("{0}")]
    UnknownCommit(&'static str),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Objects(#[from] ObjectError),
}

impl UseCaseError {
    /// For a change that found its row, or did not.
    pub(crate) const fn unless_found(is_found: bool) -> Result<()> {
        if is_found {
            Ok(())
        } else {
            Err(Self::NotFound)
        }
    }

    /// For a write that can be retried under the same key; `doubt` is the message if its outcome is unknown.
    pub(crate) fn of_write<E: Into<Self>>(doubt: &'static str) -> impl FnOnce(E) -> Self {
        move |error| match error.into() {
            Self::Store(StoreError::UnknownCommit(_)) => Self::UnknownCommit(doubt),
            other => other,
        }
    }
}

impl TxError for UseCaseError {
    fn into_store(self) -> Result<StoreError, Self> {
        match self {
            Self::Store(error) => Ok(error),
            refusal => Err(refusal),
        }
    }
}

pub(crate) type Result<T, E = UseCaseError> = std::result::Result<T, E>;

/// Why input of an operator or a member was refused.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// A value is wrong, or the state of the account forbids it; the sentence says which.
    #[error("{0}")]
    Invalid(String),
    #[error("{0}")]
    Secret(#[from] SecretFault),
    #[error(transparent)]
    Store(#[from] StoreError),
}

messages! {
/// What is wrong with a secret of several parts.
pub enum SecretFault {
    WhatsApp =>
        "the secret must be a JSON object with `access_token`, `app_secret`, `verify_token` and `phone_numbers`",
        "el secreto debe ser un objeto JSON con `access_token`, `app_secret`, `verify_token` y `phone_numbers`";
    Llm => "the secret must be a JSON object with `origin` and `api_key`",
        "el secreto debe ser un objeto JSON con `origin` y `api_key`";
    OpenAi => "the secret must be the key, or a JSON object with `api_key` and `base_url`",
        "el secreto debe ser la clave, o un objeto JSON con `api_key` y `base_url`";
    Field(error: FieldError) => "{error}", "{error}";
}}
