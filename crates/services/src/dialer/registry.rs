//! The calls that this process holds.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use offhook_domain::{AccountId, ClaimId, ConversationId};
use offhook_engine::{CallControl, EndRequest};
use parking_lot::Mutex;

use super::renewals::Renewals;

/// A call held here.
#[derive(Clone)]
pub(crate) struct Held {
    pub(crate) claim: ClaimId,
    pub(crate) control: CallControl,
    /// Whether the carrier has reported back, or the dial has failed. Before that the claim is not renewed, so that a
    /// call whose carrier never reports back is lost to its lease.
    pub(crate) alive: bool,
}

#[derive(Default)]
pub(crate) struct Registry {
    calls: Mutex<Calls>,
    /// How steadily this process renews its own leases, which decides whether it may judge others'.
    pub(crate) renewals: Renewals,
    /// Whether too many calls wait; the dialer updates it, and every placement reads it.
    pub(crate) queue: Queue,
}

/// An account's share of the queue: with half of it, an account cannot block the others.
const QUEUE_SHARE: i64 = 2;

/// The accounts whose share of the queue is full.
#[derive(Default)]
pub(crate) struct Queue {
    is_full: AtomicBool,
    accounts: Mutex<HashSet<AccountId>>,
}

impl Queue {
    pub(crate) fn judge(&self, waiting: &[(AccountId, i64)], most: i64) {
        let all: i64 = waiting.iter().map(|(_, calls)| calls).sum();
        self.is_full.store(all >= most, Ordering::Relaxed);
        let full = waiting
            .iter()
            .filter(|(_, calls)| *calls >= most / QUEUE_SHARE);
        *self.accounts.lock() = full.map(|(account, _)| *account).collect();
    }

    pub(crate) fn is_full_for(&self, account: AccountId) -> bool {
        self.is_full.load(Ordering::Relaxed) || self.accounts.lock().contains(&account)
    }
}

#[derive(Default)]
struct Calls {
    held: HashMap<ConversationId, Held>,
    /// Slots reserved for calls being claimed.
    kept: usize,
}

impl Calls {
    fn insert(&mut self, id: ConversationId, claim: ClaimId, control: CallControl) {
        let held = Held {
            claim,
            control,
            alive: false,
        };
        self.held.insert(id, held);
    }
}

/// Slots reserved while their calls are written to the database, so that concurrent callers find them taken. Dropping
/// this frees the unused ones.
pub(crate) struct Places<'a> {
    registry: &'a Registry,
    kept: usize,
}

impl Places<'_> {
    pub(crate) const fn len(&self) -> usize {
        self.kept
    }

    /// Releases all but `needed` slots.
    pub(crate) fn only(&mut self, needed: usize) {
        let more = self.kept.saturating_sub(needed);
        self.kept -= more;
        self.registry.calls.lock().kept -= more;
    }

    /// Gives a slot to a call. A call without a slot is held too, because it is claimed.
    pub(crate) fn give(&mut self, id: ConversationId, claim: ClaimId, control: CallControl) {
        let mut calls = self.registry.calls.lock();
        if self.kept > 0 {
            self.kept -= 1;
            calls.kept -= 1;
        }
        calls.insert(id, claim, control);
    }
}

impl Drop for Places<'_> {
    fn drop(&mut self) {
        self.registry.calls.lock().kept -= self.kept;
    }
}

impl Registry {
    /// Reserves up to `wanted` slots, of `most` in all; `None` if none is free.
    pub(crate) fn keep(&self, wanted: usize, most: usize) -> Option<Places<'_>> {
        let mut calls = self.calls.lock();
        let free = most.saturating_sub(calls.held.len() + calls.kept);
        let kept = wanted.min(free);
        calls.kept += kept;
        drop(calls);
        (kept > 0).then_some(Places {
            registry: self,
            kept,
        })
    }

    /// Holds a call that is already under way, even without a free slot.
    pub(crate) fn insert(&self, id: ConversationId, claim: ClaimId, control: CallControl) {
        self.calls.lock().insert(id, claim, control);
    }

    /// Forgets a call, unless it has been inserted again with another claim.
    pub(crate) fn remove(&self, id: ConversationId, claim: ClaimId) {
        let mut calls = self.calls.lock();
        if calls.held.get(&id).is_some_and(|held| held.claim == claim) {
            calls.held.remove(&id);
        }
    }

    pub(crate) fn mark_alive(&self, id: ConversationId) {
        if let Some(held) = self.calls.lock().held.get_mut(&id) {
            held.alive = true;
        }
    }

    pub(crate) fn holds(&self, id: ConversationId) -> bool {
        self.calls.lock().held.contains_key(&id)
    }

    pub(crate) fn len(&self) -> usize {
        self.calls.lock().held.len()
    }

    /// Ends a call if it is held here; `false` if not.
    pub(crate) fn end(&self, id: ConversationId, request: EndRequest) -> bool {
        let control = self
            .calls
            .lock()
            .held
            .get(&id)
            .map(|held| held.control.clone());
        if let Some(control) = &control {
            control.end(request);
        }
        control.is_some()
    }

    /// Ends every call held here.
    pub(crate) fn end_all(&self, request: EndRequest) {
        let controls: Vec<CallControl> = self
            .calls
            .lock()
            .held
            .values()
            .map(|held| held.control.clone())
            .collect();
        for control in controls {
            control.end(request);
        }
    }

    /// The claims whose leases must be renewed.
    pub(crate) fn renewable(&self) -> Vec<(ConversationId, ClaimId)> {
        self.calls
            .lock()
            .held
            .iter()
            .filter(|(_, held)| held.alive)
            .map(|(id, held)| (*id, held.claim))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use offhook_domain::Timestamp;
    use offhook_storage::mint;

    use super::*;

    const AT: Timestamp = Timestamp::from_micros(0);

    #[test]
    fn an_account_with_its_share_of_the_queue_keeps_no_other_out() {
        let (one, other): (AccountId, AccountId) = (mint(AT), mint(AT));
        let queue = Queue::default();
        queue.judge(&[(one, 5), (other, 4)], 10);
        assert!(queue.is_full_for(one) && !queue.is_full_for(other));
        queue.judge(&[(one, 4), (other, 4), (mint(AT), 2)], 10);
        assert!(queue.is_full_for(one) && queue.is_full_for(other) && queue.is_full_for(mint(AT)));
        queue.judge(&[], 10);
        assert!(!queue.is_full_for(one));
    }

    #[test]
    fn a_place_is_one_calls_alone_until_it_is_given_back_or_its_call_is_over() {
        let registry = Registry::default();
        let mut mine = registry.keep(2, 3).unwrap();
        let theirs = registry.keep(2, 3).unwrap();
        assert_eq!((mine.len(), theirs.len()), (2, 1), "one is left");
        assert!(registry.keep(1, 3).is_none());
        let (id, claim) = (mint(AT), mint(AT));
        mine.give(id, claim, CallControl::new());
        assert_eq!((mine.len(), registry.len()), (1, 1));
        assert!(registry.keep(1, 3).is_none(), "it has its place still");
        drop(theirs);
        assert!(registry.keep(1, 3).is_some());
        drop(mine);
        let mut rest = registry.keep(9, 3).unwrap();
        assert_eq!(rest.len(), 2);
        rest.only(1);
        assert_eq!(registry.keep(9, 3).map(|places| places.len()), Some(1));
        drop(rest);
        registry.remove(id, claim);
        assert_eq!(registry.keep(9, 3).map(|places| places.len()), Some(3));
        assert!(registry.keep(0, 3).is_none());
    }
}
