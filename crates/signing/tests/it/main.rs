//! Tests signing and verifying through the public API.

mod receivers;
mod secret;
mod signature;
mod vectors;
