//! The guard against private targets.

// It tells clippy that helpers of tests are tests.
#![cfg(test)]

mod addresses;
mod client;
mod dialing;
mod resolving;
mod targets;
