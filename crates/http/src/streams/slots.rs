//! How many event streams a key may have open.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use futures_util::FutureExt as _;
use offhook_domain::{AccountId, KeyId};
use offhook_services::Conversations;
use offhook_services::store::StoreError;
use parking_lot::Mutex;

pub(super) const MAX_STREAMS_PER_KEY: i32 = 10;

/// How many streams each key has open in this process.
#[derive(Debug, Default)]
pub(crate) struct StreamSlots {
    open: Mutex<HashMap<KeyId, i32>>,
    /// Serializes the notes, so that the last one written is correct.
    noting: tokio::sync::Mutex<()>,
}

/// One open stream; dropping it frees its slot.
pub(crate) struct Slot {
    slots: Arc<StreamSlots>,
    conversations: Conversations,
    whose: (AccountId, KeyId),
}

impl StreamSlots {
    fn take(&self, key: KeyId) -> bool {
        let mut open = self.open.lock();
        let count = open.entry(key).or_insert(0);
        let has_place = *count < MAX_STREAMS_PER_KEY;
        *count += i32::from(has_place);
        has_place
    }

    fn give_back(&self, key: KeyId) {
        if let Entry::Occupied(mut entry) = self.open.lock().entry(key) {
            *entry.get_mut() -= 1;
            if *entry.get() <= 0 {
                entry.remove();
            }
        }
    }

    fn count(&self, key: KeyId) -> i32 {
        self.open.lock().get(&key).copied().unwrap_or(0)
    }

    /// Tells the other processes how many streams of the key are open here. With `most`, returns `false` if that is
    /// too many.
    async fn note(
        &self,
        conversations: &Conversations,
        whose: (AccountId, KeyId),
        most: Option<i32>,
    ) -> Result<bool, StoreError> {
        let _one = self.noting.lock().await;
        let open = self.count(whose.1);
        conversations.note_streams(whose, open, most).await
    }
}

impl Slot {
    /// Takes a slot for a stream of this account's key, counted over all processes. `None` if the key has none left.
    pub(crate) async fn take(
        slots: &Arc<StreamSlots>,
        conversations: &Conversations,
        whose: (AccountId, KeyId),
    ) -> Result<Option<Self>, StoreError> {
        if !slots.take(whose.1) {
            return Ok(None);
        }
        let slot = Self {
            slots: slots.clone(),
            conversations: conversations.clone(),
            whose,
        };
        let most = Some(MAX_STREAMS_PER_KEY);
        let noting = slot.slots.note(&slot.conversations, slot.whose, most);
        Ok(noting.await?.then_some(slot))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.give_back(self.whose.1);
        let (slots, conversations, whose) =
            (self.slots.clone(), self.conversations.clone(), self.whose);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(
                async move {
                    if let Err(error) = slots.note(&conversations, whose, None).await {
                        tracing::warn!(%error, "that an event stream ended is not noted for the other processes");
                    }
                }
                .boxed(),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_ten_places_and_gets_them_back() {
        let (slots, key) = (StreamSlots::default(), KeyId::nil());
        assert!((0..10).all(|_| slots.take(key)));
        assert!(!slots.take(key));
        slots.give_back(key);
        assert!(slots.take(key));
        (0..10).for_each(|_| slots.give_back(key));
        assert!(slots.open.lock().is_empty());
    }
}
