//! Webhooks: what becomes of endpoints and of what is sent to them.

use crate::agent::vocabulary;

vocabulary! {
    /// Whether an endpoint receives events.
    EndpointStatus {
        /// It does.
        Enabled => "enabled",
        /// It does not.
        Disabled => "disabled",
    }
}

vocabulary! {
    /// Where a delivery is on its schedule.
    DeliveryState {
        /// Not yet attempted.
        Pending => "pending",
        /// Failed, and will be attempted again.
        Retrying => "retrying",
        /// Received.
        Delivered => "delivered",
        /// Failed four times.
        Exhausted => "exhausted",
        /// Its endpoint was deleted or disabled.
        Cancelled => "cancelled",
    }
}

vocabulary! {
    /// What became of an attempt.
    AttemptOutcome {
        /// Begun.
        Begun => "begun",
        /// A 2xx head came in time.
        Succeeded => "succeeded",
        /// Anything else.
        Failed => "failed",
        /// Its process died; nobody knows.
        Abandoned => "abandoned",
    }
}
