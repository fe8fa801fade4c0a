//! The metric families by subject. Names and units are in `registry`.

mod calls;

use std::borrow::Cow;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

pub use calls::{Calls, Recordings};

/// One label with a small set of values.
pub(crate) type Word = [(&'static str, &'static str); 1];

pub(crate) type Words = [(&'static str, &'static str); 2];

/// A label whose values are the server's routes.
type Route = (&'static str, Cow<'static, str>);

pub(crate) type Timings<Labels> = Family<Labels, Histogram, fn() -> Histogram>;

/// Seconds of work that usually takes milliseconds.
fn quick() -> Histogram {
    Histogram::new([
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
    ])
}

/// Seconds of work that waits for another party.
fn slow() -> Histogram {
    Histogram::new([
        0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0,
    ])
}

pub(crate) fn gauge_of(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Counts as in flight until it is dropped.
#[derive(Debug)]
pub struct InFlight(Gauge);

impl InFlight {
    fn of(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// HTTP requests and responses.
#[derive(Debug)]
pub struct Http {
    pub(crate) requests: Family<[Route; 3], Counter>,
    pub(crate) durations: Timings<[Route; 2]>,
    pub(crate) in_flight: Gauge,
    pub(crate) refusals: Family<Word, Counter>,
}

impl Default for Http {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            durations: Timings::new_with_constructor(quick),
            in_flight: Gauge::default(),
            refusals: Family::default(),
        }
    }
}

impl Http {
    /// Counts a request as in flight until the value is dropped.
    #[must_use]
    pub fn began(&self) -> InFlight {
        InFlight::of(&self.in_flight)
    }

    /// Counts a response. `route` is the route's pattern, or `None` without one; it never holds what a client sent.
    pub fn answered(&self, method: &str, route: Option<String>, status: u16, took: Duration) {
        let method: Route = ("method", Cow::Borrowed(known_method(method)));
        let route: Route = ("route", route.map_or(Cow::Borrowed("none"), Cow::Owned));
        self.durations
            .get_or_create(&[method.clone(), route.clone()])
            .observe(took.as_secs_f64());
        let class = ("status", Cow::Borrowed(class(status)));
        self.requests.get_or_create(&[method, route, class]).inc();
    }

    /// Counts a request that a limiter refused: `address`, `address_calls`, `account`, or `unavailable` (it could not
    /// count).
    pub fn refused(&self, limiter: &'static str) {
        self.refusals.get_or_create(&[("limiter", limiter)]).inc();
    }
}

/// A client may send any word as its method.
fn known_method(method: &str) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "POST", "PATCH", "DELETE", "PUT", "HEAD", "OPTIONS"];
    KNOWN
        .into_iter()
        .find(|known| *known == method)
        .unwrap_or("other")
}

fn class(status: u16) -> &'static str {
    match status {
        100..=199 => "1xx",
        200..=299 => "2xx",
        300..=399 => "3xx",
        400..=499 => "4xx",
        _ => "5xx",
    }
}

/// The rate limiter's store.
#[derive(Debug)]
pub struct Limiter {
    pub(crate) decisions: Family<Word, Counter>,
    // Every request passes here: the family's lock and hash would cost too much.
    admitted: Counter,
    refused: Counter,
    unavailable: Counter,
    pub(crate) clients: Gauge,
    pub(crate) memory: Gauge,
    pub(crate) shared: Counter,
}

impl Default for Limiter {
    fn default() -> Self {
        let decisions = Family::<Word, Counter>::default();
        let of = |outcome| decisions.get_or_create_owned(&[("outcome", outcome)]);
        let (admitted, refused, unavailable) = (of("admitted"), of("refused"), of("unavailable"));
        Self {
            decisions,
            admitted,
            refused,
            unavailable,
            clients: Gauge::default(),
            memory: Gauge::default(),
            shared: Counter::default(),
        }
    }
}

impl Limiter {
    /// Counts a decision of the store, in memory or in Redis, on a client's request. With Redis a cached refusal counts
    /// too.
    pub fn decided(&self, allowed: bool) {
        match allowed {
            true => self.admitted.inc(),
            false => self.refused.inc(),
        };
    }

    /// Counts a request that Redis could not decide, or not in time.
    pub fn unavailable(&self) {
        self.unavailable.inc();
    }

    /// Sets how many clients are counted, in how many bytes, and how many requests were ever counted in shared cells
    /// because all places were taken.
    pub fn sampled(&self, clients: u64, memory_bytes: u64, shared: u64) {
        self.clients.set(i64::try_from(clients).unwrap_or(i64::MAX));
        self.memory
            .set(i64::try_from(memory_bytes).unwrap_or(i64::MAX));
        self.shared.inc_by(shared.saturating_sub(self.shared.get()));
    }
}

#[derive(Debug, Default)]
pub struct Logs {
    pub(crate) dropped: Counter,
    pub(crate) waiting: Gauge,
}

impl Logs {
    pub fn drop_one(&self) {
        self.dropped.inc();
    }

    /// Sets how many entries wait to be written.
    pub fn waiting(&self, entries: usize) {
        self.waiting.set(gauge_of(entries));
    }
}

#[derive(Debug)]
pub struct Deliveries {
    pub(crate) attempts: Family<Word, Counter>,
    pub(crate) durations: Histogram,
    pub(crate) in_flight: Gauge,
    pub(crate) unrecorded: Gauge,
    pub(crate) backlog: Family<Word, Gauge>,
    pub(crate) oldest_due: Gauge<f64, std::sync::atomic::AtomicU64>,
}

impl Default for Deliveries {
    fn default() -> Self {
        Self {
            attempts: Family::default(),
            durations: slow(),
            in_flight: Gauge::default(),
            unrecorded: Gauge::default(),
            backlog: Family::default(),
            oldest_due: Gauge::default(),
        }
    }
}

impl Deliveries {
    /// Counts an attempt as in flight until the value is dropped.
    #[must_use]
    pub fn began(&self) -> InFlight {
        InFlight::of(&self.in_flight)
    }

    /// Counts an ended attempt, with its status or its error.
    pub fn attempted(&self, status: Option<u16>, error: Option<&'static str>, took: Duration) {
        let outcome = error.or(status.map(class)).unwrap_or("none");
        self.attempts.get_or_create(&[("outcome", outcome)]).inc();
        self.durations.observe(took.as_secs_f64());
    }

    /// Sets how many results the database does not have yet.
    pub fn unrecorded(&self, count: usize) {
        self.unrecorded.set(gauge_of(count));
    }

    /// Sets how many deliveries of the whole deployment wait, and for how long the oldest has been due.
    pub fn sampled(&self, pending: i64, retrying: i64, oldest_due: Duration) {
        let states = [("pending", pending), ("retrying", retrying)];
        for (state, count) in states {
            self.backlog.get_or_create(&[("state", state)]).set(count);
        }
        self.oldest_due.set(oldest_due.as_secs_f64());
    }
}

/// Periodic jobs.
#[derive(Debug, Default)]
pub struct Jobs {
    pub(crate) runs: Family<Words, Counter>,
    pub(crate) last_success: Family<Word, Gauge<f64, std::sync::atomic::AtomicU64>>,
    pub(crate) left: Family<Word, Gauge>,
    pub(crate) ready: Gauge,
    pub(crate) waiting_batches: Gauge,
}

impl Jobs {
    /// Counts a run of this job in this process.
    #[expect(
        clippy::disallowed_methods,
        reason = "what operators compare with their own clock, and no customer reads"
    )]
    pub fn ran(&self, job: &'static str, well: bool) {
        let outcome = if well { "ok" } else { "failed" };
        self.runs
            .get_or_create(&[("name", job), ("outcome", outcome)])
            .inc();
        if well {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            self.last_success
                .get_or_create(&[("name", job)])
                .set(now.unwrap_or_default().as_secs_f64().floor());
        }
    }

    /// Sets how much work this job could not do in its last run in this process.
    pub fn left_behind(&self, job: &'static str, left: usize) {
        self.left
            .get_or_create(&[("name", job)])
            .set(gauge_of(left));
    }

    /// Sets whether `/readyz` is 200.
    pub fn ready(&self, ready: bool) {
        self.ready.set(i64::from(ready));
    }

    /// Sets how many batches of the whole deployment still have recipients to call.
    pub fn batches(&self, waiting: i64) {
        self.waiting_batches.set(waiting);
    }
}

/// Trace spans for a collector.
#[derive(Debug, Default)]
pub struct Traces {
    pub(crate) spans: Family<Word, Counter>,
}

impl Traces {
    pub fn sent(&self, count: usize) {
        self.count("sent", count);
    }

    /// Counts spans that are lost because the collector did not accept them.
    pub fn failed(&self, count: usize) {
        self.count("failed", count);
    }

    /// Counts spans that are lost because the queue was full.
    pub fn dropped(&self, count: usize) {
        self.count("dropped", count);
    }

    fn count(&self, outcome: &'static str, count: usize) {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        self.spans
            .get_or_create(&[("outcome", outcome)])
            .inc_by(count);
    }
}

#[derive(Debug, Default)]
pub struct Knowledge {
    pub(crate) read: Family<Word, Counter>,
    pub(crate) waiting: Gauge,
    pub(crate) to_embed: Gauge,
}

impl Knowledge {
    /// Counts a document that this process read: `ready`, `failed`, or `again`.
    pub fn read(&self, outcome: &'static str) {
        self.read.get_or_create(&[("outcome", outcome)]).inc();
    }

    /// Sets how many documents of the whole deployment wait to be read, and to be embedded.
    pub fn sampled(&self, waiting: i64, to_embed: i64) {
        self.waiting.set(waiting);
        self.to_embed.set(to_embed);
    }
}

/// The database as this process sees it.
#[derive(Debug)]
pub struct Database {
    pub(crate) durations: Timings<Word>,
    pub(crate) errors: Family<Word, Counter>,
    pub(crate) waits: Histogram,
    pub(crate) pool: Family<Word, Gauge>,
    pub(crate) waiting: Gauge,
    pub(crate) writer_queue: Gauge,
}

impl Default for Database {
    fn default() -> Self {
        Self {
            durations: Timings::new_with_constructor(quick),
            errors: Family::default(),
            waits: quick(),
            pool: Family::default(),
            waiting: Gauge::default(),
            writer_queue: Gauge::default(),
        }
    }
}

impl Database {
    /// Counts a unit of work, `read` or `write`. Its time includes the wait for a connection or thread.
    pub fn worked(&self, kind: &'static str, took: Duration) {
        self.durations
            .get_or_create(&[("kind", kind)])
            .observe(took.as_secs_f64());
    }

    pub fn failed(&self, kind: &'static str) {
        self.errors.get_or_create(&[("kind", kind)]).inc();
    }

    /// Counts a unit of work's wait for its connection.
    pub fn waited(&self, took: Duration) {
        self.waits.observe(took.as_secs_f64());
    }

    pub fn connections(&self, in_use: usize, idle: usize) {
        let states = [("in_use", in_use), ("idle", idle)];
        for (state, count) in states {
            self.pool
                .get_or_create(&[("state", state)])
                .set(gauge_of(count));
        }
    }

    /// Sets how many units of work wait for a connection or a reader thread.
    pub fn waiting(&self, units: usize) {
        self.waiting.set(gauge_of(units));
    }

    /// Sets how many writes wait for the embedded database's only writer.
    pub fn writer_queue(&self, waiting: usize) {
        self.writer_queue.set(gauge_of(waiting));
    }
}
