//! Spoken conversations of web pages: begun over a page's connection, which is the session, held like calls that come in.

mod begin;
mod listeners;
mod talk;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use offhook_domain::{AccountId, AgentConfig};
use parking_lot::Mutex;

use crate::calls::{Hours, opening};
use crate::error::{Result, UseCaseError};
use crate::{Refusal, Shared};

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

/// The conversations of pages here, by account and address.
pub(crate) type Addresses = Mutex<HashMap<(AccountId, IpAddr), u32>>;

/// One of them; dropping it takes it off.
struct FromAddress {
    shared: Arc<Shared>,
    of: (AccountId, IpAddr),
}

impl FromAddress {
    /// `None` if there are `most` of this address.
    fn take(shared: &Arc<Shared>, of: (AccountId, IpAddr), most: u32) -> Option<Self> {
        let mut addresses = shared.talkers.lock();
        let open = addresses.entry(of).or_default();
        if *open >= most {
            return None;
        }
        *open += 1;
        let shared = shared.clone();
        Some(Self { shared, of })
    }
}

impl Drop for FromAddress {
    fn drop(&mut self) {
        let mut addresses = self.shared.talkers.lock();
        if let Some(open) = addresses.get_mut(&self.of) {
            *open -= 1;
            if *open == 0 {
                addresses.remove(&self.of);
            }
        }
    }
}

impl Shared {
    /// Whether the agent can be talked to on a page now.
    ///
    /// # Errors
    /// [`UseCaseError::Conflict`] says why not.
    pub(crate) fn may_talk(&self, config: &AgentConfig) -> Result<()> {
        if !self.can_speak(config) {
            return Err(UseCaseError::Conflict(Refusal::Speechless));
        }
        let Some(hours) = &config.conversation.calling_hours else {
            return Ok(());
        };
        let closed = |opens_in| Err(UseCaseError::Conflict(Refusal::TalkOutsideHours(opens_in)));
        match opening(hours, self.clock.now()) {
            Hours::Open => Ok(()),
            Hours::ClosedFor(seconds) => closed(Some(seconds)),
            Hours::Never => closed(None),
        }
    }
}
