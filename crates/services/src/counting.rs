//! Whether this process counts requests in the same Redis as the others on its database.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::Services;

/// The name of the Redis that a process counts in, as far as it is known at present.
pub(crate) type RedisName = Option<Arc<str>>;

/// A Redis that comes back empty has another name, and each process tells it in its own time: for so long they may
/// differ.
const APART_FOR: Duration = Duration::from_secs(25);

/// Where this process counts.
#[derive(Default)]
pub(crate) struct Counting {
    redis: OnceLock<watch::Receiver<RedisName>>,
    standing: Mutex<Standing>,
}

#[derive(Debug, Default, Clone, Copy)]
enum Standing {
    /// It has never known its own Redis and the others'.
    #[default]
    Unknown,
    /// As those that were there before it.
    Together,
    /// No more, since then.
    Since(Instant),
    /// It never was.
    Apart,
}

impl Services {
    /// Has this process say to the others on its database in which Redis it counts: by a name that is kept there.
    pub fn counts_in(&self, redis: watch::Receiver<Option<Arc<str>>>) {
        // There is one Redis in a process's life.
        let _ = self.shared.counting.redis.set(redis);
    }
}

impl Counting {
    pub(crate) fn redis(&self) -> Option<watch::Receiver<RedisName>> {
        self.redis.get().cloned()
    }

    pub(crate) fn name(&self) -> RedisName {
        self.redis.get().and_then(|redis| redis.borrow().clone())
    }

    /// Takes in what the database has said, when this process told it the name of its Redis.
    pub(crate) fn note(&self, is_apart: bool, at: Instant) {
        let mut standing = self.standing.lock();
        *standing = match (*standing, is_apart) {
            (_, false) => Standing::Together,
            (Standing::Unknown, true) => Standing::Apart,
            (Standing::Together, true) => Standing::Since(at),
            (apart, true) => apart,
        };
    }

    /// Whether this process shares its limits with nobody, and has for long enough.
    pub(crate) fn is_apart(&self, at: Instant) -> bool {
        match *self.standing.lock() {
            Standing::Unknown | Standing::Together => false,
            Standing::Since(since) => at.duration_since(since) >= APART_FOR,
            Standing::Apart => true,
        }
    }
}

/// Waits until the name changes; for ever without a Redis.
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
        let new = Counting::default();
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
