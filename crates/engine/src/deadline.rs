//! Deadlines of a machine that may be suspended meanwhile, by a closed lid or by whoever moves a virtual one: its clock for
//! waits, [`Instant`], stands still then, and other machines go on.

use std::time::Duration;

use tokio::time::Instant;

/// A moment from which time is counted on while the machine is suspended.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    at: Instant,
    /// How long the machine had been suspended since it started, in microseconds.
    asleep: i64,
}

impl Moment {
    /// The present.
    #[must_use]
    pub fn now() -> Self {
        Self {
            at: Instant::now(),
            asleep: asleep(),
        }
    }

    /// What has passed since, the time for which the machine was suspended included.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        let asleep = u64::try_from(asleep() - self.asleep).unwrap_or(0);
        self.at.elapsed() + Duration::from_micros(asleep)
    }
}

/// Until when something may be done.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    since: Moment,
    limit: Duration,
}

impl Deadline {
    /// So long after that moment.
    #[must_use]
    pub const fn after(since: Moment, limit: Duration) -> Self {
        Self { since, limit }
    }

    /// What is left; 0 if it is over.
    #[must_use]
    pub fn left(&self) -> Duration {
        self.limit.saturating_sub(self.since.elapsed())
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.left().is_zero()
    }
}

/// How long the machine has been suspended since it started, in microseconds: by Linux's two monotonic clocks, of which one
/// counts that.
#[cfg(target_os = "linux")]
fn asleep() -> i64 {
    use rustix::time::{ClockId, Timespec, clock_gettime};
    let micros = |time: Timespec| time.tv_sec * 1_000_000 + time.tv_nsec / 1_000;
    let awake = micros(clock_gettime(ClockId::Monotonic));
    micros(clock_gettime(ClockId::Boottime)) - awake
}

/// Elsewhere the clock for waits is all that there is.
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
        // As if the machine had slept for a minute since.
        let mut slept = deadline;
        slept.since.asleep -= 60_000_000;
        // What it slept is a difference of two clocks, which a busy machine reads some time apart.
        assert!(slept.since.elapsed() >= 63 * SECOND && slept.is_over());
        tokio::time::advance(6 * SECOND).await;
        assert!(deadline.is_over());
    }
}
