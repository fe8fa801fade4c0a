//! A clock that only a test moves.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use offhook_domain::{Clock, Timestamp};

/// A clock that only a test moves. Clones show the same time.
#[derive(Debug, Clone)]
pub struct ManualClock {
    shown: Arc<AtomicI64>,
    /// The total of all steps, in microseconds.
    stepped: Arc<AtomicI64>,
}

impl ManualClock {
    /// The time of [`ManualClock::default`]: 2026-04-30T18:32:11.123456Z.
    pub const START: Timestamp = Timestamp::from_micros(1_777_573_931_123_456);

    /// A clock that shows `now`.
    pub fn at(now: Timestamp) -> Self {
        Self {
            shown: Arc::new(AtomicI64::new(now.micros())),
            stepped: Arc::default(),
        }
    }

    /// Moves the clock forward and returns its new time.
    pub fn advance(&self, by: Duration) -> Timestamp {
        let now = self.now().plus(by);
        self.set(now);
        now
    }

    /// Sets the clock to `now`, forward or backward.
    pub fn set(&self, now: Timestamp) {
        self.shown.store(now.micros(), Ordering::SeqCst);
    }

    /// Steps the clock by `micros`, as an administrator or a time server does: no time has passed.
    pub fn step(&self, micros: i64) {
        self.stepped.fetch_add(micros, Ordering::SeqCst);
        self.shown.fetch_add(micros, Ordering::SeqCst);
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::at(Self::START)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.shown.load(Ordering::SeqCst))
    }

    fn steady(&self) -> Timestamp {
        let stepped = self.stepped.load(Ordering::SeqCst);
        Timestamp::from_micros(self.now().micros() - stepped)
    }
}
