//! Limits the log lines per second for cheap requests: a flood must not fill the disk.

use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use offhook_domain::Timestamp;

/// Enough for every client that makes mistakes; its first lines show a flood.
const LINES_PER_SECOND: u32 = 20;

const SECOND_US: i64 = 1_000_000;

/// Counts the lines of the current second.
#[derive(Debug, Default)]
pub(crate) struct LogBudget {
    second: AtomicI64,
    lines: AtomicU32,
}

impl LogBudget {
    /// Whether the caller may write one more line. Two threads that meet as the second changes may write a few more.
    pub(crate) fn take(&self, now: Timestamp) -> bool {
        let second = now.micros().div_euclid(SECOND_US);
        if self.second.load(Ordering::Relaxed) != second {
            self.second.store(second, Ordering::Relaxed);
            self.lines.store(0, Ordering::Relaxed);
        }
        // The load comes first, so that a flood does not write to shared memory.
        self.lines.load(Ordering::Relaxed) < LINES_PER_SECOND
            && self.lines.fetch_add(1, Ordering::Relaxed) < LINES_PER_SECOND
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_flood_is_told_by_its_first_lines_and_every_second_anew() {
        let budget = LogBudget::default();
        let noon = Timestamp::from_micros(1_777_550_400_000_000);
        for second in 0..3 {
            let at = noon.plus(Duration::from_secs(second));
            let logged = (0..1_000).filter(|_| budget.take(at)).count();
            assert_eq!(logged, 20);
        }
    }
}
