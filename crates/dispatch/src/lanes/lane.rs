//! One endpoint: its waiting attempts, its attempts in flight, and how well it has answered.

use std::collections::VecDeque;
use std::time::Duration;

use offhook_domain::AccountId;
use offhook_storage::ClaimedAttempt;
use tokio::time::Instant;

use super::{Checked, Kind, PATIENCE, Running};

/// The attempts that an endpoint may have in flight until it has proved that it can take more.
const SMALLEST_WINDOW: usize = 8;

/// The attempts that any endpoint may have in flight.
const LARGEST_WINDOW: usize = 64;

/// This many successes in a row double the window.
const STREAK: u32 = 100;

/// An endpoint that takes longer than this to answer is slow.
const SLOW: Duration = Duration::from_secs(1);

/// An endpoint that answers faster than this soon needs the next claim.
const QUICK: Duration = Duration::from_millis(100);

/// How the endpoint answered last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Unknown,
    Quick,
    Good,
    SlowOrFailing,
}

/// A claimed attempt that waits for a slot.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) attempt: ClaimedAttempt,
    pub(super) claimed: Instant,
    pub(super) checked: Checked,
}

/// The attempts of one kind for an endpoint.
#[derive(Debug, Default)]
pub(super) struct Supply {
    /// Claimed, in the order of the claims.
    pub(super) queue: VecDeque<Job>,
    /// When the next unclaimed attempt is due, as far as known.
    pub(super) due: Option<Instant>,
    /// Whether the last claim returned as many as it requested, so that there may be more.
    pub(super) has_more: bool,
}

impl Supply {
    pub(super) fn can_be_claimed(&self, now: Instant) -> bool {
        self.has_more || self.due.is_some_and(|due| due <= now)
    }

    /// Takes out the attempts that have waited too long, or all.
    pub(super) fn drain_late(
        &mut self,
        at: Instant,
        all: bool,
    ) -> impl Iterator<Item = ClaimedAttempt> {
        let late = self
            .queue
            .partition_point(|job| all || at - job.claimed >= PATIENCE);
        self.queue.drain(..late).map(|job| job.attempt)
    }
}

#[derive(Debug)]
pub(super) struct Lane {
    /// The endpoint's account, known from the first claim on.
    pub(super) account: Option<AccountId>,
    /// Indexed by [`Kind`].
    supplies: [Supply; Kind::ALL.len()],
    pub(super) running: Running,
    pub(super) window: usize,
    streak: u32,
    health: Health,
    /// Whether it is in the queue of lanes that wait for their turn.
    pub(super) is_ready: bool,
    /// When it last started an attempt.
    pub(super) used: Instant,
}

impl Lane {
    pub(super) fn new(at: Instant) -> Self {
        Self {
            account: None,
            supplies: Default::default(),
            running: Running::default(),
            window: SMALLEST_WINDOW,
            streak: 0,
            health: Health::Unknown,
            is_ready: false,
            used: at,
        }
    }

    pub(super) fn supply(&self, kind: Kind) -> &Supply {
        &self.supplies[kind as usize]
    }

    pub(super) fn supply_mut(&mut self, kind: Kind) -> &mut Supply {
        &mut self.supplies[kind as usize]
    }

    fn queued_of(&self, kind: Kind) -> usize {
        self.supply(kind).queue.len()
    }

    pub(super) fn queued(&self) -> usize {
        Kind::ALL.map(|kind| self.queued_of(kind)).iter().sum()
    }

    /// How many attempts it holds, started or not.
    pub(super) fn total(&self) -> usize {
        self.running.all + self.queued()
    }

    /// Whether the endpoint's own limits allow one more attempt.
    pub(super) fn has_room(&self, kind: Kind) -> bool {
        self.running.all < self.window && self.running.of(kind) < kind.part(self.window)
    }

    /// How many scheduled attempts it could take, and how many of these may be retries. Both are 0 while most of what
    /// was claimed ahead is still there.
    pub(super) fn room(&self) -> (usize, usize) {
        let (ahead, retries) = (self.ahead(), self.queued_of(Kind::Retry));
        let waiting = self.queued_of(Kind::First) + retries;
        if ahead > 0 && waiting > ahead / 2 {
            return (0, 0);
        }
        let target = self.window + ahead;
        let held = self.running.all - self.running.of(Kind::Resend) + waiting;
        (
            target.saturating_sub(held),
            Kind::Retry
                .part(target)
                .saturating_sub(self.running.of(Kind::Retry) + retries),
        )
    }

    /// How many resends it could take.
    pub(super) fn room_for_resends(&self) -> usize {
        Kind::Resend
            .part(self.window)
            .saturating_sub(self.running.of(Kind::Resend) + self.queued_of(Kind::Resend))
    }

    /// Whether the next plan would serve it: there is more to claim, or an attempt has waited for a free slot.
    pub(super) fn needs_claim(&self) -> bool {
        let is_short = self.queued() <= self.ahead() / 2;
        (is_short && self.has_more()) || (self.queued() > 0 && self.running.all + 1 < self.window)
    }

    /// Whether it is limited to a share of the slots: it is slow, it fails, or its health is unknown.
    pub(super) fn is_troubled(&self) -> bool {
        matches!(self.health, Health::Unknown | Health::SlowOrFailing)
    }

    pub(super) fn is_failing(&self) -> bool {
        self.health == Health::SlowOrFailing
    }

    /// How many attempts to claim beyond the window, so that one claim serves many attempts: about what the endpoint
    /// handles in a fraction of a second.
    fn ahead(&self) -> usize {
        match self.health {
            Health::Quick => self.window * 8,
            Health::Good => self.window / 2,
            Health::Unknown | Health::SlowOrFailing => 0,
        }
    }

    /// Updates window and health from how an attempt ended.
    pub(super) fn record_outcome(&mut self, success: bool, took: Duration) {
        if !success {
            self.streak = 0;
            self.window = SMALLEST_WINDOW;
            self.health = Health::SlowOrFailing;
            return;
        }
        self.streak = self.streak.saturating_add(1);
        if self.streak.is_multiple_of(STREAK) {
            self.window = (self.window * 2).min(LARGEST_WINDOW);
        }
        self.health = match took {
            took if took < QUICK => Health::Quick,
            took if took < SLOW => Health::Good,
            _ => Health::SlowOrFailing,
        };
    }

    /// Whether dropping the lane would lose only how well its endpoint answered.
    pub(super) fn is_idle(&self) -> bool {
        self.total() == 0 && !self.has_more()
    }

    /// Whether there are unclaimed attempts, now or later.
    fn has_more(&self) -> bool {
        let mut supplies = self.supplies.iter();
        supplies.any(|supply| supply.has_more || supply.due.is_some())
    }
}
