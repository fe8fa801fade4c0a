//! The simulated network: its numbers, its size, and that a process of its own is the same network.

mod calls;
mod lines;
mod load;
mod magic;
mod remote;
