//! A conversation as whoever has the page's connection holds it.

use bytes::Bytes;
use offhook_boxed::boxed;
use offhook_browser::{PageEnd, Refused, Sent};
use offhook_domain::{CallOutcome, ConversationId};
use tokio::sync::mpsc;

/// What a page is sent.
#[derive(Debug)]
pub enum TalkEvent {
    /// Sound, to be played behind what was sent before.
    Sound(Bytes),
    /// Whatever was sent and not played yet is not to be played any more: the agent was interrupted.
    Clear,
    /// Somebody said something.
    Turn {
        /// The agent; else the visitor.
        is_agent: bool,
        /// What was heard of it.
        text: String,
        /// Whether it was cut short.
        is_cut: bool,
    },
    /// The conversation is over; nothing comes behind it. `None`: how, is not known here.
    Ended(Option<CallOutcome>),
}

/// A conversation that has begun. Dropped, the visitor has hung up.
pub struct Talk {
    id: ConversationId,
    /// Until the visitor hangs up.
    page: Option<PageEnd>,
    news: mpsc::Receiver<TalkEvent>,
    /// No more sound comes.
    is_quiet: bool,
    /// No more news come.
    is_told: bool,
    outcome: Option<CallOutcome>,
}

#[boxed]
impl Talk {
    pub(super) const fn new(
        id: ConversationId,
        page: PageEnd,
        news: mpsc::Receiver<TalkEvent>,
    ) -> Self {
        Self {
            id,
            page: Some(page),
            news,
            is_quiet: false,
            is_told: false,
            outcome: None,
        }
    }

    /// Its id, which is the conversation's.
    pub const fn id(&self) -> ConversationId {
        self.id
    }

    /// Takes sound of the page's microphone. `false` if the page is to be let go of: it sends too large a frame, what is no
    /// sound, or more than twice as fast as it sounds.
    pub fn hear(&self, pcm: &[u8]) -> bool {
        let Some(page) = &self.page else { return true };
        match page.hear(pcm) {
            Ok(()) => true,
            Err(Refused::TooLarge | Refused::NoSound | Refused::TooFast) => false,
        }
    }

    /// Takes a key that the visitor pressed.
    pub fn press(&self, key: char) {
        if let Some(page) = &self.page {
            page.press(key);
        }
    }

    /// The visitor hangs up, and stays to be told how it ended. What is heard or pressed from now on is nobody's.
    pub fn hang_up(&mut self) {
        self.page = None;
        self.is_quiet = true;
    }

    /// What the page is to be sent next, [`TalkEvent::Ended`] last. Safe to cancel.
    pub async fn next(&mut self) -> TalkEvent {
        while !(self.is_quiet && self.is_told) {
            tokio::select! {
                biased;
                // A cut first, then what it left of a sentence.
                sent = sent(self.page.as_ref()), if !self.is_quiet => match sent {
                    Some(Sent::Sound(sound)) => return TalkEvent::Sound(sound),
                    Some(Sent::Clear) => return TalkEvent::Clear,
                    None => self.is_quiet = true,
                },
                news = self.news.recv(), if !self.is_told => match news {
                    Some(TalkEvent::Ended(outcome)) => self.outcome = outcome,
                    Some(said) => return said,
                    None => self.is_told = true,
                },
            }
        }
        TalkEvent::Ended(self.outcome)
    }
}

async fn sent(page: Option<&PageEnd>) -> Option<Sent> {
    page?.next().await
}
