//! Whether this process counts requests in the same Redis as the other processes on its database.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

/// The name of the Redis that a process counts in, if currently known.
pub(crate) type RedisName = Option<Arc<str>>;

/// A Redis that comes back empty has a new name, and processes notice it at different times. They may differ for this
/// long.
const APART_FOR: Duration = Duration::from_secs(25);

/// The Redis that this process counts in, compared with the others'.
#[derive(Default)]
pub(crate) struct RedisMembership {
    pub(crate) has_redis: bool,
    pub(crate) files_are_shared: bool,
    redis: OnceLock<watch::Receiver<RedisName>>,
    standing: Mutex<Standing>,
}

#[derive(Debug, Default, Clone, Copy)]
enum Standing {
    /// It has never known both its own Redis and the others'.
    #[default]
    Unknown,
    /// The same Redis as the processes before it.
    Together,
    /// A different Redis since then.
    Since(Instant),
    /// A different Redis from the start.
    Apart,
}

impl RedisMembership {
    pub(crate) fn new(has_redis: bool, files_are_shared: bool) -> Self {
        Self {
            has_redis,
            files_are_shared,
            ..Self::default()
        }
    }

    /// Whether other processes may run beside this one: they count requests together, and each reads the files of the
    /// others. A process that shares less gives way to those that share everything, and does not disturb those that
    /// started before it.
    pub(crate) const fn shares_everything(&self) -> bool {
        self.has_redis && self.files_are_shared
    }

    pub(crate) fn count_in(&self, redis: watch::Receiver<RedisName>) {
        // A process has one Redis all its life.
        let _ = self.redis.set(redis);
    }

    pub(crate) fn redis(&self) -> Option<watch::Receiver<RedisName>> {
        self.redis.get().cloned()
    }

    pub(crate) fn name(&self) -> RedisName {
        self.redis.get().and_then(|redis| redis.borrow().clone())
    }

    /// Records the database's response when this process reported the name of its Redis.
    pub(crate) fn note(&self, is_apart: bool, at: Instant) {
        let mut standing = self.standing.lock();
        *standing = match (*standing, is_apart) {
            (_, false) => Standing::Together,
            (Standing::Unknown, true) => Standing::Apart,
            (Standing::Together, true) => Standing::Since(at),
            (apart, true) => apart,
        };
    }

    /// Whether this process has shared its limits with no other for long enough.
    pub(crate) fn is_apart(&self, at: Instant) -> bool {
        match *self.standing.lock() {
            Standing::Unknown | Standing::Together => false,
            Standing::Since(since) => at.duration_since(since) >= APART_FOR,
            Standing::Apart => true,
        }
    }
}

/// Waits until the name changes; forever without a Redis.
pub(crate) async fn renamed(redis: &mut Option<watch::Receiver<RedisName>>) {
    if let Some(redis) = redis
        && redis.changed().await.is_ok()
    {
        return;
    }
    std::future::pending().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_process_is_apart_at_once_and_one_that_counted_with_the_others_after_a_while() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let new = RedisMembership::default();
        assert!(!new.is_apart(start));
        new.note(true, start);
        assert!(new.is_apart(start));
        new.note(false, start);
        assert!(!new.is_apart(start));

        new.note(true, start + second);
        new.note(true, start + 11 * second);
        assert!(!new.is_apart(start + 25 * second));
        assert!(new.is_apart(start + 26 * second));
        new.note(false, start + 27 * second);
        new.note(true, start + 28 * second);
        assert!(!new.is_apart(start + 29 * second));
    }
}
