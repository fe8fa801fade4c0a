//! Integrations with other applications.

use crate::agent::vocabulary;

vocabulary! {
    /// How an account stands to a toolkit of the catalog.
    IntegrationStatus {
        /// Offered, and never connected.
        Available => "available",
        /// The connecting has begun.
        Connecting => "connecting",
        /// Connected.
        Active => "active",
        /// The application no longer takes the authorization.
        Expired => "expired",
        /// Connecting it failed, or the last use.
        Error => "error",
        /// Once connected, and taken back.
        Disconnected => "disconnected",
    }
}

vocabulary! {
    /// What a toolkit is for.
    IntegrationCategory {
        /// Events and free hours.
        Calendar => "calendar",
        /// Contacts and deals.
        Crm => "crm",
    }
}
