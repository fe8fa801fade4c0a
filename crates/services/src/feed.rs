//! Wakes the followers of a conversation in this process.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use offhook_domain::ConversationId;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// The followed conversations. A conversation without followers costs nothing.
#[derive(Clone, Default)]
pub(crate) struct Feed(Arc<Mutex<HashMap<ConversationId, Weak<Notify>>>>);

impl Feed {
    /// Reports that something happened in this conversation.
    pub(crate) fn touch(&self, id: ConversationId) {
        let follower = self.0.lock().get(&id).and_then(Weak::upgrade);
        if let Some(follower) = follower {
            follower.notify_waiters();
        }
    }

    /// Returns what wakes the followers of this conversation.
    pub(crate) fn follow(&self, id: ConversationId) -> Arc<Notify> {
        let mut followed = self.0.lock();
        if let Some(notify) = followed.get(&id).and_then(Weak::upgrade) {
            return notify;
        }
        followed.retain(|_, follower| follower.strong_count() > 0);
        let notify = Arc::new(Notify::new());
        followed.insert(id, Arc::downgrade(&notify));
        notify
    }
}
