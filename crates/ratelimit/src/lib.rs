#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod answer;
pub mod client_ip;
pub mod gcra;
pub mod header;
mod key;
mod limiter;
mod memory;
#[cfg(feature = "redis")]
mod redis;
pub mod window;

pub use answer::{Timed, Unavailable};
pub use gcra::{Decision, Quota};
pub use key::{IPV6_PREFIX_BITS, Key, Space};
pub use limiter::Limiter;
pub use memory::{BucketAndWindow, EXACT_KEYS, MemoryStore};
#[cfg(feature = "redis")]
pub use redis::{AboutRedis, InvalidUrl, RedisFault, RedisStore};
pub use window::WindowDecision;

/// The length in microseconds of the minute that every quota and window covers.
pub const MINUTE_US: i64 = 60_000_000;

/// The largest limit per minute. With it a full bucket refills within 61 s, although the time per token is rounded up
/// to a microsecond. So a bucket that was unused for 61 s is full.
pub const MAX_PER_MINUTE: u32 = 1_000_000;

// Unit tests and the tests in `tests/it` are one binary. The latter only use the public API.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
