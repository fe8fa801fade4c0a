//! Phone numbers that accounts call from.

use crate::agent::vocabulary;

vocabulary! {
    /// Who carries the calls of a number (decision 6.6).
    NumberProvider {
        /// A SIP trunk.
        Sip => "sip",
        /// Twilio.
        Twilio => "twilio",
        /// The simulated network.
        Simulator => "simulator",
    }
}
