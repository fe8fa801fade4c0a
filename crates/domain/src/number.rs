//! Phone numbers that accounts call from.

use crate::agent::vocabulary;

vocabulary! {
    /// Who carries the calls of a number.
    NumberProvider {
        /// A SIP trunk.
        Sip => "sip",
        /// Twilio.
        Twilio => "twilio",
        /// The simulated network.
        Simulator => "simulator",
    }
}
