//! The loop that claims due deliveries, starts their attempts and records the results.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use offhook_domain::{Clock, Timestamp};
use offhook_failpoints as failpoints;
use offhook_storage::{FailingEndpoint, Store, StoreError};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::cancelling;
use crate::lanes::{Checked, Lanes, Plan};
use crate::recorder::Recorder;
use crate::schedule::{RETRY_OFFSETS, Schedule};
use crate::sender::Sender;
use crate::worker::Worker;

/// Disable an endpoint only after this long without a success.
pub const DISABLED_AFTER: Duration = Duration::from_secs(72 * 60 * 60);

/// Disable an endpoint only after this many exhausted deliveries since its last success.
pub const DISABLED_AT: i32 = 20;

/// The default limit of attempts in flight in one process.
pub const MAX_IN_FLIGHT: usize = 512;

/// How long due work may go unnoticed without a wake-up.
const POLL: Duration = Duration::from_millis(500);

/// The pause after a claim, in which slots become free for the next claim.
const BETWEEN_CLAIMS: Duration = Duration::from_millis(5);

/// A claim of this many attempts skips that pause.
const WORTHWHILE: usize = 64;

/// Polling for due work takes at most a fifth of the time: the pause after a poll is this many times its length.
const PAUSES_PER_POLL: u32 = 4;

/// Claim nothing while more results than this are missing in the database.
const UNRECORDED_AT_MOST: usize = 4096;

pub struct DispatchConfig {
    pub store: Store,
    /// The time that customers read.
    pub clock: Arc<dyn Clock>,
    pub sender: Sender,
    /// `notify_one` announces new work.
    pub wake: Arc<Notify>,
    /// How often this process has changed an endpoint. Every change increments it, so that work claimed before is
    /// checked again before it is sent.
    pub changes: Arc<AtomicU64>,
    /// Whether an endpoint that fails for [`DISABLED_AFTER`] with [`DISABLED_AT`] exhausted deliveries is disabled.
    pub auto_disable: bool,
    /// The waits after the 1st, 2nd, … failure. There is one attempt more than there are waits.
    pub retry_offsets: Vec<Duration>,
    /// Whether each wait is up to a tenth longer. Off in tests.
    pub jitter: bool,
    /// The most attempts that this process has in flight.
    pub max_in_flight: usize,
}

impl DispatchConfig {
    /// The documented schedule and the default limits.
    pub fn new(store: Store, clock: Arc<dyn Clock>, sender: Sender, wake: Arc<Notify>) -> Self {
        Self {
            store,
            clock,
            sender,
            wake,
            changes: Arc::default(),
            auto_disable: false,
            retry_offsets: RETRY_OFFSETS.to_vec(),
            jitter: true,
            max_in_flight: MAX_IN_FLIGHT,
        }
    }
}

/// Delivers events to webhook endpoints.
///
/// Any number of dispatchers, in any number of processes, may share one PostgreSQL database. An embedded database has
/// one dispatcher.
pub struct Dispatcher {
    config: DispatchConfig,
}

/// State that the loop, the workers and the recorder share.
pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) sender: Sender,
    pub(crate) schedule: Schedule,
    changes: Arc<AtomicU64>,
    pub(crate) auto_disable: bool,
    lanes: Mutex<Lanes>,
    /// There is room for another claim.
    pub(crate) refill: Notify,
    /// A delivery that waited for another attempt has become due.
    pub(crate) unblocked: Notify,
    /// Ended attempts whose results the database does not have yet.
    pub(crate) unrecorded: AtomicUsize,
    /// Once cancelled, the dispatcher claims and starts nothing.
    pub(crate) stop: CancellationToken,
}

impl Shared {
    pub(crate) fn lanes(&self) -> MutexGuard<'_, Lanes> {
        // Every method leaves the counts consistent, so a panic elsewhere does not spoil them.
        self.lanes.lock()
    }

    /// How often this process has changed an endpoint.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::SeqCst)
    }

    /// Records that this process has changed an endpoint.
    pub(crate) fn count_change(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
    }

    /// Disables the endpoints that had failed for too long at `now`, if `auto_disable` is set.
    pub(crate) async fn judge(&self, failing: Vec<FailingEndpoint>, now: Timestamp) {
        if !self.auto_disable {
            return;
        }
        let since = now.minus(DISABLED_AFTER);
        let for_too_long = failing
            .into_iter()
            .filter(|one| one.first_failure_at <= since && one.exhausted_count >= DISABLED_AT);
        for endpoint in for_too_long {
            let store = &self.store;
            let disabling = store.disable_failing_endpoint(endpoint.id, since, DISABLED_AT, now);
            match disabling.await {
                Ok(true) => {
                    self.count_change();
                    tracing::warn!(endpoint = %endpoint.id, "a webhook endpoint has failed for too long and is disabled");
                }
                Ok(false) => {}
                // The endpoint's next failure is judged again.
                Err(error) => {
                    tracing::warn!(%error, endpoint = %endpoint.id, "a failing webhook endpoint could not be disabled");
                }
            }
        }
    }

    /// Marks the start of a database read: its answer is at least this fresh.
    pub(crate) fn checking(&self) -> Checked {
        Checked {
            at: Instant::now(),
            changes: self.changes(),
        }
    }
}

impl Dispatcher {
    pub const fn new(config: DispatchConfig) -> Self {
        Self { config }
    }

    /// Delivers until `stop`. Then it claims nothing more, lets attempts in flight end and records their results.
    ///
    /// Dropping this future acts like a crash: attempts in flight are abandoned, and repeated when their leases expire.
    pub async fn run(self, stop: CancellationToken) {
        let config = self.config;
        let shared = Arc::new(Shared {
            store: config.store,
            clock: config.clock,
            sender: config.sender,
            schedule: Schedule {
                offsets: config.retry_offsets,
                jitter: config.jitter,
            },
            changes: config.changes,
            auto_disable: config.auto_disable,
            lanes: Mutex::new(Lanes::new(config.max_in_flight)),
            refill: Notify::new(),
            unblocked: Notify::new(),
            unrecorded: AtomicUsize::new(0),
            stop,
        });
        let (results, finished) = mpsc::unbounded_channel();
        let recorder = Recorder::new(shared.clone(), finished);
        let cancelling = cancelling::run(shared.clone());
        let now = Instant::now();
        let delivery = Delivery {
            worker: Worker {
                shared: shared.clone(),
                results,
            },
            shared,
            wake: config.wake,
            workers: JoinSet::new(),
            poll_at: now,
            polled_at: now,
            poll_pause: Duration::ZERO,
            claim_at: now,
            is_away: false,
        };
        tokio::join!(delivery.run(), recorder.run(), cancelling);
    }
}

struct Delivery {
    shared: Arc<Shared>,
    wake: Arc<Notify>,
    worker: Worker,
    workers: JoinSet<()>,
    /// When to poll for due work next.
    poll_at: Instant,
    /// When the last poll ended, and how soon the next may follow.
    polled_at: Instant,
    poll_pause: Duration,
    /// When the next claim may be made.
    claim_at: Instant,
    /// Whether the last database operation failed.
    is_away: bool,
}

impl Delivery {
    async fn run(mut self) {
        self.begin().await;
        while !self.shared.stop.is_cancelled() {
            while self.workers.try_join_next().is_some() {}
            if Instant::now() >= self.poll_at {
                self.poll().await;
            }
            let plan = self.shared.lanes().plan(Instant::now());
            if self.may_claim(&plan) {
                self.claim(&plan).await;
            } else {
                self.wait(&plan).await;
            }
        }
        self.give_back(true).await;
        while self.workers.join_next().await.is_some() {}
    }

    /// Releases all old claims: an embedded database belongs to this process alone, so their claimers are gone.
    async fn begin(&mut self) {
        while self.shared.store.is_embedded() && !self.shared.stop.is_cancelled() {
            match self.shared.store.orphan_deliveries().await {
                Ok(()) => return,
                Err(error) => self.note_outage(&error),
            }
            tokio::select! {
                () = tokio::time::sleep(POLL) => {}
                () = self.shared.stop.cancelled() => {}
            }
        }
    }

    async fn poll(&mut self) {
        self.give_back(false).await;
        let began = Instant::now();
        let store = &self.shared.store;
        let due = store.due_endpoints(self.shared.clock.steady());
        match tokio::try_join!(due, store.due_resends()) {
            Ok((due, resends)) => {
                self.is_away = false;
                // Use the time after the poll: the database counts its waits from a moment during the poll.
                self.shared.lanes().update_due(due, resends, Instant::now());
            }
            Err(error) => self.note_outage(&error),
        }
        self.polled_at = Instant::now();
        self.poll_pause = (self.polled_at - began) * PAUSES_PER_POLL;
        self.poll_at = self.polled_at + POLL;
    }

    fn may_claim(&self, plan: &Plan) -> bool {
        let size = plan.size();
        size > 0
            && self.shared.unrecorded.load(Ordering::Relaxed) < UNRECORDED_AT_MOST
            && (Instant::now() >= self.claim_at || (size >= WORTHWHILE && !self.is_away))
    }

    async fn claim(&mut self, plan: &Plan) {
        failpoints::hit(failpoints::DELIVER_BEFORE_CLAIM);
        // Use the time before the claim: its lease begins later.
        let asked = self.shared.checking();
        let offsets = self.shared.schedule.offsets.clone();
        let times = (self.shared.clock.now(), self.shared.clock.steady());
        let claimed = self
            .shared
            .store
            .claim_deliveries(plan.slots.clone(), offsets, times)
            .await;
        match claimed {
            Ok(attempts) => {
                failpoints::hit(failpoints::DELIVER_AFTER_CLAIM);
                self.is_away = false;
                self.claim_at = Instant::now() + BETWEEN_CLAIMS;
                if self.shared.lanes().claimed(plan, attempts, asked) {
                    self.poll_soon();
                }
                self.start();
            }
            Err(error) => {
                self.note_outage(&error);
                self.claim_at = Instant::now() + POLL;
            }
        }
    }

    /// Starts all attempts that have a slot.
    fn start(&mut self) {
        let at = Instant::now();
        while !self.shared.stop.is_cancelled() {
            let started = self.shared.lanes().next(None, at);
            let Some(started) = started else { return };
            let worker = self.worker.clone();
            self.workers.spawn(worker.run(started));
        }
    }

    async fn wait(&mut self, plan: &Plan) {
        let mut until = self.poll_at;
        if plan.size() > 0 {
            until = until.min(self.claim_at);
        }
        if let Some(due) = plan.next_due {
            until = until.min(due);
        }
        tokio::select! {
            () = self.shared.stop.cancelled() => {}
            () = self.wake.notified() => self.poll_soon(),
            () = self.shared.unblocked.notified() => self.poll_soon(),
            () = self.shared.refill.notified() => self.start(),
            () = tokio::time::sleep_until(until) => {}
        }
    }

    fn poll_soon(&mut self) {
        self.poll_at = self.poll_at.min(self.polled_at + self.poll_pause);
    }

    /// Gives back attempts that are claimed and not started: those that have waited too long, or `all`.
    async fn give_back(&mut self, all: bool) {
        let returned = self.shared.lanes().drain_returned(Instant::now(), all);
        if returned.is_empty() {
            return;
        }
        let ids = returned
            .iter()
            .map(|one| (one.delivery_id, one.attempt_id, one.claim_id))
            .collect();
        // If this fails, their leases expire.
        if let Err(error) = self.shared.store.give_back_deliveries(ids).await {
            self.note_outage(&error);
        }
    }

    /// Logs once that the database does not answer.
    fn note_outage(&mut self, error: &StoreError) {
        if !std::mem::replace(&mut self.is_away, true) {
            tracing::warn!(%error, "webhook delivery waits for the database");
        }
    }
}
