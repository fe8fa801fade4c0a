//! What to claim next.

use std::collections::HashMap;

use offhook_domain::{AccountId, EndpointId};
use offhook_storage::{ClaimSlots, ClaimedAttempt};
use tokio::time::Instant;

use super::lane::{Job, Lane};
use super::{ACCOUNT_WINDOW, Checked, Kind, Lanes, Running};

/// The most attempts per claim: a claim is one short transaction.
const CLAIM_AT_MOST: usize = 512;

const ENDPOINTS_AT_MOST: usize = 128;

/// The fewest attempts granted to an endpoint where memory is short.
const GRANT_AT_LEAST: usize = 4;

#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// How much to claim per endpoint.
    pub(crate) slots: Vec<ClaimSlots>,
    /// When the next attempt that is not due yet falls due, over all endpoints.
    pub(crate) next_due: Option<Instant>,
}

impl Plan {
    pub(crate) fn size(&self) -> usize {
        self.slots.iter().map(size).sum()
    }
}

impl Lanes {
    /// Plans what to claim at `now`: a little ahead for healthy endpoints, only what can start at once for the others.
    /// Endpoints that hold the fewest attempts come first; among equals, those that have waited longest.
    pub(crate) fn plan(&self, now: Instant) -> Plan {
        let mut plan = Plan::default();
        let mut wanting: Vec<(&EndpointId, &Lane)> = Vec::new();
        for (endpoint, lane) in &self.lanes {
            let supplies = Kind::ALL.map(|kind| lane.supply(kind));
            if supplies.iter().any(|supply| supply.can_be_claimed(now)) {
                wanting.push((endpoint, lane));
            }
            let later = supplies
                .iter()
                .filter_map(|supply| supply.due)
                .filter(|due| *due > now);
            plan.next_due = plan.next_due.into_iter().chain(later).min();
        }
        wanting.sort_by_key(|(_, lane)| (lane.is_failing(), lane.total(), lane.used));
        let mut budget = (self.most * 2).saturating_sub(self.queued);
        let mut shares = Shares::default();
        let mut asked = 0;
        for (n, (endpoint, lane)) in wanting.iter().enumerate() {
            if asked >= CLAIM_AT_MOST || plan.slots.len() >= ENDPOINTS_AT_MOST {
                break;
            }
            let fair = (budget / (wanting.len() - n)).max(GRANT_AT_LEAST);
            let slots = self.grant(**endpoint, lane, fair, &mut shares, now);
            let size = size(&slots);
            if size > 0 {
                asked += size;
                budget = budget.saturating_sub(size);
                plan.slots.push(slots);
            }
        }
        plan
    }

    fn grant(
        &self,
        endpoint: EndpointId,
        lane: &Lane,
        fair: usize,
        shares: &mut Shares,
        now: Instant,
    ) -> ClaimSlots {
        let claimable = |kind: Kind| lane.supply(kind).can_be_claimed(now);
        let (mut room, most_retries) = lane.room();
        room = room.min(fair);
        if lane.is_troubled() {
            room = room.min(shares.troubled(self, lane));
        }
        let retries = match claimable(Kind::Retry) {
            true => most_retries.min(room),
            false => 0,
        };
        let firsts = match claimable(Kind::First) {
            true => room - retries,
            false => 0,
        };
        let resends = match claimable(Kind::Resend) {
            true => lane.room_for_resends().min(
                Kind::Resend
                    .part(self.most)
                    .saturating_sub(self.running.of(Kind::Resend) + shares.resends),
            ),
            false => 0,
        };
        shares.reserve(lane, firsts + retries, resends);
        ClaimSlots {
            endpoint,
            firsts,
            retries,
            resends,
        }
    }

    /// Queues what a claim returned; `checked` is from before the claim.
    ///
    /// Returns `true` if a retry was claimed and there was no more of its kind: only a poll finds out when one is due
    /// again.
    pub(crate) fn claimed(
        &mut self,
        plan: &Plan,
        attempts: Vec<ClaimedAttempt>,
        checked: Checked,
    ) -> bool {
        let at = checked.at;
        let mut got: HashMap<(EndpointId, Kind), usize> = HashMap::new();
        for attempt in attempts {
            let (endpoint, kind) = (attempt.endpoint_id, Kind::of(&attempt));
            *got.entry((endpoint, kind)).or_default() += 1;
            let account = attempt.account_id;
            let lane = self.lane(endpoint, at);
            lane.account = Some(account);
            lane.supply_mut(kind).queue.push_back(Job {
                attempt,
                claimed: at,
                checked,
            });
            let was_ready = std::mem::replace(&mut lane.is_ready, true);
            if !was_ready {
                self.ready.push_back(endpoint);
            }
            self.queued += 1;
        }
        let mut is_unknown = false;
        for slots in &plan.slots {
            let Some(lane) = self.lanes.get_mut(&slots.endpoint) else {
                continue;
            };
            for (kind, asked) in [
                (Kind::First, slots.firsts),
                (Kind::Retry, slots.retries),
                (Kind::Resend, slots.resends),
            ] {
                if asked > 0 {
                    let supply = lane.supply_mut(kind);
                    supply.due = None;
                    supply.has_more = got
                        .get(&(slots.endpoint, kind))
                        .is_some_and(|n| *n >= asked);
                    is_unknown |= kind == Kind::Retry && !supply.has_more;
                }
            }
        }
        is_unknown
    }
}

fn size(slots: &ClaimSlots) -> usize {
    slots.firsts + slots.retries + slots.resends
}

/// What a plan has already granted.
#[derive(Default)]
struct Shares {
    /// To troubled lanes of each account, and in total.
    accounts: HashMap<AccountId, usize>,
    troubled: usize,
    resends: usize,
}

impl Shares {
    /// How many attempts of a troubled lane could start at once.
    fn troubled(&self, lanes: &Lanes, lane: &Lane) -> usize {
        let is_first = lane.total() == 0;
        let free = |slots: usize, running: Running, given: usize| {
            let taken = running.troubled + given;
            let half = (slots / 2).saturating_sub(taken);
            let first = usize::from(is_first && taken < slots * 3 / 4);
            half.max(first).min(slots.saturating_sub(running.all))
        };
        let given = lane.account.and_then(|a| self.accounts.get(&a)).copied();
        free(lanes.most, lanes.running, self.troubled).min(free(
            ACCOUNT_WINDOW,
            lanes.account(lane.account),
            given.unwrap_or(0),
        ))
    }

    fn reserve(&mut self, lane: &Lane, scheduled: usize, resends: usize) {
        self.resends += resends;
        if lane.is_troubled() {
            self.troubled += scheduled;
            if let Some(account) = lane.account {
                *self.accounts.entry(account).or_default() += scheduled;
            }
        }
    }
}
