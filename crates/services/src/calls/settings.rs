//! How calls are placed and kept.

use std::time::Duration;

/// How calls are placed and kept.
#[derive(Debug, Clone)]
pub struct CallSettings {
    /// Allowed prefixes of dialed numbers; empty allows every number.
    pub allowed_prefixes: Vec<String>,
    /// A call not claimed this long after acceptance is never dialed.
    pub max_queue: Duration,
    /// How long live calls continue after the process is told to stop.
    pub drain: Duration,
    /// Calls that may wait before new ones are refused.
    pub queue_at_most: i64,
    /// The share of an account's live calls that web pages may use, in percent: strangers start these calls.
    pub page_share: u32,
    /// Calls that this process holds at once.
    pub sessions_at_most: usize,
    /// How often the database is polled for changes by other processes.
    pub looks: Looks,
}

/// How often the database is polled for changes by other processes: the backstop for a lost notification.
#[derive(Debug, Clone, Copy)]
pub struct Looks {
    /// For requests to hang up; they take effect within 500 ms.
    pub hangups: Duration,
    /// For events of a call that a stream follows, while notifications arrive from other processes.
    pub streams: Duration,
    /// The same while they do not arrive.
    pub deaf_streams: Duration,
}

impl Default for Looks {
    fn default() -> Self {
        Self {
            hangups: Duration::from_millis(200),
            streams: Duration::from_secs(2),
            deaf_streams: Duration::from_millis(200),
        }
    }
}

impl Default for CallSettings {
    fn default() -> Self {
        Self {
            allowed_prefixes: Vec::new(),
            max_queue: Duration::from_secs(120),
            drain: Duration::from_secs(600),
            queue_at_most: 10_000,
            page_share: 50,
            sessions_at_most: 5_000,
            looks: Looks::default(),
        }
    }
}
