//! Calls over SIP trunks, on `rsipstack`: signalling, and a carrier whose calls have sound.
//!
//! [`SipTrunks`] listens, calls by a trunk ([`SipTrunks::call`]) and hands out the calls that come in ([`Incoming`]).
//! Session descriptions go in and come out as text; [`SipCarrier`] joins them to sound. Of each call one task decides: it turns
//! what the stack tells into [`SipEvent`]s, keeps the times that are ours ([`Timers`]), ends the call in whatever state
//! it is, and takes its dialog out of the stack.
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

// Tests of the parts and from outside are one binary; the latter use the library as everybody does.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
