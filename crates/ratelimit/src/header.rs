//! Times in whole seconds for response headers, rounded so that a client that waits is admitted.

const SECOND_US: i64 = 1_000_000;

/// `X-RateLimit-Reset`: the Unix second, rounded up, at which the next token is whole.
#[must_use]
pub fn reset_unix_seconds(next_us: i64) -> i64 {
    next_us.div_euclid(SECOND_US) + i64::from(next_us.rem_euclid(SECOND_US) != 0)
}

/// `Retry-After`: the seconds from `now_us` to `next_us`, rounded up, at least 1.
#[must_use]
pub fn retry_after_seconds(next_us: i64, now_us: i64) -> u64 {
    let wait_us = u64::try_from(next_us.saturating_sub(now_us)).unwrap_or(0);
    wait_us.div_ceil(SECOND_US.unsigned_abs()).max(1)
}
