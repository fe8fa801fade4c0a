//! Calls over Twilio. Its REST API places and ends calls, signed callbacks report their progress, and a WebSocket
//! opened by Twilio carries their audio.
//!
//! This crate has no server: the HTTP server passes callbacks and messages to the [`TwilioCarrier`], which implements
//! the engine's [`CarrierCallbacks`](offhook_engine::ports::callbacks::CarrierDoor). Only the process that placed a call knows
//! about it, so Twilio gets the URL of exactly that process.

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

/// The path prefix under which Twilio reaches this process.
pub const CALLBACK_PATH: &str = "/callbacks/twilio";

// Unit and integration tests share one binary; the integration tests use the public API only.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
