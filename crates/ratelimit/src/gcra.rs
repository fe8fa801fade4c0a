//! The token bucket, stored as one instant (GCRA).
//!
//! A bucket of `limit` tokens gets one every `interval_us` = ⌈60 s / limit⌉ microseconds. Its whole state is
//! `tat_us`, the Unix microsecond at which it is full again; a bucket without state is full. Every function here is a
//! pure function of that state, the quota and the time, so that every store decides alike.

use crate::header;
use crate::{MAX_PER_MINUTE, MINUTE_US};

/// How many requests a bucket admits: `limit` at once, then one every [`Quota::interval_us`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Quota {
    limit: u32,
    interval_us: i64,
}

impl Quota {
    /// `limit` requests per minute.
    ///
    /// # Panics
    ///
    /// If `limit` is 0 or above [`MAX_PER_MINUTE`]; use [`Quota::checked_per_minute`] for limits from outside.
    #[must_use]
    pub const fn per_minute(limit: u32) -> Self {
        match Self::checked_per_minute(limit) {
            Some(quota) => quota,
            None => panic!("a limit per minute is from 1 to 1,000,000"),
        }
    }

    /// `limit` requests per minute, or `None` if `limit` is 0 or above [`MAX_PER_MINUTE`].
    #[must_use]
    pub const fn checked_per_minute(limit: u32) -> Option<Self> {
        if limit == 0 || limit > MAX_PER_MINUTE {
            return None;
        }
        let limit_us = limit as i64;
        Some(Self {
            limit,
            interval_us: (MINUTE_US + limit_us - 1) / limit_us,
        })
    }

    /// The tokens in a full bucket.
    #[must_use]
    pub const fn limit(self) -> u32 {
        self.limit
    }

    /// Microseconds from one token to the next: 60 s / limit, rounded up.
    #[must_use]
    pub const fn interval_us(self) -> i64 {
        self.interval_us
    }

    /// Microseconds from an empty bucket to a full one: at most 61 s.
    #[must_use]
    pub const fn refill_us(self) -> i64 {
        self.interval_us * self.limit as i64
    }
}

/// A bucket's decision about one request, and its state afterward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Whether the request got a token.
    pub allowed: bool,
    /// The tokens of a full bucket: `X-RateLimit-Limit`.
    pub limit: u32,
    /// Whole tokens left after this request: `X-RateLimit-Remaining`. 0 if the request is refused.
    pub remaining: u32,
    /// The Unix microsecond at which the next token is whole; the current one if the bucket is full.
    pub next_us: i64,
    /// The bucket's new state: the Unix microsecond at which it is full again. A refusal changes nothing, so a store
    /// only needs to save the state after an admitted request.
    pub tat_us: i64,
}

impl Decision {
    /// `X-RateLimit-Reset`: see [`header::reset_unix_seconds`].
    #[must_use]
    pub fn reset_unix_seconds(&self) -> i64 {
        header::reset_unix_seconds(self.next_us)
    }

    /// `Retry-After` of a refused request: see [`header::retry_after_seconds`].
    #[must_use]
    pub fn retry_after_seconds(&self, now_us: i64) -> u64 {
        header::retry_after_seconds(self.next_us, now_us)
    }
}

/// Takes a token from the bucket with state `tat_us`, if it holds one at `now_us`.
///
/// A state further ahead than an empty bucket's is read as an empty bucket. So a clock that was once ahead, or a
/// changed quota, costs at most one refill.
#[must_use]
pub fn decide(tat_us: Option<i64>, quota: Quota, now_us: i64) -> Decision {
    let backlog = backlog_us(tat_us, quota, now_us);
    let after = backlog + quota.interval_us;
    if after <= quota.refill_us() {
        describe(true, after, quota, now_us)
    } else {
        describe(false, backlog, quota, now_us)
    }
}

/// Returns the bucket with state `tat_us` without taking a token: `allowed` says whether [`decide`] would admit.
#[must_use]
pub fn peek(tat_us: Option<i64>, quota: Quota, now_us: i64) -> Decision {
    let backlog = backlog_us(tat_us, quota, now_us);
    describe(
        backlog + quota.interval_us <= quota.refill_us(),
        backlog,
        quota,
        now_us,
    )
}

/// How long the bucket needs to be full: from 0 (full) to `refill_us` (empty).
fn backlog_us(tat_us: Option<i64>, quota: Quota, now_us: i64) -> i64 {
    tat_us.map_or(0, |tat| {
        tat.saturating_sub(now_us).clamp(0, quota.refill_us())
    })
}

/// The decision of a bucket that needs `backlog_us` to be full, from 0 to `refill_us`.
pub(crate) fn describe(allowed: bool, backlog_us: i64, quota: Quota, now_us: i64) -> Decision {
    let missing = (backlog_us + quota.interval_us - 1) / quota.interval_us;
    let until_next = backlog_us - (missing - 1).max(0) * quota.interval_us;
    Decision {
        allowed,
        limit: quota.limit,
        remaining: quota
            .limit
            .saturating_sub(u32::try_from(missing).unwrap_or(u32::MAX)),
        next_us: now_us.saturating_add(until_next),
        tat_us: now_us.saturating_add(backlog_us),
    }
}
