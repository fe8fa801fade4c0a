//! The fixed window: a maximum of admitted requests in each Unix minute.
//!
//! Only admitted requests count. Windows do not overlap, so a client may send its whole allowance at the end of one
//! minute and again at the start of the next.
//!
//! The state is one integer, so that a store keeps it like a bucket's state: the window's first Unix microsecond plus
//! the number of requests admitted in it. (A count never reaches the 60,000,000 microseconds of a window.)

use crate::header;
use crate::{MAX_PER_MINUTE, MINUTE_US};

/// A window's decision about one request, and its state afterward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowDecision {
    /// Whether the request was admitted, and so counted.
    pub allowed: bool,
    /// Requests that this window will still admit.
    pub remaining: u32,
    /// The first Unix microsecond of the next window.
    pub ends_us: i64,
    /// The window's new state. A refusal changes nothing, so a store only needs to save the state after an admitted
    /// request.
    pub state: i64,
}

impl WindowDecision {
    /// `Retry-After` of a refused request: the seconds to the next window, 1 to 60.
    #[must_use]
    pub fn retry_after_seconds(&self, now_us: i64) -> u64 {
        header::retry_after_seconds(self.ends_us, now_us)
    }
}

/// Counts a request in the Unix minute that contains `now_us`, if fewer than `limit` were admitted in it.
///
/// A `limit` of 0 refuses everything; above [`MAX_PER_MINUTE`] it counts as that. A state from a later minute (the
/// clock was ahead when it was made) counts in the current one, which can only refuse more.
#[must_use]
pub fn decide(state: Option<i64>, limit: u32, now_us: i64) -> WindowDecision {
    let start = start_of(now_us);
    let before = state
        .filter(|&state| state >= start)
        .map_or(0, |state| state.rem_euclid(MINUTE_US));
    let allowed = before < bounded(limit);
    let state = start.saturating_add(before + i64::from(allowed));
    describe(allowed, state, limit, now_us)
}

/// The effective limit.
pub(crate) fn bounded(limit: u32) -> i64 {
    i64::from(limit.min(MAX_PER_MINUTE))
}

/// The answer of a window whose state after the answer is `state`.
pub(crate) fn describe(allowed: bool, state: i64, limit: u32, now_us: i64) -> WindowDecision {
    let start = start_of(now_us);
    let admitted = state.saturating_sub(start);
    WindowDecision {
        allowed,
        remaining: u32::try_from(bounded(limit).saturating_sub(admitted)).unwrap_or(0),
        ends_us: start.saturating_add(MINUTE_US),
        state,
    }
}

fn start_of(now_us: i64) -> i64 {
    now_us.saturating_sub(now_us.rem_euclid(MINUTE_US))
}
