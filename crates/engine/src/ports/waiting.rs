//! Incoming calls that wait for an answer.

use async_trait::async_trait;

use super::DialError;
use super::audio::AudioLeg;

/// The line of an incoming call that waits. Dropping it rejects the call for now.
#[async_trait]
pub trait WaitingLine: Send {
    /// Signals ringing to the caller.
    fn ring(&self);

    /// Answers the call. Returns [`DialError::Refused`] if the call's sound cannot be carried, which the caller's side
    /// has learned; [`DialError::Unknown`] if the caller is gone.
    async fn answer(self: Box<Self>) -> Result<AudioLeg, DialError>;

    /// Rejects the call with a reason.
    fn refuse(self: Box<Self>, why: NotAnswered);
}

/// Why an incoming call is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotAnswered {
    /// The number is not assigned.
    UnknownNumber,
    /// No agent serves the number now: there is none, it is disabled, or it is outside its calling hours.
    Unavailable,
    /// The account has no free line, or its wallet does not cover a call.
    Busy,
    /// This process takes no calls now: it is shutting down, is full, or its database does not answer.
    Later,
}

impl NotAnswered {
    /// The label of the metric.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnknownNumber => "unknown_number",
            Self::Unavailable => "unavailable",
            Self::Busy => "busy",
            Self::Later => "later",
        }
    }
}
