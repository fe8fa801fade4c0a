//! Integrations with other applications.

use crate::agent::vocabulary;

vocabulary! {
    /// The status of an account's integration with a toolkit of the catalog.
    IntegrationStatus {
        /// Available, never connected.
        Available => "available",
        /// The connection was started.
        Connecting => "connecting",
        /// Connected.
        Active => "active",
        /// The application no longer accepts the authorization.
        Expired => "expired",
        /// The connection or its last use failed.
        Error => "error",
        /// Disconnected after a connection.
        Disconnected => "disconnected",
    }
}

vocabulary! {
    /// The category of a toolkit.
    IntegrationCategory {
        /// Events and free times.
        Calendar => "calendar",
        /// Contacts and deals.
        Crm => "crm",
    }
}
