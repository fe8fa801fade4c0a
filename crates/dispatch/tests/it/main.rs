//! Webhook delivery.

// It tells clippy that helpers of tests are tests.
#![cfg(test)]

mod changes;
mod connections;
mod dispatcher;
mod hook;
mod receiver;
mod sender;
mod world;
