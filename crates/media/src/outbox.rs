//! The queue of outgoing messages of a connection. Adding a message never blocks.

use std::collections::VecDeque;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// A queue between a call and the owner of its connection.
#[derive(Debug)]
pub struct Outbox<T> {
    state: Mutex<State<T>>,
    came: Notify,
    most: usize,
}

#[derive(Debug)]
struct State<T> {
    queue: VecDeque<T>,
    is_closed: bool,
}

impl<T> Outbox<T> {
    /// Creates a queue of at most `most` waiting items; further ones are dropped.
    #[must_use]
    pub fn new(most: usize) -> Self {
        let state = State {
            queue: VecDeque::new(),
            is_closed: false,
        };
        Self {
            state: Mutex::new(state),
            came: Notify::new(),
            most,
        }
    }

    /// Adds an item; `false` if the queue is full.
    pub fn push(&self, item: T) -> bool {
        let mut state = self.state.lock();
        let fits = state.queue.len() < self.most;
        if fits {
            state.queue.push_back(item);
        }
        drop(state);
        self.came.notify_one();
        fits
    }

    /// Removes the waiting items except those for which `stays` is true, and adds `item`, which is never dropped.
    pub fn replace(&self, stays: impl FnMut(&T) -> bool, item: T) {
        let mut state = self.state.lock();
        state.queue.retain(stays);
        state.queue.truncate(self.most);
        state.queue.push_back(item);
        drop(state);
        self.came.notify_one();
    }

    /// Closes the queue after its remaining items.
    pub fn close(&self) {
        self.state.lock().is_closed = true;
        self.came.notify_one();
    }

    /// Waits for the next item; `None` once the queue is closed and empty. Cancel-safe.
    pub async fn next(&self) -> Option<T> {
        loop {
            {
                let mut state = self.state.lock();
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_connection_that_does_not_take_loses_what_comes_and_a_cut_takes_back_what_waits() {
        let outbox = Outbox::new(50);
        let taken = (0..60).filter(|_| outbox.push("sound")).count();
        assert_eq!(taken, 50);
        assert_eq!(outbox.next().await, Some("sound"));
        outbox.replace(|item| *item == "clear", "clear");
        assert!(outbox.push("more"));
        outbox.close();
        assert_eq!(outbox.next().await, Some("clear"));
        assert_eq!(outbox.next().await, Some("more"));
        assert_eq!(outbox.next().await, None);
    }
}
