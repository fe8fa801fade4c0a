//! The engine's rules, with a fake network and fake models, in paused time.

// Tells clippy that test helpers are tests.
#![cfg(test)]

mod chat;
mod dialogue;
mod extraction;
mod fakes;
mod guard;
mod knowledge;
mod load;
mod long;
mod phone;
mod session;
mod spoken;
mod summary;
mod tools;
mod waiting;
