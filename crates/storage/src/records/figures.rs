//! What is counted of the whole deployment.

use std::time::Duration;

/// How much work waits. No count goes beyond [`Backlog::COUNTED_AT_MOST`]: counting costs no more than that many entries
/// of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backlog {
    /// Calls that wait to be dialed.
    pub calls_queued: i64,
    /// Calls that are dialed, talk or close.
    pub calls_live: i64,
    /// Deliveries whose first attempt is to come.
    pub deliveries_pending: i64,
    /// Deliveries that failed and are tried again.
    pub deliveries_retrying: i64,
    /// How long the delivery that has been due longest has waited; zero if none is due.
    pub oldest_due: Duration,
    /// Batches with somebody still to call.
    pub batches_waiting: i64,
    /// Documents that wait to be read.
    pub documents_waiting: i64,
    /// Documents that wait for their vectors.
    pub documents_to_embed: i64,
}

impl Backlog {
    /// What waits beyond this is not counted.
    pub const COUNTED_AT_MOST: i64 = 100_000;
}
