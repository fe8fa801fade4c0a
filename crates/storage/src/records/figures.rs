//! Counts over the whole deployment.

use std::time::Duration;

/// How much work waits. No count exceeds [`Backlog::COUNTED_AT_MOST`], so counting reads at most that many index
/// entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backlog {
    /// Calls that wait to be dialed.
    pub calls_queued: i64,
    /// Calls that are dialing, talking or closing.
    pub calls_live: i64,
    /// Deliveries whose first attempt is still to come.
    pub deliveries_pending: i64,
    /// Deliveries that failed and will be retried.
    pub deliveries_retrying: i64,
    /// How long the oldest due delivery has waited; zero if none is due.
    pub oldest_due: Duration,
    /// Batches that still have recipients to call.
    pub batches_waiting: i64,
    /// Documents that wait to be read.
    pub documents_waiting: i64,
    /// Documents that wait for their vectors.
    pub documents_to_embed: i64,
}

impl Backlog {
    /// Work beyond this is not counted.
    pub const COUNTED_AT_MOST: i64 = 100_000;
}
