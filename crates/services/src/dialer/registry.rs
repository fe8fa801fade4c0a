//! The calls that this process holds.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use offhook_domain::{ClaimId, ConversationId};
use offhook_engine::{CallControl, EndRequest};

use super::renewals::Renewals;
use super::slices::Slices;

/// What is known of a call here.
#[derive(Clone)]
pub(crate) struct Held {
    pub(crate) claim: ClaimId,
    pub(crate) control: CallControl,
    /// Whether the carrier has given a sign of life, or the dial has failed. Before that the claim is not renewed, so that a carrier which
    /// never reports back loses the call to its lease.
    pub(crate) alive: bool,
}

/// The calls of this process, by conversation.
#[derive(Default)]
pub(crate) struct Registry {
    calls: Mutex<HashMap<ConversationId, Held>>,
    /// How steadily this process renews its own leases; by this it may judge others'.
    pub(crate) renewals: Renewals,
    /// Calls that are handed over together.
    pub(crate) slices: Slices,
    /// Whether too many calls wait; judged by the dialer, read by every placing.
    pub(crate) queue_is_full: AtomicBool,
}

impl Registry {
    pub(crate) fn insert(&self, id: ConversationId, claim: ClaimId, control: CallControl) {
        self.lock().insert(
            id,
            Held {
                claim,
                control,
                alive: false,
            },
        );
    }

    /// Forgets a call, unless another claim of it has come in since.
    pub(crate) fn remove(&self, id: ConversationId, claim: ClaimId) {
        let mut calls = self.lock();
        if calls.get(&id).is_some_and(|held| held.claim == claim) {
            calls.remove(&id);
        }
    }

    pub(crate) fn mark_alive(&self, id: ConversationId) {
        if let Some(held) = self.lock().get_mut(&id) {
            held.alive = true;
        }
    }

    pub(crate) fn holds(&self, id: ConversationId) -> bool {
        self.lock().contains_key(&id)
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Ends a call, if it is held here; `false` if not.
    pub(crate) fn end(&self, id: ConversationId, request: EndRequest) -> bool {
        let control = self.lock().get(&id).map(|held| held.control.clone());
        if let Some(control) = &control {
            control.end(request);
        }
        control.is_some()
    }

    /// Ends every call that is held here.
    pub(crate) fn end_all(&self, request: EndRequest) {
        let controls: Vec<CallControl> = self
            .lock()
            .values()
            .map(|held| held.control.clone())
            .collect();
        for control in controls {
            control.end(request);
        }
    }

    /// The claims whose leases are to be renewed.
    pub(crate) fn renewable(&self) -> Vec<(ConversationId, ClaimId)> {
        self.lock()
            .iter()
            .filter(|(_, held)| held.alive)
            .map(|(id, held)| (*id, held.claim))
            .collect()
    }

    pub(crate) fn set_queue_full(&self, full: bool) {
        self.queue_is_full.store(full, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ConversationId, Held>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
