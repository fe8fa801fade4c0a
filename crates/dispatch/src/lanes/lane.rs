//! One endpoint: what waits for it, what is under way, and how well it has answered.

use std::collections::VecDeque;
use std::time::Duration;

use offhook_domain::{AccountId, Timestamp};
use tokio::time::Instant;

use super::{Job, Kind, Running};

/// The attempts that an endpoint may have under way until it has shown that it can take more (platform.md W6).
const SMALLEST_WINDOW: usize = 8;

/// The attempts that any endpoint may have under way.
const LARGEST_WINDOW: usize = 64;

/// So many successes in a row double the window.
const STREAK: u32 = 100;

/// An endpoint that takes longer than this to answer is slow.
const SLOW: Duration = Duration::from_secs(1);

/// An endpoint that answers sooner than this soon needs the next claim.
const QUICK: Duration = Duration::from_millis(100);

/// How an endpoint answered last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Unknown,
    Quick,
    Good,
    SlowOrFailing,
}

#[derive(Debug)]
pub(super) struct Lane {
    /// Whose it is; known from the first claim on.
    pub(super) account: Option<AccountId>,
    firsts: VecDeque<Job>,
    retries: VecDeque<Job>,
    resends: VecDeque<Job>,
    pub(super) running: Running,
    pub(super) window: usize,
    streak: u32,
    health: Health,
    /// When its next attempt is due, as far as is known.
    pub(super) due: Option<Timestamp>,
    /// Whether the last claim got all that it asked for, so that there may be more.
    pub(super) has_more: bool,
    /// Whether there are repetitions to claim.
    pub(super) has_resends: bool,
    /// Whether it is among those that wait for their turn.
    pub(super) is_ready: bool,
    /// When it last began an attempt.
    pub(super) used: Instant,
}

impl Lane {
    pub(super) fn new(at: Instant) -> Self {
        Self {
            account: None,
            firsts: VecDeque::new(),
            retries: VecDeque::new(),
            resends: VecDeque::new(),
            running: Running::default(),
            window: SMALLEST_WINDOW,
            streak: 0,
            health: Health::Unknown,
            due: None,
            has_more: false,
            has_resends: false,
            is_ready: false,
            used: at,
        }
    }

    pub(super) fn queue(&mut self, kind: Kind) -> &mut VecDeque<Job> {
        match kind {
            Kind::First => &mut self.firsts,
            Kind::Retry => &mut self.retries,
            Kind::Resend => &mut self.resends,
        }
    }

    pub(super) fn queued(&self) -> usize {
        self.scheduled() + self.resends.len()
    }

    fn scheduled(&self) -> usize {
        self.firsts.len() + self.retries.len()
    }

    pub(super) fn has_room(&self, kind: Kind) -> bool {
        self.running.all < self.window && self.running.of(kind) < kind.part(self.window)
    }

    /// Whether it has to make do with a share of the slots: it is slow, it fails, or nobody knows.
    pub(super) fn is_troubled(&self) -> bool {
        matches!(self.health, Health::Unknown | Health::SlowOrFailing)
    }

    pub(super) fn is_unknown(&self) -> bool {
        self.health == Health::Unknown
    }

    /// How many attempts to claim beyond the window, so that a claim is one for many and not one for each: what the
    /// endpoint gets through in a fraction of a second.
    pub(super) fn ahead(&self) -> usize {
        match self.health {
            Health::Quick => self.window * 4,
            Health::Good => self.window / 2,
            Health::Unknown | Health::SlowOrFailing => 0,
        }
    }

    /// How many attempts it holds.
    pub(super) fn held(&self) -> usize {
        self.running.all + self.queued()
    }

    /// How many attempts of the schedule it could take, and of these how many that are no first ones. Nothing while
    /// most of what was claimed ahead is still there.
    pub(super) fn room(&self) -> (usize, usize) {
        let ahead = self.ahead();
        if ahead > 0 && self.scheduled() > ahead / 2 {
            return (0, 0);
        }
        let target = self.window + ahead;
        let held = self.running.all - self.running.resends + self.scheduled();
        let retries = Kind::Retry.part(target);
        (
            target.saturating_sub(held),
            retries.saturating_sub(self.running.retries + self.retries.len()),
        )
    }

    /// How many repetitions it could take.
    pub(super) fn room_for_resends(&self) -> usize {
        Kind::Resend
            .part(self.window)
            .saturating_sub(self.running.resends + self.resends.len())
    }

    pub(super) fn learn(&mut self, success: bool, took: Duration) {
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
}
