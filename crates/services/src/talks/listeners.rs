//! Sends events of this process's conversations to the pages that hold them.

use offhook_engine::{Turn, TurnRole};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::TalkEvent;
use crate::prelude::*;

/// Events that may wait for a page. A page that does not read loses turns.
const NEWS_WAITING: usize = 64;

/// The pages that receive events of their conversations.
#[derive(Default)]
pub(crate) struct Listeners(Mutex<HashMap<ConversationId, mpsc::Sender<TalkEvent>>>);

impl Listeners {
    pub(super) fn listen(&self, id: ConversationId) -> mpsc::Receiver<TalkEvent> {
        let (told, news) = mpsc::channel(NEWS_WAITING);
        self.0.lock().insert(id, told);
        news
    }

    /// Stops sending events.
    pub(super) fn forget(&self, id: ConversationId) {
        self.0.lock().remove(&id);
    }

    /// Sends a turn to the page, if it listens. Tool requests and responses are visible to the account only.
    pub(crate) fn said(&self, id: ConversationId, turn: &Turn) {
        if turn.role == TurnRole::Tool {
            return;
        }
        let listener = self.0.lock().get(&id).cloned();
        if let Some(listener) = listener {
            let _ = listener.try_send(TalkEvent::of(turn.clone()));
        }
    }

    /// Tells the page how its conversation ended, if it listens.
    pub(crate) fn ended(&self, id: ConversationId, outcome: CallOutcome) {
        if let Some(listener) = self.0.lock().remove(&id) {
            let _ = listener.try_send(TalkEvent::Ended(Some(outcome)));
        }
    }
}

#[cfg(test)]
mod tests {
    use offhook_domain::{TerminationReason, Timestamp};

    use super::*;

    const AT: Timestamp = Timestamp::from_micros(0);

    fn turn(role: TurnRole) -> Turn {
        Turn {
            role,
            text: "Hi.".to_owned(),
            started_at: AT,
            duration_ms: 300,
            interrupted: true,
            source: None,
        }
    }

    #[test]
    fn a_page_is_told_of_its_own_conversation_and_of_no_tools() {
        let listeners = Listeners::default();
        let (ours, other) = (
            ConversationId::mint(AT, [1; 10]),
            ConversationId::mint(AT, [2; 10]),
        );
        let mut news = listeners.listen(ours);
        for (id, role) in [
            (other, TurnRole::User),
            (ours, TurnRole::Tool),
            (ours, TurnRole::Agent),
        ] {
            listeners.said(id, &turn(role));
        }
        let told = news.try_recv();
        assert!(
            matches!(&told, Ok(TalkEvent::Turn { is_agent: true, text, is_cut: true, .. }) if text == "Hi."),
            "{told:?}"
        );
        let end = CallOutcome::Completed(TerminationReason::AgentHangup);
        listeners.ended(other, end);
        listeners.ended(ours, end);
        listeners.said(ours, &turn(TurnRole::User));
        assert!(matches!(news.try_recv(), Ok(TalkEvent::Ended(Some(outcome))) if outcome == end));
        assert!(matches!(
            news.try_recv(),
            Err(mpsc::error::TryRecvError::Disconnected)
        ));
    }
}
