//! Signing and verifying as senders and receivers see them.

mod receivers;
mod secret;
mod signature;
mod vectors;
