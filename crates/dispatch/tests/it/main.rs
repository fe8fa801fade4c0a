//! Webhook delivery.

// Tells clippy that test helpers are tests.
#![cfg(test)]

mod changes;
mod connections;
mod dispatcher;
mod hook;
mod receiver;
mod sender;
mod world;
