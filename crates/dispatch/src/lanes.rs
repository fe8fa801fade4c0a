//! Decides which attempt starts next. Each endpoint has a lane, with limits that keep a slow or dead endpoint from
//! delaying the others.
//!
//! A lane holds the claimed attempts of its endpoint that have not started, and counts those in flight. This code
//! neither waits nor reads a clock.

mod lane;
mod plan;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use offhook_domain::{AccountId, AttemptId, EndpointId};
use offhook_storage::{ClaimedAttempt, ClaimedWork, DueEndpoint, Rechecked};
use tokio::time::Instant;

use lane::Lane;
pub(crate) use plan::Plan;

/// The most attempts that one process has in flight for one account.
const ACCOUNT_WINDOW: usize = 64;

/// A claimed attempt that has not started for this long is given back. With the 10 s that an attempt may take, it ends
/// well within the lease of 45 s.
const PATIENCE: Duration = Duration::from_secs(20);

/// A lane without work is dropped after this long, with what it has learned of its endpoint.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);

/// The kind of an attempt. Each kind has its own share of the slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    /// The first attempt of its delivery. A quarter of all slots is reserved for these.
    First,
    /// Follows a failed attempt.
    Retry,
    /// Requested by hand. Resends get at most a quarter of the slots, and start when nothing else can.
    Resend,
}

impl Kind {
    /// In starting order. Retries come first, because the others have slots that retries may not take.
    const ALL: [Self; 3] = [Self::Retry, Self::First, Self::Resend];

    fn of(attempt: &ClaimedAttempt) -> Self {
        match attempt.number {
            0 => Self::Resend,
            1 => Self::First,
            _ => Self::Retry,
        }
    }

    /// How many of `slots` this kind may have.
    fn part(self, slots: usize) -> usize {
        match self {
            Self::First => slots,
            Self::Retry => slots * 3 / 4,
            Self::Resend => (slots / 4).max(1),
        }
    }
}

/// Claimed work that was checked this long ago is checked again before it starts: another process may have changed its
/// endpoint.
const FRESH: Duration = Duration::from_millis(500);

/// When claimed work was last known to be valid.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Checked {
    /// Before the database was read.
    pub(crate) at: Instant,
    /// How often this process had changed an endpoint by then.
    pub(crate) changes: u64,
}

impl Checked {
    /// Whether it still holds, given the number of `changes` by now.
    pub(crate) fn is_fresh(self, now: Instant, changes: u64) -> bool {
        self.changes == changes && now.saturating_duration_since(self.at) < FRESH
    }
}

/// An attempt that has a slot, until [`Lanes::ended`] or [`Lanes::broken`].
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) attempt: ClaimedAttempt,
    pub(crate) checked: Checked,
    pub(crate) slot: Slot,
}

/// The slot of one attempt in flight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) endpoint: EndpointId,
    account: AccountId,
    kind: Kind,
    troubled: bool,
}

/// Attempts in flight.
#[derive(Debug, Default, Clone, Copy)]
struct Running {
    all: usize,
    by_kind: [usize; Kind::ALL.len()],
    /// Those whose lane was troubled when they started.
    troubled: usize,
}

impl Running {
    fn add(&mut self, slot: &Slot) {
        self.all += 1;
        self.by_kind[slot.kind as usize] += 1;
        self.troubled += usize::from(slot.troubled);
    }

    fn remove(&mut self, slot: &Slot) {
        self.all -= 1;
        self.by_kind[slot.kind as usize] -= 1;
        self.troubled -= usize::from(slot.troubled);
    }

    /// What counts against this kind's share: first attempts may have every slot.
    fn of(&self, kind: Kind) -> usize {
        match kind {
            Kind::First => self.all,
            _ => self.by_kind[kind as usize],
        }
    }

    /// Whether one more attempt fits into `slots`. Lanes whose endpoint is slow, dead or unknown share half of them.
    /// The first attempt of such a lane may use another quarter, so that many such lanes do not starve each other.
    fn has_room(&self, slots: usize, kind: Kind, lane: &Lane) -> bool {
        let for_troubled = if lane.running.all == 0 {
            slots * 3 / 4
        } else {
            slots / 2
        };
        self.all < slots
            && self.of(kind) < kind.part(slots)
            && (!lane.is_troubled() || self.troubled < for_troubled)
    }
}

pub(crate) struct Lanes {
    /// The most attempts in flight in this process.
    most: usize,
    lanes: HashMap<EndpointId, Lane>,
    accounts: HashMap<AccountId, Running>,
    running: Running,
    /// Claimed and not started.
    queued: usize,
    /// Lanes with queued attempts, in the order of their turns.
    ready: VecDeque<EndpointId>,
    /// Queued for longer than [`PATIENCE`], or no longer to be sent.
    returned: Vec<ClaimedAttempt>,
}

impl Lanes {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most: most.max(1),
            lanes: HashMap::new(),
            accounts: HashMap::new(),
            running: Running::default(),
            queued: 0,
            ready: VecDeque::new(),
            returned: Vec::new(),
        }
    }

    /// Replaces the lanes' knowledge of due work by what the database reports.
    pub(crate) fn update_due(
        &mut self,
        due: Vec<DueEndpoint>,
        resends: Vec<EndpointId>,
        at: Instant,
    ) {
        for lane in self.lanes.values_mut() {
            for kind in Kind::ALL {
                lane.supply_mut(kind).due = None;
                lane.supply_mut(kind).has_more = false;
            }
        }
        for due in due {
            let lane = self.lane(due.endpoint, at);
            lane.supply_mut(Kind::First).has_more = due.first;
            lane.supply_mut(Kind::Retry).due = due.retry.map(|wait| at + wait);
        }
        for endpoint in resends {
            self.lane(endpoint, at).supply_mut(Kind::Resend).has_more = true;
        }
    }

    fn lane(&mut self, endpoint: EndpointId, at: Instant) -> &mut Lane {
        self.lanes.entry(endpoint).or_insert_with(|| Lane::new(at))
    }

    /// Returns the attempt to start now, if there is one. It prefers the endpoint whose attempt has just ended, because
    /// its connection is warm, unless others wait for the slot.
    pub(crate) fn next(&mut self, preferred: Option<EndpointId>, at: Instant) -> Option<Started> {
        if let Some(endpoint) = preferred
            && !self.is_contended(endpoint)
            && let Some(started) = self.start(endpoint, at)
        {
            return Some(started);
        }
        for _ in 0..self.ready.len() {
            let endpoint = self.ready.pop_front()?;
            let started = self.start(endpoint, at);
            if let Some(lane) = self.lanes.get_mut(&endpoint) {
                if lane.queued() > 0 {
                    self.ready.push_back(endpoint);
                } else {
                    lane.is_ready = false;
                }
            }
            if started.is_some() {
                return started;
            }
        }
        None
    }

    /// Whether another lane may be waiting for the slot that `endpoint` has just left.
    fn is_contended(&self, endpoint: EndpointId) -> bool {
        let account = self.lanes.get(&endpoint).and_then(|lane| lane.account);
        self.running.all + 1 >= self.most || self.account(account).all + 1 >= ACCOUNT_WINDOW
    }

    fn account(&self, account: Option<AccountId>) -> Running {
        account
            .and_then(|account| self.accounts.get(&account))
            .copied()
            .unwrap_or_default()
    }

    fn start(&mut self, endpoint: EndpointId, at: Instant) -> Option<Started> {
        let account = self.account(self.lanes.get(&endpoint)?.account);
        let lane = self.lanes.get_mut(&endpoint)?;
        for kind in Kind::ALL {
            let before = self.returned.len();
            self.returned
                .extend(lane.supply_mut(kind).drain_late(at, false));
            self.queued -= self.returned.len() - before;
            let fits = lane.has_room(kind)
                && account.has_room(ACCOUNT_WINDOW, kind, lane)
                && self.running.has_room(self.most, kind, lane);
            if fits && let Some(job) = lane.supply_mut(kind).queue.pop_front() {
                self.queued -= 1;
                let slot = Slot {
                    endpoint,
                    account: job.attempt.account_id,
                    kind,
                    troubled: lane.is_troubled(),
                };
                lane.used = at;
                lane.running.add(&slot);
                self.running.add(&slot);
                self.accounts.entry(slot.account).or_default().add(&slot);
                return Some(Started {
                    attempt: job.attempt,
                    checked: job.checked,
                    slot,
                });
            }
        }
        None
    }

    /// The claimed attempts of the endpoint that have not started.
    pub(crate) fn waiting(&self, endpoint: EndpointId) -> Vec<ClaimedWork> {
        let lane = self.lanes.get(&endpoint);
        let supplies = lane
            .into_iter()
            .flat_map(|lane| Kind::ALL.map(|kind| lane.supply(kind)));
        let jobs = supplies.flat_map(|supply| &supply.queue);
        jobs.map(|job| ClaimedWork::from(&job.attempt)).collect()
    }

    /// Keeps and updates the `asked` work that may still be sent. The rest is to be given back.
    pub(crate) fn rechecked(
        &mut self,
        endpoint: EndpointId,
        asked: &[ClaimedWork],
        rechecked: &Rechecked,
        checked: Checked,
    ) {
        let Some(lane) = self.lanes.get_mut(&endpoint) else {
            return;
        };
        let asked: HashSet<AttemptId> = asked.iter().map(|one| one.attempt_id).collect();
        let in_force: HashSet<AttemptId> = rechecked.in_force.iter().copied().collect();
        for kind in Kind::ALL {
            let queue = std::mem::take(&mut lane.supply_mut(kind).queue);
            for mut job in queue {
                let id = job.attempt.attempt_id;
                if asked.contains(&id) && !in_force.contains(&id) {
                    self.returned.push(job.attempt);
                    self.queued -= 1;
                    continue;
                }
                if asked.contains(&id) {
                    job.attempt.url.clone_from(&rechecked.url);
                    job.attempt.secrets.clone_from(&rechecked.secrets);
                    job.checked = checked;
                }
                lane.supply_mut(kind).queue.push_back(job);
            }
        }
    }

    /// Queues an attempt that did not start for giving back.
    pub(crate) fn give_back(&mut self, attempt: ClaimedAttempt) {
        self.returned.push(attempt);
    }

    /// Frees the slot of an attempt that has ended. Returns `true` if it is time to plan: more could be claimed, or a
    /// larger window lets more attempts start at once.
    pub(crate) fn ended(&mut self, slot: &Slot, success: bool, took: Duration) -> bool {
        self.broken(slot);
        self.lanes.get_mut(&slot.endpoint).is_some_and(|lane| {
            lane.record_outcome(success, took);
            lane.needs_claim()
        })
    }

    /// Frees the slot of an attempt that ended without a result.
    pub(crate) fn broken(&mut self, slot: &Slot) {
        self.running.remove(slot);
        if let Some(account) = self.accounts.get_mut(&slot.account) {
            account.remove(slot);
            if account.all == 0 {
                self.accounts.remove(&slot.account);
            }
        }
        if let Some(lane) = self.lanes.get_mut(&slot.endpoint) {
            lane.running.remove(slot);
        }
    }

    /// Takes the attempts to give back: those that have waited too long, or all that wait.
    pub(crate) fn drain_returned(&mut self, at: Instant, all: bool) -> Vec<ClaimedAttempt> {
        let mut returned = std::mem::take(&mut self.returned);
        for lane in self.lanes.values_mut() {
            for kind in Kind::ALL {
                let before = returned.len();
                returned.extend(lane.supply_mut(kind).drain_late(at, all));
                self.queued -= returned.len() - before;
            }
        }
        self.lanes
            .retain(|_, lane| !lane.is_idle() || at - lane.used < FORGOTTEN_AFTER);
        let lanes = &self.lanes;
        self.ready.retain(|endpoint| lanes.contains_key(endpoint));
        returned
    }
}
