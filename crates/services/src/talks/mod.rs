//! Spoken conversations with web pages. A page's connection starts one and is its session; it runs like an incoming
//! call.

mod begin;
mod listeners;
mod talk;

use std::net::IpAddr;

use parking_lot::Mutex;

use crate::calls::{Hours, opening};
use crate::error::Result;
use crate::prelude::*;

pub(crate) use begin::Waiting;
pub(crate) use listeners::Listeners;
pub use talk::{Talk, TalkEvent};

/// The sample rate of the audio that pages send and receive: mono, 16 bit, little-endian.
pub const TALK_RATE: u32 = offhook_browser::WIRE_RATE;

/// Bytes of an audio frame from a page at most.
pub const TALK_FRAME_BYTES: usize = offhook_browser::MOST_FRAME_BYTES;

/// Seconds of credits that a conversation reserves when it begins. Each further minute is reserved while it lasts, so that the
/// first visitor does not reserve all of a widget's daily credits.
pub(crate) const HELD_SECONDS: i64 = 60;

#[derive(Clone)]
pub struct Talks(pub(crate) Arc<Runner>, pub(crate) Arc<Addresses>);

/// The number of page conversations here, by account and IP address.
pub(crate) type Addresses = Mutex<HashMap<(AccountId, IpAddr), u32>>;

/// One of them; dropping it removes it from the count.
struct FromAddress {
    talkers: Arc<Addresses>,
    of: (AccountId, IpAddr),
}

impl FromAddress {
    /// `None` if this address already has `most`.
    fn count(talkers: &Arc<Addresses>, of: (AccountId, IpAddr), most: u32) -> Option<Self> {
        let mut addresses = talkers.lock();
        let open = addresses.entry(of).or_default();
        if *open >= most {
            return None;
        }
        *open += 1;
        let talkers = talkers.clone();
        Some(Self { talkers, of })
    }
}

impl Drop for FromAddress {
    fn drop(&mut self) {
        let mut addresses = self.talkers.lock();
        if let Some(open) = addresses.get_mut(&self.of) {
            *open -= 1;
            if *open == 0 {
                addresses.remove(&self.of);
            }
        }
    }
}

impl Runner {
    /// Whether a page can talk to the agent now; the error says why not.
    pub(crate) fn may_talk(&self, providers: &Providers, config: &AgentConfig) -> Result<()> {
        if !providers.can_speak(config) {
            return Err(UseCaseError::Conflict(Refusal::SpeechUnavailable));
        }
        let hours = some_or!(&config.conversation.calling_hours, ());
        let closed = |opens_in| Err(UseCaseError::Conflict(Refusal::TalkOutsideHours(opens_in)));
        match opening(hours, self.clock.now()) {
            Hours::Open => Ok(()),
            Hours::ClosedFor(seconds) => closed(Some(seconds)),
            Hours::Never => closed(None),
        }
    }
}
