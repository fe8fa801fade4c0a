//! Calls over Twilio: its REST interface places and ends them, signed callbacks tell what becomes of them, and a WebSocket
//! that Twilio opens carries their sound.
//!
//! There is no server here: whoever serves HTTP hands callbacks and messages to the [`TwilioCarrier`], which is the
//! engine's [`CarrierDoor`](offhook_engine::ports::door::CarrierDoor). All that is known of a call is in the process that
//! placed it, so Twilio is told an address of that very process.

mod call;
mod carrier;
mod client;
mod echoes;
mod inbox;
mod incoming;
mod line;
mod login;
mod party;
mod queue;
mod settings;
mod signature;
mod status;
mod stream;

pub use carrier::TwilioCarrier;
pub use client::{TwilioClient, TwilioError};
pub use login::Login;
pub use settings::{SettingsError, TwilioSettings};
pub use signature::Signatures;
pub use status::{CallStatus, failure_of_code, failure_of_status};

/// The path beneath which Twilio reaches this process.
pub const CALLBACK_PATH: &str = "/callbacks/twilio";

// Tests of the parts and from outside are one binary; the latter use the library as everybody does.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
