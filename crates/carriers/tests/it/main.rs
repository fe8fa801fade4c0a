//! The simulated network: its numbers, its capacity, and the same network as a separate process.

// Tells clippy that test helpers are tests.
#![cfg(test)]

mod calls;
mod lines;
mod load;
mod magic;
mod remote;
