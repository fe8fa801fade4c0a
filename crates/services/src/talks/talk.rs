//! A spoken conversation, for the owner of the page's connection.

use bytes::Bytes;
use offhook_boxed::boxed;
use offhook_browser::{PageEnd, Refused, Sent};
use offhook_domain::{CallOutcome, ConversationId};
use offhook_engine::ports::Passage;
use offhook_engine::{Turn, TurnLatency, TurnRole};
use tokio::sync::mpsc;

/// An event for the page.
#[derive(Debug)]
pub enum TalkEvent {
    /// Audio to play after what was sent before.
    Sound(Bytes),
    /// Discard audio that was sent and not played yet: the agent was interrupted.
    Clear,
    /// The agent or the visitor said something.
    Turn {
        /// The agent said it, else the visitor.
        is_agent: bool,
        /// The part that was heard.
        text: String,
        /// Whether it was cut short.
        is_cut: bool,
        /// How often an honest sentence took the place of a claim.
        unproven: u32,
    },
    /// A tool was called: its name, arguments and answer as transcripts have them. Members trying an agent see it.
    Tool(String),
    /// The next reply is based on these passages. Members trying an agent see them.
    Passages(Vec<Passage>),
    /// How long the reply that is heard now took. Members trying an agent see it.
    Measured(TurnLatency),
    /// The conversation is over, and this is the last event. `None`: the outcome is not known here.
    Ended(Option<CallOutcome>),
}

impl TalkEvent {
    /// The event of a turn.
    pub(crate) fn of(turn: Turn) -> Self {
        match turn.role {
            TurnRole::Tool => Self::Tool(turn.text),
            role => Self::Turn {
                is_agent: role == TurnRole::Agent,
                unproven: turn.source.map_or(0, |source| source.unproven),
                text: turn.text,
                is_cut: turn.interrupted,
            },
        }
    }
}

/// A running conversation. Dropping it hangs up for the visitor.
pub struct Talk {
    id: ConversationId,
    /// Until the visitor hangs up.
    page: Option<PageEnd>,
    news: mpsc::Receiver<TalkEvent>,
    /// No more audio comes.
    is_quiet: bool,
    /// No more events come.
    is_told: bool,
    outcome: Option<CallOutcome>,
}

#[boxed]
impl Talk {
    pub(crate) const fn new(
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

    /// Its id, which is also the conversation's.
    pub const fn id(&self) -> ConversationId {
        self.id
    }

    /// Accepts audio of the page's microphone. `false` if the page must be disconnected: it sends a frame that is too
    /// large or is not audio, or sends at more than twice real time.
    pub fn hear(&self, pcm: &[u8]) -> bool {
        let Some(page) = &self.page else { return true };
        match page.push_audio(pcm) {
            Ok(()) => true,
            Err(Refused::TooLarge | Refused::NoSound | Refused::TooFast) => false,
        }
    }

    /// Accepts a key that the visitor pressed.
    pub fn press(&self, key: char) {
        if let Some(page) = &self.page {
            page.press(key);
        }
    }

    /// Hangs up for the visitor, who still receives the outcome. Later audio and keys are ignored.
    pub fn hang_up(&mut self) {
        self.page = None;
        self.is_quiet = true;
    }

    /// The next event for the page, [`TalkEvent::Ended`] last. Cancel safe.
    pub async fn next(&mut self) -> TalkEvent {
        while !(self.is_quiet && self.is_told) {
            tokio::select! {
                biased;
                // A `Clear` first, then the turn that it cut short.
                sent = sent(self.page.as_ref()), if !self.is_quiet => match sent {
                    Some(Sent::Sound(sound)) => return TalkEvent::Sound(sound),
                    Some(Sent::Clear) => return TalkEvent::Clear,
                    None => self.is_quiet = true,
                },
                news = self.news.recv(), if !self.is_told => match news {
                    Some(TalkEvent::Ended(outcome)) => self.outcome = outcome,
                    Some(ended) => return ended,
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
