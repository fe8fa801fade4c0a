//! Maps a call to the request that placed it, from acceptance to claim, so that the call's log lines carry both ids.

use std::collections::BTreeMap;

use offhook_domain::{ConversationId, RequestId};
use parking_lot::Mutex;

/// How many calls are remembered. Calls that other processes claim drop out as newer ones arrive.
const AT_MOST: usize = 10_000;

/// The requests that placed calls in this process. If another process claims the call, or after a restart, only the
/// line `call accepted` ties it to its request.
#[derive(Default)]
pub(crate) struct PlacedBy(Mutex<BTreeMap<ConversationId, RequestId>>);

impl PlacedBy {
    pub(crate) fn note(&self, call: ConversationId, request: RequestId) {
        let mut calls = self.0.lock();
        calls.insert(call, request);
        if calls.len() > AT_MOST {
            // Ids grow with time, so the first one is the oldest.
            calls.pop_first();
        }
    }

    /// Removes and returns the request of a call that begins.
    pub(crate) fn take(&self, call: ConversationId) -> Option<RequestId> {
        let mut calls = self.0.lock();
        calls.remove(&call)
    }
}
