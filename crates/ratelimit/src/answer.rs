//! What the stores answer.

use std::fmt;

use crate::gcra::Decision;
use crate::memory::BucketAndWindow;
use crate::window::WindowDecision;

/// An answer and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timed<T> {
    /// The store's answer.
    pub answer: T,
    /// The Unix microsecond of the answer, by the clock of the answer's times: the caller's for a store in memory,
    /// the server's for Redis.
    pub now_us: i64,
}

/// The store is unreachable or too slow. The request cannot be counted, so it must not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unavailable;

pub(crate) type Result<T, E = Unavailable> = std::result::Result<T, E>;

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the store of the rate limits is out of reach")
    }
}

impl std::error::Error for Unavailable {}

impl<T> Timed<T> {
    pub(crate) const fn at(now_us: i64, answer: T) -> Self {
        Self { answer, now_us }
    }
}

impl Timed<Decision> {
    /// `Retry-After` of a refused request, in seconds.
    #[must_use]
    pub fn retry_after_seconds(&self) -> u64 {
        self.answer.retry_after_seconds(self.now_us)
    }
}

impl Timed<WindowDecision> {
    /// `Retry-After` of a refused request, 1 to 60 seconds.
    #[must_use]
    pub fn retry_after_seconds(&self) -> u64 {
        self.answer.retry_after_seconds(self.now_us)
    }
}

impl Timed<BucketAndWindow> {
    /// `Retry-After` of a refused request: seconds until the bucket or window that refused may admit again.
    #[must_use]
    pub fn retry_after_seconds(&self) -> u64 {
        self.answer.retry_after_seconds(self.now_us)
    }
}
