//! The figures of calls and of their recordings.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use super::{Timings, Word, Words, gauge_of, slow};

/// Seconds between the end of the caller's speech and the agent's first audio.
fn turns() -> Histogram {
    Histogram::new([
        0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0,
    ])
}

#[derive(Debug)]
pub struct Calls {
    pub(crate) accepted: Counter,
    pub(crate) came_in: Family<Word, Counter>,
    pub(crate) ended: Family<Words, Counter>,
    pub(crate) queued: Gauge,
    pub(crate) live: Gauge,
    pub(crate) held: Gauge,
    pub(crate) queue: Histogram,
    pub(crate) dials: Timings<Word>,
    pub(crate) turns: Histogram,
    pub(crate) turn_steps: Timings<Word>,
    pub(crate) renewal_failures: Counter,
    pub(crate) leases_lost: Counter,
    pub(crate) orphans: Counter,
}

impl Default for Calls {
    fn default() -> Self {
        Self {
            accepted: Counter::default(),
            came_in: Family::default(),
            ended: Family::default(),
            queued: Gauge::default(),
            live: Gauge::default(),
            held: Gauge::default(),
            queue: slow(),
            dials: Timings::new_with_constructor(slow),
            turns: turns(),
            turn_steps: Timings::new_with_constructor(turns),
            renewal_failures: Counter::default(),
            leases_lost: Counter::default(),
            orphans: Counter::default(),
        }
    }
}

impl Calls {
    /// A call was accepted.
    pub fn accepted(&self) {
        self.accepted.inc();
    }

    /// A call came in: `taken`, or the word for why nobody answered.
    pub fn came_in(&self, outcome: &'static str) {
        self.came_in.get_or_create(&[("outcome", outcome)]).inc();
    }

    /// A dialer has claimed a call that had waited for so long.
    pub fn claimed(&self, waited: Duration) {
        self.queue.observe(waited.as_secs_f64());
    }

    /// The carrier has answered whether it takes a call over: `taken_over`, or the word of its refusal.
    pub fn dialed(&self, outcome: &'static str, took: Duration) {
        self.dials
            .get_or_create(&[("outcome", outcome)])
            .observe(took.as_secs_f64());
    }

    /// The agent began to answer so many milliseconds after the caller's last word.
    pub fn turn(&self, latency_ms: u32) {
        self.turns.observe(f64::from(latency_ms) / 1000.0);
    }

    /// A step of a spoken reply took so many milliseconds.
    pub fn turn_step(&self, step: &'static str, took_ms: u32) {
        self.turn_steps
            .get_or_create(&[("step", step)])
            .observe(f64::from(took_ms) / 1000.0);
    }

    /// A call has ended for good.
    pub fn ended(&self, status: &'static str, reason: &'static str) {
        self.ended
            .get_or_create(&[("status", status), ("reason", reason)])
            .inc();
    }

    /// The leases of this process could not be renewed.
    pub fn renewal_failed(&self) {
        self.renewal_failures.inc();
    }

    /// Another process has taken a call of this one for lost.
    pub fn lease_lost(&self) {
        self.leases_lost.inc();
    }

    /// Calls of a process that is gone were taken over here.
    pub fn orphans_taken(&self, count: usize) {
        self.orphans
            .inc_by(u64::try_from(count).unwrap_or(u64::MAX));
    }

    /// How many calls wait and go on in the whole deployment.
    pub fn sampled(&self, queued: i64, live: i64) {
        self.queued.set(queued);
        self.live.set(live);
    }

    /// How many calls this process holds.
    pub fn held(&self, count: usize) {
        self.held.set(gauge_of(count));
    }
}

/// Recordings of spoken calls.
#[derive(Debug, Default)]
pub struct Recordings {
    pub(crate) ended: Family<Word, Counter>,
    pub(crate) waiting: Gauge,
}

impl Recordings {
    /// One is in the object store, and its conversation tells of it.
    pub fn kept(&self) {
        self.ended.get_or_create(&[("outcome", "kept")]).inc();
    }

    /// One could not be begun or gone on with; what there is of it is kept.
    pub fn failed(&self) {
        self.ended.get_or_create(&[("outcome", "failed")]).inc();
    }

    /// How many wait on this machine for the object store.
    pub fn waiting(&self, count: usize) {
        self.waiting.set(gauge_of(count));
    }
}
