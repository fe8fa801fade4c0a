//! Why use cases do not do what they are asked for, where several share the reasons.

use offhook_domain::FieldError;
use offhook_storage::StoreError;

use crate::Refusal;

/// Why nothing became of an operation on an agent, a phone number, a tool or a webhook.
#[derive(Debug, thiserror::Error)]
pub enum ResourceError {
    /// The account has no such resource.
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
    /// Another service did not do its part: which one, and why.
    #[error("{1}")]
    Upstream(&'static str, String),
    /// What was due when the endpoint was disabled is being cancelled: waiting cures it.
    #[error("what was due when the endpoint was disabled is still being cancelled")]
    StillCancelling,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

pub(crate) type Result<T, E = ResourceError> = std::result::Result<T, E>;

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
