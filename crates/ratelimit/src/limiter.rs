//! One limiter over any store.

use crate::answer::{Result, Timed};
use crate::gcra::{Decision, Quota};
use crate::key::Key;
use crate::memory::{BucketAndWindow, MemoryStore};
#[cfg(feature = "redis")]
use crate::redis::RedisStore;
use crate::window::WindowDecision;

/// Counts clients in this process, or in a Redis that several processes share. The rules are the same.
#[derive(Debug)]
pub enum Limiter {
    /// One process counts for itself. This store is always reachable.
    Memory(MemoryStore),
    /// Several processes count together.
    #[cfg(feature = "redis")]
    Redis(RedisStore),
}

impl Limiter {
    /// Takes a token from the bucket of `key`, if it holds one: see [`MemoryStore::take`]. `now_us` is the caller's
    /// time, for a store without a clock of its own.
    ///
    /// # Errors
    /// [`Unavailable`]: the store did not answer in time. It may have taken the token.
    pub async fn take(&self, key: Key, quota: Quota, now_us: i64) -> Result<Timed<Decision>> {
        match self {
            Self::Memory(store) => Ok(Timed::at(now_us, store.take(key, quota, now_us))),
            #[cfg(feature = "redis")]
            Self::Redis(store) => store.take(key, quota).await,
        }
    }

    /// Counts a request in the current Unix minute of `key`: see [`MemoryStore::take_window`].
    ///
    /// # Errors
    /// As [`Limiter::take`].
    pub async fn take_window(
        &self,
        key: Key,
        limit: u32,
        now_us: i64,
    ) -> Result<Timed<WindowDecision>> {
        match self {
            Self::Memory(store) => Ok(Timed::at(now_us, store.take_window(key, limit, now_us))),
            #[cfg(feature = "redis")]
            Self::Redis(store) => store.take_window(key, limit).await,
        }
    }

    /// Takes a token and counts a request in one step: see [`MemoryStore::take_bucket_and_window`].
    ///
    /// # Errors
    /// As [`Limiter::take`].
    pub async fn take_bucket_and_window(
        &self,
        key: Key,
        quota: Quota,
        limit: u32,
        now_us: i64,
    ) -> Result<Timed<BucketAndWindow>> {
        match self {
            Self::Memory(store) => {
                let both = store.take_bucket_and_window(key, quota, limit, now_us);
                Ok(Timed::at(now_us, both))
            }
            #[cfg(feature = "redis")]
            Self::Redis(store) => store.take_bucket_and_window(key, quota, limit).await,
        }
    }

    /// Whether requests can be counted: `false` while a shared store is unreachable.
    #[must_use]
    pub fn is_reachable(&self) -> bool {
        match self {
            Self::Memory(_) => true,
            #[cfg(feature = "redis")]
            Self::Redis(store) => store.is_reachable(),
        }
    }
}
