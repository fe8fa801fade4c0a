//! The system's clock.

use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use offhook_domain::{Clock, Timestamp};

/// The clock of the machine: the only place that reads it.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the adapter of the system's clock"
        )]
        let now = SystemTime::now();
        let micros = now
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_micros());
        Timestamp::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
    }

    /// The machine's time when this was first asked, and what has passed since by the clock that nobody can turn.
    fn steady(&self) -> Timestamp {
        static BEGAN: LazyLock<(Timestamp, Instant)> =
            LazyLock::new(|| (SystemClock.now(), Instant::now()));
        BEGAN.0.plus(BEGAN.1.elapsed())
    }
}
