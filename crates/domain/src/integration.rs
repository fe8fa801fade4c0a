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
        /// Connecting or using it failed.
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
        /// Messages to people.
        Communication => "communication",
        /// Contacts and deals.
        Crm => "crm",
        /// Shops and orders.
        Ecommerce => "ecommerce",
        /// Campaigns and mailing lists.
        Marketing => "marketing",
        /// Invoices and money.
        Payments => "payments",
        /// Tasks, notes and projects.
        Productivity => "productivity",
        /// Tables of data.
        Spreadsheets => "spreadsheets",
        /// Files.
        Storage => "storage",
        /// Tickets of customers.
        Support => "support",
    }
}
