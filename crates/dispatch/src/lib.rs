//! Webhook delivery: claim, guard against private targets, send, retry on schedule.
//!
//! Events and their deliveries are rows, committed with the change that caused them. A [`Dispatcher`] claims due
//! deliveries in a short transaction, sends them with no transaction open, and records the results in batches. A claim
//! is a lease with a fence: when a process dies, another repeats its attempts under new ids.

mod cancelling;
mod dispatcher;
mod lanes;
mod recorder;
mod schedule;
pub mod sender;
mod worker;

pub use dispatcher::{DISABLED_AFTER, DISABLED_AT, DispatchConfig, Dispatcher, MAX_IN_FLIGHT};
pub use schedule::RETRY_OFFSETS;

// Unit and integration tests are one binary; the latter use only the public API.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
