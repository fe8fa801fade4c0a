//! Whether this node's own leases have been renewed for long enough to judge others'.

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::leases::{judge_after, renew_every};
use crate::prelude::*;

/// Renewals further apart than this are separate runs: in between, the database or this process stalled.
fn apart_at_most() -> Duration {
    renew_every() * 2
}

/// The current run of successful renewals, if there is one.
#[derive(Default)]
pub(crate) struct Renewals(Mutex<Option<Run>>);

#[derive(Clone, Copy)]
struct Run {
    began: Instant,
    last: Instant,
}

impl Renewals {
    pub(crate) fn succeeded(&self, at: Instant) {
        let mut run = self.0.lock();
        let unbroken = run.filter(|run| at - run.last <= apart_at_most());
        let began = unbroken.map_or(at, |run| run.began);
        *run = Some(Run { began, last: at });
    }

    pub(crate) fn failed(&self) {
        *self.0.lock() = None;
    }

    /// Whether the owner of a lease that has expired at `at` has really lost it.
    pub(crate) fn may_judge(&self, at: Instant) -> bool {
        self.0
            .lock()
            .is_some_and(|run| at - run.began >= judge_after() && at - run.last <= apart_at_most())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Renews every 10 s from `from` to `to`.
    fn renew(renewals: &Renewals, start: Instant, from: u64, to: u64) {
        for second in (from..=to).step_by(10) {
            renewals.succeeded(start + Duration::from_secs(second));
        }
    }

    #[test]
    fn others_are_judged_after_45_s_of_own_renewals() {
        let (renewals, start) = (Renewals::default(), Instant::now());
        let judges = |second| renewals.may_judge(start + Duration::from_secs(second));
        assert!(!judges(100));
        renew(&renewals, start, 0, 40);
        assert!(!judges(44));
        assert!(judges(45));
        assert!(judges(60));
        assert!(!judges(61), "the last renewal is too long ago");
    }

    #[test]
    fn a_failed_renewal_and_a_gap_begin_the_wait_anew() {
        let (renewals, start) = (Renewals::default(), Instant::now());
        let judges = |second| renewals.may_judge(start + Duration::from_secs(second));
        renew(&renewals, start, 0, 50);
        renewals.failed();
        assert!(!judges(51));
        renew(&renewals, start, 60, 100);
        assert!(!judges(104));
        assert!(judges(105));
        // The process stalled. Its first renewal afterwards does not prove that the others have renewed theirs.
        renew(&renewals, start, 200, 240);
        assert!(!judges(244));
        assert!(judges(245));
    }
}
