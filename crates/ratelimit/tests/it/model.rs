//! The rules in their plainest form, as a reference for the crate.

use super::tested::Quota;

/// A bucket that holds time instead of tokens: `interval_us` of it is a token, and passing time fills it.
pub(crate) struct Bucket {
    quota: Quota,
    level_us: i64,
    seen_us: i64,
}

pub(crate) struct Answer {
    pub(crate) allowed: bool,
    pub(crate) remaining: u32,
    pub(crate) next_us: i64,
}

impl Bucket {
    pub(crate) fn full(quota: Quota, now_us: i64) -> Self {
        Self {
            quota,
            level_us: i64::from(quota.limit()) * quota.interval_us(),
            seen_us: now_us,
        }
    }

    pub(crate) fn take(&mut self, now_us: i64) -> Answer {
        let interval = self.quota.interval_us();
        let capacity = i64::from(self.quota.limit()) * interval;
        self.level_us = (self.level_us + now_us - self.seen_us).min(capacity);
        self.seen_us = now_us;
        let allowed = self.level_us >= interval;
        if allowed {
            self.level_us -= interval;
        }
        Answer {
            allowed,
            remaining: u32::try_from(self.level_us / interval).unwrap_or(u32::MAX),
            next_us: now_us + interval - self.level_us % interval,
        }
    }
}

/// A counter that starts again every minute.
pub(crate) struct Window {
    limit: u32,
    minute: i64,
    admitted: u32,
}

impl Window {
    pub(crate) fn new(limit: u32) -> Self {
        Self {
            limit,
            minute: i64::MIN,
            admitted: 0,
        }
    }

    pub(crate) fn take(&mut self, now_us: i64) -> bool {
        let minute = now_us.div_euclid(60_000_000);
        if minute != self.minute {
            (self.minute, self.admitted) = (minute, 0);
        }
        let allowed = self.admitted < self.limit;
        self.admitted += u32::from(allowed);
        allowed
    }
}
