//! The guard against private targets.

// Tells clippy that test helpers are tests.
#![cfg(test)]

mod addresses;
mod client;
mod dialing;
mod resolving;
mod targets;
