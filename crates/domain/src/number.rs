//! The phone numbers of accounts.

use crate::agent::vocabulary;

vocabulary! {
    /// The carrier of a number.
    NumberProvider {
        /// A SIP trunk.
        Sip => "sip",
        /// Twilio.
        Twilio => "twilio",
        /// The simulated network.
        Simulator => "simulator",
    }
}
