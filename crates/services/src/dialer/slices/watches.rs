//! The slices that this process knows of: places in those that are gathered, and watches of those that were handed over.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use offhook_domain::{ConversationId, SliceId};
use offhook_storage::{Conversation, StoreError};

use super::{Place, Watch};
use crate::Shared;
use crate::dialer::record::insist;

/// The slices that this process knows of.
#[derive(Default)]
pub(crate) struct Slices {
    places: Mutex<HashMap<ConversationId, Place>>,
    watches: Mutex<HashMap<SliceId, Weak<Watch>>>,
}

impl Slices {
    pub(super) fn give(&self, id: ConversationId, place: Place) {
        lock(&self.places).insert(id, place);
    }

    /// The call's place in a slice that is being gathered.
    pub(crate) fn take(&self, id: ConversationId) -> Option<Place> {
        lock(&self.places).remove(&id)
    }

    /// The watch of this slice: the one that is there, or this one.
    pub(super) fn keep(&self, watch: Watch) -> Arc<Watch> {
        let mut watches = lock(&self.watches);
        watches.retain(|_, watch| watch.strong_count() > 0);
        let known = watches.get(&watch.slice.id).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let watch = Arc::new(watch);
            watches.insert(watch.slice.id, Arc::downgrade(&watch));
            watch
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The watch of the slice that an orphaned call is in; `None` if it was placed alone.
pub(crate) async fn watch_of(
    shared: &Shared,
    call: &Conversation,
) -> Result<Option<Arc<Watch>>, StoreError> {
    let Some(slice) = insist(|| shared.store.slice_of_call(call.id)).await? else {
        return Ok(None);
    };
    let agent = insist(|| shared.store.agent(call.account_id, call.agent_id)).await?;
    let agent = agent.and_then(|agent| agent.provider_agent_id);
    let watch = Watch::new(slice, call.account_id, agent.unwrap_or_default());
    Ok(Some(shared.registry.slices.keep(watch)))
}
