//! The simulated network: its numbers, its size, and that a process of its own is the same network.

// It tells clippy that helpers of tests are tests.
#![cfg(test)]

mod calls;
mod lines;
mod load;
mod magic;
mod remote;
