//! Whose credentials an account may store (decision 9).

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::agent::vocabulary;

vocabulary! {
    /// Where an account's credential opens a door. Only what something reads can be stored.
    CredentialProvider {
        /// The provider of the legacy agents.
        Legacy => "legacy",
        /// The simulated phone network.
        Simulator => "simulator",
    }
}
