//! Webhook delivery: claim, guard against private targets, send, retry on schedule.
//!
//! Events and their deliveries are rows that were committed with the change that caused them. A [`Dispatcher`] claims
//! due deliveries in a short transaction, sends them with no transaction open, and records the results in batches. A
//! claim is a lease with a fence: when a process dies, its attempts are made again by another under a new id.

mod cancelling;
mod dispatcher;
mod lanes;
mod recorder;
mod schedule;
pub mod sender;
mod worker;

pub use dispatcher::{
    DISABLED_AFTER, DISABLED_AT, DispatchConfig, Dispatcher, MAX_IN_FLIGHT, RETRY_OFFSETS,
};

// Tests of the parts and from outside are one binary; the latter use the library as everybody does.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
