//! A queue of ticks between a pump and its consumer. The pump never waits: a full queue drops its oldest tick.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};

use super::{Outlet, Tick};

/// The pump's end.
#[derive(Debug)]
pub struct QueueOutlet {
    shared: Arc<Shared>,
    keys: mpsc::UnboundedSender<char>,
}

/// The consumer's end.
#[derive(Debug)]
pub struct Ticks {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    ticks: Mutex<VecDeque<Tick>>,
    capacity: usize,
    came: Notify,
    closed: AtomicBool,
}

/// Creates a queue of at most `capacity` ticks, and a channel of the caller's keys, at most one per tick.
#[must_use]
pub fn queue(capacity: usize) -> (QueueOutlet, Ticks, mpsc::UnboundedReceiver<char>) {
    let shared = Arc::new(Shared {
        ticks: Mutex::new(VecDeque::with_capacity(capacity)),
        capacity: capacity.max(1),
        came: Notify::new(),
        closed: AtomicBool::new(false),
    });
    let (keys, pressed) = mpsc::unbounded_channel();
    let outlet = QueueOutlet {
        shared: shared.clone(),
        keys,
    };
    (outlet, Ticks { shared }, pressed)
}

impl Outlet for QueueOutlet {
    fn tick(&mut self, tick: Tick) -> bool {
        let mut ticks = self.shared.ticks.lock();
        let full = ticks.len() >= self.shared.capacity;
        if full {
            ticks.pop_front();
        }
        ticks.push_back(tick);
        drop(ticks);
        self.shared.came.notify_one();
        !full
    }

    fn key(&mut self, key: char) {
        // A closed receiver is ignored.
        let _ = self.keys.send(key);
    }
}

impl Drop for QueueOutlet {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Release);
        self.shared.came.notify_one();
    }
}

impl Ticks {
    /// Waits for the oldest tick; `None` once the pump has stopped and the queue is empty. Cancel-safe.
    pub async fn next(&mut self) -> Option<Tick> {
        loop {
            let closed = self.shared.closed.load(Ordering::Acquire);
            let tick = self.shared.ticks.lock().pop_front();
            if tick.is_some() || closed {
                return tick;
            }
            self.shared.came.notified().await;
        }
    }
}
