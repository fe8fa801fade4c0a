//! Calls over Twilio, against a service that speaks as Twilio does.

// It tells clippy that helpers of tests are tests.
#![cfg(test)]

mod calls;
mod desk;
mod faults;
mod numbers;
mod own;
mod placing;
mod told;
