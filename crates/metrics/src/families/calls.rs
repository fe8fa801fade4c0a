//! Metrics of calls and their recordings.

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
    pub(crate) claims_replaced: Counter,
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
            claims_replaced: Counter::default(),
            renewal_failures: Counter::default(),
            leases_lost: Counter::default(),
            orphans: Counter::default(),
        }
    }
}

impl Calls {
    pub fn accepted(&self) {
        self.accepted.inc();
    }

    /// Counts an inbound call: `taken`, or the reason why it was not answered.
    pub fn came_in(&self, outcome: &'static str) {
        self.came_in.get_or_create(&[("outcome", outcome)]).inc();
    }

    /// Counts a claim by a dialer, of a call that has waited this long.
    pub fn claimed(&self, waited: Duration) {
        self.queue.observe(waited.as_secs_f64());
    }

    /// Counts the carrier's response to a new call: `taken_over`, or the reason of its refusal.
    pub fn dialed(&self, outcome: &'static str, took: Duration) {
        self.dials
            .get_or_create(&[("outcome", outcome)])
            .observe(took.as_secs_f64());
    }

    /// Counts a turn: the agent began to answer this many milliseconds after the caller's last word.
    pub fn turn(&self, latency_ms: u32) {
        self.turns.observe(f64::from(latency_ms) / 1000.0);
    }

    /// Counts a step of a spoken reply.
    pub fn turn_step(&self, step: &'static str, took_ms: u32) {
        self.turn_steps
            .get_or_create(&[("step", step)])
            .observe(f64::from(took_ms) / 1000.0);
    }

    /// Counts sentences of agents that claimed what no tool had done.
    pub fn claims_replaced(&self, count: u32) {
        self.claims_replaced.inc_by(u64::from(count));
    }

    pub fn ended(&self, status: &'static str, reason: &'static str) {
        self.ended
            .get_or_create(&[("status", status), ("reason", reason)])
            .inc();
    }

    /// Counts a failed renewal of this process's leases.
    pub fn renewal_failed(&self) {
        self.renewal_failures.inc();
    }

    /// Counts a call that another process took over because it considered it lost.
    pub fn lease_lost(&self) {
        self.leases_lost.inc();
    }

    /// Counts calls that this process took over from a dead one.
    pub fn orphans_taken(&self, count: usize) {
        self.orphans
            .inc_by(u64::try_from(count).unwrap_or(u64::MAX));
    }

    /// Sets how many calls are queued and live in the whole deployment.
    pub fn sampled(&self, queued: i64, live: i64) {
        self.queued.set(queued);
        self.live.set(live);
    }

    /// Sets how many calls this process holds.
    pub fn held(&self, count: usize) {
        self.held.set(gauge_of(count));
    }
}

#[derive(Debug, Default)]
pub struct Recordings {
    pub(crate) ended: Family<Word, Counter>,
    pub(crate) waiting: Gauge,
}

impl Recordings {
    /// Counts a recording that is in the object store and listed in its conversation.
    pub fn kept(&self) {
        self.ended.get_or_create(&[("outcome", "kept")]).inc();
    }

    /// Counts a recording that could not be started or continued. What exists of it is kept.
    pub fn failed(&self) {
        self.ended.get_or_create(&[("outcome", "failed")]).inc();
    }

    /// Sets how many wait on this machine for the object store.
    pub fn waiting(&self, count: usize) {
        self.waiting.set(gauge_of(count));
    }
}
