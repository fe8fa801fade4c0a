#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

pub mod client_ip;
pub mod gcra;
pub mod header;
mod key;
mod limiter;
mod memory;
#[cfg(feature = "redis")]
mod redis;
pub mod window;

pub use gcra::{Decision, Quota};
pub use key::{IPV6_PREFIX_BITS, Key, Space};
pub use limiter::{Limiter, Timed, Unavailable};
pub use memory::{BucketAndWindow, EXACT_KEYS, MemoryStore};
#[cfg(feature = "redis")]
pub use redis::{AboutRedis, InvalidUrl, RedisFault, RedisStore};
pub use window::WindowDecision;

/// The minute that every quota and window here is counted over, in microseconds.
pub const MINUTE_US: i64 = 60_000_000;

/// The largest limit per minute. With it a full bucket refills within 61 s even though the time per token is rounded
/// up to a microsecond, so a bucket untouched for 61 s is full.
pub const MAX_PER_MINUTE: u32 = 1_000_000;

// Tests of the parts and from outside are one binary; the latter use the library as everybody does.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
