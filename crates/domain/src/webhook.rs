//! Webhooks: the statuses of endpoints, deliveries and attempts.

use crate::agent::vocabulary;

vocabulary! {
    /// Whether an endpoint receives events.
    EndpointStatus {
        /// It receives events.
        Enabled => "enabled",
        /// It receives no events.
        Disabled => "disabled",
    }
}

vocabulary! {
    /// The state of a delivery.
    DeliveryState {
        /// Not yet attempted.
        Pending => "pending",
        /// Failed; another attempt follows.
        Retrying => "retrying",
        /// Delivered successfully.
        Delivered => "delivered",
        /// All four attempts failed.
        Exhausted => "exhausted",
        /// Its endpoint was deleted or disabled.
        Cancelled => "cancelled",
    }
}

vocabulary! {
    /// The outcome of an attempt.
    AttemptOutcome {
        /// Started.
        Begun => "begun",
        /// A 2xx response head came in time.
        Succeeded => "succeeded",
        /// Any other result.
        Failed => "failed",
        /// Its process died; the result is unknown.
        Abandoned => "abandoned",
    }
}
