//! Which request placed a call, from its acceptance to its claim: the call's log lines carry both ids.

use std::collections::BTreeMap;

use offhook_domain::{ConversationId, RequestId};
use parking_lot::Mutex;

/// As many calls may wait; those that other processes claim are forgotten behind newer ones.
const AT_MOST: usize = 10_000;

/// The requests that placed calls in this process. A call that another process claims, or one after a restart, is tied
/// to its request by the line `call accepted` alone.
#[derive(Default)]
pub(crate) struct PlacedBy(Mutex<BTreeMap<ConversationId, RequestId>>);

impl PlacedBy {
    /// Remembers a call's request.
    pub(crate) fn note(&self, call: ConversationId, request: RequestId) {
        let mut calls = self.0.lock();
        calls.insert(call, request);
        if calls.len() > AT_MOST {
            // Ids grow with time: the first one is the oldest.
            calls.pop_first();
        }
    }

    /// The request of a call that begins, asked once.
    pub(crate) fn take(&self, call: ConversationId) -> Option<RequestId> {
        let mut calls = self.0.lock();
        calls.remove(&call)
    }
}
