//! Members of an account's team.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::agent::vocabulary;

vocabulary! {
    /// What a member may do (decision 6.9).
    MemberRole {
        /// Whose account it is.
        Owner => "owner",
        /// Everything but giving the account away.
        Admin => "admin",
        /// Builds agents.
        Developer => "developer",
        /// Only looks.
        Viewer => "viewer",
    }
}
