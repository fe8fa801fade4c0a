//! Calls over SIP trunks, on `rsipstack`: signaling, and a carrier whose calls have audio.
//!
//! [`SipTrunks`] listens, places calls through a trunk ([`SipTrunks::call`]) and returns incoming calls ([`Incoming`]).
//! Session descriptions are text here; [`SipCarrier`] connects them with audio. One task per call makes all decisions:
//! it turns the stack's reports into [`SipEvent`]s, applies our [`Timers`], ends the call in whatever state it is, and
//! removes its dialog from the stack.
#![warn(missing_docs)]

mod call;
mod carrier;
mod challenge;
mod dialog;
mod digest;
mod endpoint;
mod gate;
mod health;
mod inbound;
mod listen;
mod outbound;
mod outcome;
mod reach;
mod saved;
mod settings;
mod trunk;

pub use call::{CallControl, Reply, SipCall, SipEvent, TransferError};
pub use carrier::{AnswerError, SipCarrier, SoundSettings};
pub use endpoint::{CallError, Invite, SipTrunks};
pub use health::NoAnswer;
pub use inbound::{Incoming, Refusal};
pub use listen::StartError;
pub use outcome::{Failure, failure_reason};
pub use saved::EndError;
pub use settings::{Listen, SipSettings, Timers, Transport};
pub use trunk::{SettingsError, Trunk, TrunkSettings};

// Unit and integration tests share one binary; the integration tests use the public API only.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
