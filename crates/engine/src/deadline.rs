//! Deadlines that include the time for which the machine is suspended (a closed lid, a migrated virtual machine).
//! [`Instant`] stands still meanwhile, while other machines go on.

use std::time::Duration;

use tokio::time::Instant;

/// A moment whose elapsed time includes the time for which the machine is suspended.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    at: Instant,
    /// How long the machine had been suspended since boot, in microseconds.
    asleep: i64,
}

impl Moment {
    #[must_use]
    pub fn now() -> Self {
        Self {
            at: Instant::now(),
            asleep: asleep(),
        }
    }

    /// The time passed since this moment, including suspension.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        let asleep = u64::try_from(asleep() - self.asleep).unwrap_or(0);
        self.at.elapsed() + Duration::from_micros(asleep)
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    since: Moment,
    limit: Duration,
}

impl Deadline {
    #[must_use]
    pub const fn after(since: Moment, limit: Duration) -> Self {
        Self { since, limit }
    }

    /// The time left; 0 once the deadline has passed.
    #[must_use]
    pub fn left(&self) -> Duration {
        self.limit.saturating_sub(self.since.elapsed())
    }

    #[must_use]
    pub fn is_over(&self) -> bool {
        self.left().is_zero()
    }
}

/// How long the machine has been suspended since boot, in microseconds: the difference of Linux's two monotonic clocks,
/// of which only `CLOCK_BOOTTIME` counts suspension.
#[cfg(target_os = "linux")]
fn asleep() -> i64 {
    use rustix::time::{ClockId, Timespec, clock_gettime};
    let micros = |time: Timespec| time.tv_sec * 1_000_000 + time.tv_nsec / 1_000;
    let awake = micros(clock_gettime(ClockId::Monotonic));
    micros(clock_gettime(ClockId::Boottime)) - awake
}

/// Other systems have no clock that counts suspension.
#[cfg(not(target_os = "linux"))]
const fn asleep() -> i64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_deadline_passes_while_the_machine_is_suspended() {
        let deadline = Deadline::after(Moment::now(), 10 * SECOND);
        tokio::time::advance(4 * SECOND).await;
        assert!(!deadline.is_over() && deadline.left() <= 6 * SECOND);
        // Simulates a suspension of one minute.
        let mut slept = deadline;
        slept.since.asleep -= 60_000_000;
        // The suspended time is the difference of two clocks, and a busy machine may read them some time apart.
        assert!(slept.since.elapsed() >= 63 * SECOND && slept.is_over());
        tokio::time::advance(6 * SECOND).await;
        assert!(deadline.is_over());
    }
}
