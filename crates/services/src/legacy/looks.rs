//! The legacy calls that this process follows: each can be told to poll its provider now.

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::prelude::*;

/// The calls followed here. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Looks(Arc<Mutex<HashMap<ConversationId, Arc<Notify>>>>);

/// A followed call, until this is dropped.
pub(crate) struct Look {
    looks: Looks,
    id: ConversationId,
    notify: Arc<Notify>,
}

impl Looks {
    /// Starts following a call.
    pub(crate) fn of(&self, id: ConversationId) -> Look {
        let notify = Arc::<Notify>::default();
        self.0.lock().insert(id, notify.clone());
        Look {
            looks: self.clone(),
            id,
            notify,
        }
    }

    /// Polls the provider about a call now; `false` if it is not followed here.
    pub(crate) fn wake(&self, id: ConversationId) -> bool {
        let look = self.0.lock().get(&id).cloned();
        if let Some(notify) = &look {
            notify.notify_one();
        }
        look.is_some()
    }
}

impl Look {
    /// Waits until a poll is due; an earlier wake-up counts. Cancel safe.
    pub(crate) async fn woken(&self) {
        self.notify.notified().await;
    }
}

impl Drop for Look {
    fn drop(&mut self) {
        let mut looks = self.looks.0.lock();
        // Another claim of the call may have started following it since.
        let is_ours = |known: &Arc<Notify>| Arc::ptr_eq(known, &self.notify);
        if looks.get(&self.id).is_some_and(is_ours) {
            looks.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use offhook_domain::Timestamp;

    use super::*;

    #[tokio::test]
    async fn a_word_reaches_the_one_that_follows_now_and_is_not_lost_if_it_comes_first() {
        let looks = Looks::default();
        let id = ConversationId::mint(Timestamp::from_micros(0), [1; 10]);
        assert!(!looks.wake(id));
        let first = looks.of(id);
        let second = looks.of(id);
        drop(first);
        assert!(looks.wake(id));
        second.woken().await;
        drop(second);
        assert!(!looks.wake(id));
    }
}
