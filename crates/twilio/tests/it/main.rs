//! Calls over Twilio, against a service that speaks as Twilio does.

mod calls;
mod desk;
mod faults;
mod numbers;
mod told;
