//! Calls over Twilio, against a fake of Twilio.

// Tells clippy that test helpers are tests.
#![cfg(test)]

mod callbacks;
mod calls;
mod desk;
mod faults;
mod numbers;
mod own;
mod placing;
