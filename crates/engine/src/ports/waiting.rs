//! Calls that came in, and wait for somebody to answer.

use async_trait::async_trait;

use super::DialError;
use super::audio::AudioLeg;

/// The line of a call that came in and waits. Dropped, it is refused for now.
#[async_trait]
pub trait WaitingLine: Send {
    /// Tells the caller that it rings here.
    fn ring(&self);

    /// Answers.
    ///
    /// # Errors
    /// [`DialError::Refused`] if the call's sound cannot be carried, and the caller was told so; [`DialError::Unknown`] if
    /// nobody waits any more.
    async fn answer(self: Box<Self>) -> Result<AudioLeg, DialError>;

    /// Tells the caller why nobody answers.
    fn refuse(self: Box<Self>, why: NotAnswered);
}

/// Why nobody answers a call that came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotAnswered {
    /// Nobody has this number.
    UnknownNumber,
    /// Nobody serves it now: no agent, one that does not serve, or it is outside the agent's calling hours.
    Unavailable,
    /// The account's lines are taken, or its wallet does not cover a call.
    Busy,
    /// This process takes no calls now: it is being stopped, is full, or its database does not answer.
    Later,
}

impl NotAnswered {
    /// Its name among the figures.
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
