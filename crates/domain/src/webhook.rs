//! Webhooks: the types of events, and the statuses of endpoints, deliveries and attempts.

use std::str::FromStr;

use crate::agent::{UnknownWord, vocabulary, word_set};

vocabulary! {
    /// The types of webhook events.
    EventType {
        /// A call was started through `POST /v1/calls`.
        CallInitiated => "call.initiated",
        /// A call ended normally.
        CallCompleted => "call.completed",
        /// A call ended with an error or was not answered.
        CallFailed => "call.failed",
        /// The month's cost or the balance has passed a threshold of the account.
        BillingThreshold => "billing.threshold",
        /// A customer asked not to be called again.
        ContactOptedOut => "contact.opted_out",
        /// Every recipient of a campaign has been called.
        CampaignCompleted => "campaign.completed",
        /// A campaign starts no more calls until it resumes.
        CampaignPaused => "campaign.paused",
    }
}

impl EventType {
    /// The types that an endpoint receives unless it chooses: exactly these, also when there are more types.
    pub const BY_DEFAULT: &[Self] = &[Self::CallInitiated, Self::CallCompleted, Self::CallFailed];
}

word_set! {
    /// A set of event types, in the documented order.
    EventTypes of EventType
}

impl EventTypes {
    /// Returns what an endpoint receives that has chosen nothing.
    #[must_use]
    pub fn by_default() -> Self {
        EventType::BY_DEFAULT.iter().copied().collect()
    }
}

impl FromStr for EventTypes {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        text.split(',').map(str::parse).collect()
    }
}

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
