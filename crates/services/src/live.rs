//! The conversations that this process holds, and who follows them.

use offhook_domain::ConversationId;
use tokio_util::task::TaskTracker;

use crate::feed::Feed;
use crate::signals::{Signal, Signals};
use crate::{calls, chats, dialer, legacy, talks};

#[derive(Default)]
pub(crate) struct Live {
    pub(crate) registry: dialer::Registry,
    /// The calls that this process holds, as tasks; the process ends after them.
    pub(crate) held: TaskTracker,
    /// Answers and endings of text conversations under way here.
    pub(crate) chats: chats::Work,
    /// The event listeners of pages with a voice conversation here.
    pub(crate) listeners: talks::Listeners,
    /// The legacy calls that this process follows.
    pub(crate) legacy_looks: legacy::Looks,
    /// The requests that placed the calls waiting here.
    pub(crate) placed_by: calls::PlacedBy,
    pub(crate) feed: Feed,
    pub(crate) signals: Signals,
}

impl Live {
    /// Wakes those that follow this conversation, here and in other processes.
    pub(crate) fn touch(&self, id: ConversationId) {
        self.feed.touch(id);
        if self.signals.is_followed(id) {
            self.signals.say(Signal::Touched(id));
        }
    }
}
