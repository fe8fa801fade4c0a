//! What is on its way to Twilio by a call's WebSocket.

use std::collections::VecDeque;
use std::sync::Mutex;

use tokio::sync::Notify;

use crate::lock;

/// Messages that may wait for a connection that does not take them: two seconds of sound. What comes on top is dropped.
const MOST_WAITING: usize = 120;

#[derive(Debug)]
struct Text {
    text: String,
    /// It is of no use once what was said is taken back.
    is_speech: bool,
}

/// The queue between a call and whoever has its WebSocket. The call never waits.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    state: Mutex<State>,
    came: Notify,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Text>,
    is_closed: bool,
}

impl Outbox {
    /// Adds sound, or a mark behind it; `false` if the connection is too slow for it.
    pub(crate) fn speech(&self, text: String) -> bool {
        let mut state = lock(&self.state);
        let fits = state.queue.len() < MOST_WAITING;
        if fits {
            let is_speech = true;
            state.queue.push_back(Text { text, is_speech });
        }
        drop(state);
        self.came.notify_one();
        fits
    }

    /// Takes back what has not left, and has Twilio forget the rest.
    pub(crate) fn clear(&self, text: String) {
        let mut state = lock(&self.state);
        state.queue.retain(|text| !text.is_speech);
        state.queue.truncate(MOST_WAITING);
        let is_speech = false;
        state.queue.push_back(Text { text, is_speech });
        drop(state);
        self.came.notify_one();
    }

    /// Nothing more comes.
    pub(crate) fn close(&self) {
        lock(&self.state).is_closed = true;
        self.came.notify_one();
    }

    /// What is to be sent next, or `None` once nothing more comes. Safe to cancel.
    pub(crate) async fn next(&self) -> Option<String> {
        loop {
            {
                let mut state = lock(&self.state);
                if let Some(next) = state.queue.pop_front() {
                    return Some(next.text);
                }
                if state.is_closed {
                    return None;
                }
            }
            self.came.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_connection_that_does_not_take_loses_sound_and_a_cut_takes_back_what_waits() {
        let outbox = Outbox::default();
        let taken = (0..200).filter(|_| outbox.speech("x".to_owned())).count();
        assert_eq!(taken, MOST_WAITING);
        assert_eq!(outbox.next().await.as_deref(), Some("x"));
        outbox.clear("clear".to_owned());
        assert!(outbox.speech("y".to_owned()));
        outbox.close();
        assert_eq!(outbox.next().await.as_deref(), Some("clear"));
        assert_eq!(outbox.next().await.as_deref(), Some("y"));
        assert_eq!(outbox.next().await, None);
    }
}
