//! The simulated network: its numbers, its size, and that a process of its own is the same network.

mod calls;
#[cfg(test)]
mod lines;
mod load;
mod magic;
mod remote;
