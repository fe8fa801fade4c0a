//! Spoken conversations of web pages: begun over a page's connection, which is the session, held like calls that come in.

mod begin;
mod listeners;
mod talk;

use std::sync::Arc;

use offhook_domain::AgentConfig;
use offhook_storage::StoreError;

use crate::calls::{Hours, opening};
use crate::{ChatError, Shared};

pub(crate) use listeners::Listeners;
pub use talk::{Talk, TalkEvent};

/// Samples per second of the sound that pages send and are sent: mono, 16 bit, little-endian.
pub const TALK_RATE: u32 = offhook_browser::WIRE_RATE;

/// Bytes that a frame of a page's sound may have.
pub const TALK_FRAME_BYTES: usize = offhook_browser::MOST_FRAME_BYTES;

/// Seconds whose price a conversation holds when it begins; each further minute is held while it lasts, so that a widget's
/// credits of a day are not all held by whoever talks first.
pub(crate) const HELD_SECONDS: i64 = 60;

/// Spoken conversations.
#[derive(Clone)]
pub struct Talks(pub(crate) Arc<Shared>);

/// Why a spoken conversation was not begun. Nothing was written, save perhaps in [`ChatError::UnknownCommit`].
#[derive(Debug, thiserror::Error)]
pub enum TalkError {
    /// A rule of every session of a widget.
    #[error(transparent)]
    Session(#[from] ChatError),
    /// The account has as many calls as its plan allows.
    #[error("the account's lines are taken")]
    LinesBusy,
    /// No recogniser or no voice can be had for the agent.
    #[error("the agent cannot be talked to")]
    Speechless,
    /// It is outside the agent's calling hours.
    #[error("it is outside the agent's hours")]
    Closed {
        /// Seconds to the opening; `None` if no day of the week opens.
        retry_after_s: Option<u64>,
    },
    /// This process holds as many calls as it can.
    #[error("this process holds as many calls as it can")]
    Full,
}

impl From<StoreError> for TalkError {
    fn from(error: StoreError) -> Self {
        Self::Session(error.into())
    }
}

impl Shared {
    /// Whether the agent can be talked to on a page now.
    ///
    /// # Errors
    /// [`TalkError::Speechless`], [`TalkError::Closed`].
    pub(crate) fn may_talk(&self, config: &AgentConfig) -> Result<(), TalkError> {
        if !self.can_speak(config) {
            return Err(TalkError::Speechless);
        }
        let Some(hours) = &config.conversation.calling_hours else {
            return Ok(());
        };
        match opening(hours, self.clock.now()) {
            Hours::Open => Ok(()),
            Hours::ClosedFor(seconds) => Err(TalkError::Closed {
                retry_after_s: Some(seconds),
            }),
            Hours::Never => Err(TalkError::Closed {
                retry_after_s: None,
            }),
        }
    }
}
