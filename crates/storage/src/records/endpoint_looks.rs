//! What the page of an endpoint shows beside it.

use offhook_domain::{EndpointId, EventType, Timestamp};

use crate::{Delivery, DeliveryState};

/// How an endpoint fares.
#[derive(Debug, Clone)]
pub struct EndpointHealth {
    /// The endpoint.
    pub endpoint: EndpointId,
    /// Since when it has failed without a success in between.
    pub failing_since: Option<Timestamp>,
    /// The deliveries that were given up since.
    pub exhausted_count: i32,
    /// What was sent to it last.
    pub newest: Option<Delivery>,
}

/// What of an endpoint's deliveries a list shows.
#[derive(Debug, Clone, Copy, Default)]
pub struct EndpointDeliveryFilter {
    /// Only in this state.
    pub state: Option<DeliveryState>,
    /// Only of this event type.
    pub kind: Option<EventType>,
}
