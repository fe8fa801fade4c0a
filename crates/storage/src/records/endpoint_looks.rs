//! What the page of an endpoint shows in addition to it.

use crate::prelude::*;

/// The health of an endpoint.
#[derive(Debug, Clone)]
pub struct EndpointHealth {
    pub endpoint: EndpointId,
    /// Since when it has failed without a success in between.
    pub failing_since: Option<Timestamp>,
    /// The deliveries that were given up since.
    pub exhausted_count: i32,
    /// The newest delivery to it.
    pub newest: Option<Delivery>,
}

/// Which of an endpoint's deliveries a list shows.
#[derive(Debug, Clone, Copy, Default)]
pub struct EndpointDeliveryFilter {
    pub state: Option<DeliveryState>,
    pub kind: Option<EventType>,
}
