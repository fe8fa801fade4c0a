//! What is on its way to a page.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;

/// Frames that may wait for a page that does not read: a second. What comes on top is dropped.
const MOST_WAITING: usize = 50;

/// What a page is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sent {
    /// Sound, to be played behind what was sent before.
    Sound(Bytes),
    /// Whatever was sent and not played yet is not to be played any more.
    Clear,
}

/// The queue between the leg and whoever has the page's connection. The leg never waits.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    state: Mutex<State>,
    came: Notify,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Sent>,
    is_closed: bool,
}

impl Outbox {
    /// Adds sound; `false` if the page is too slow for it.
    pub(crate) fn sound(&self, frame: Bytes) -> bool {
        let mut state = self.lock();
        let fits = state.queue.len() < MOST_WAITING;
        if fits {
            state.queue.push_back(Sent::Sound(frame));
        }
        drop(state);
        self.came.notify_one();
        fits
    }

    /// Takes back what has not left, and has the page forget the rest.
    pub(crate) fn clear(&self) {
        let mut state = self.lock();
        state.queue.clear();
        state.queue.push_back(Sent::Clear);
        drop(state);
        self.came.notify_one();
    }

    /// Nothing more comes.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.came.notify_one();
    }

    /// What is to be sent next, or `None` once nothing more comes. Safe to cancel.
    pub(crate) async fn next(&self) -> Option<Sent> {
        loop {
            {
                let mut state = self.lock();
                if let Some(next) = state.queue.pop_front() {
                    return Some(next);
                }
                if state.is_closed {
                    return None;
                }
            }
            self.came.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_page_that_does_not_read_loses_sound_and_a_cut_takes_back_what_waits() {
        let outbox = Outbox::default();
        let frame = || Bytes::from_static(b"ab");
        let taken = (0..60).filter(|_| outbox.sound(frame())).count();
        assert_eq!(taken, MOST_WAITING);
        assert_eq!(outbox.next().await, Some(Sent::Sound(frame())));
        outbox.clear();
        assert!(outbox.sound(frame()));
        outbox.close();
        assert_eq!(outbox.next().await, Some(Sent::Clear));
        assert_eq!(outbox.next().await, Some(Sent::Sound(frame())));
        assert_eq!(outbox.next().await, None);
    }
}
