//! A time that never runs backward.

use crate::MINUTE_US;

/// Turns a clock that may step into a time that only goes forward.
///
/// It would be enough to stand still until the clock has caught up, but a clock once set a day ahead and then
/// corrected would refuse every client for a day. So whole minutes of a step back are absorbed. Whole minutes keep
/// the windows on the Unix minute. Less than a minute is never absorbed, so that threads that read the clock and then
/// wait for the lock do not push time ahead.
#[derive(Debug)]
pub(super) struct Timeline {
    last_us: i64,
    absorbed_us: i64,
}

impl Timeline {
    pub(super) const fn new() -> Self {
        Self {
            last_us: i64::MIN,
            absorbed_us: 0,
        }
    }

    /// The current time when the clock shows `clock_us`.
    pub(super) fn advance(&mut self, clock_us: i64) -> i64 {
        let now_us = clock_us.saturating_add(self.absorbed_us);
        if now_us < self.last_us {
            let minutes = self.last_us.saturating_sub(now_us) / MINUTE_US;
            self.absorbed_us = self.absorbed_us.saturating_add(minutes * MINUTE_US);
        } else {
            self.last_us = now_us;
        }
        self.last_us
    }

    /// How far this time is ahead of the clock.
    pub(super) const fn absorbed_us(&self) -> i64 {
        self.absorbed_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_US: i64 = 60 * MINUTE_US;

    #[test]
    fn time_follows_a_clock_that_goes_forward() {
        let mut time = Timeline::new();
        for clock in [-5, 0, 1, HOUR_US] {
            assert_eq!(time.advance(clock), clock);
        }
    }

    #[test]
    fn a_step_back_of_less_than_a_minute_is_waited_out() {
        let mut time = Timeline::new();
        time.advance(HOUR_US);
        assert_eq!(time.advance(HOUR_US - MINUTE_US + 1), HOUR_US);
        assert_eq!(time.advance(HOUR_US + 1), HOUR_US + 1);
        assert_eq!(time.absorbed_us(), 0);
    }

    #[test]
    fn whole_minutes_of_a_step_back_are_absorbed() {
        let mut time = Timeline::new();
        time.advance(24 * HOUR_US);
        assert_eq!(time.advance(HOUR_US - 10), 24 * HOUR_US);
        assert_eq!(time.absorbed_us(), 23 * HOUR_US);
        assert_eq!(time.advance(HOUR_US), 24 * HOUR_US);
        assert_eq!(time.advance(HOUR_US + 7), 24 * HOUR_US + 7);
    }
}
