//! The scripts that run on the server.

use crate::key::Key;

/// The checks. Each is a separate script, as short as possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    /// A token bucket: `gcra::decide`.
    Take,
    /// A fixed window: `window::decide`.
    Count,
    /// A token bucket, and if it admits, a fixed window.
    TakeAndCount,
}

impl Script {
    pub(super) const ALL: [Self; 3] = [Self::Take, Self::Count, Self::TakeAndCount];

    /// Its source after `clock`, which sets `now` to the Unix microsecond.
    pub(super) fn source(self, clock: &str) -> String {
        let rules = match self {
            Self::Take => include_str!("take.lua"),
            Self::Count => include_str!("count.lua"),
            Self::TakeAndCount => include_str!("take_and_count.lua"),
        };
        format!("{clock}{rules}")
    }
}

/// The server's own clock. Every number in the scripts is an integer below 2^53 and is passed as a number: converted
/// to text by Lua, it would lose its last digits.
pub(super) const SERVER_CLOCK: &str =
    "local time = redis.call('TIME')\nlocal now = time[1] * 1000000 + time[2]\n";

/// The test bucket, which shows whether the server counts.
pub(super) const TEST_BUCKET: &str = "ratelimit:{nobody}:b";

/// The key of the server's name. The first process sets it, and it lasts as long as the counts.
pub(super) const SERVER: &str = "ratelimit:server";

/// The names of a client's two states.
pub(super) struct Names {
    text: String,
    /// The start of the second name.
    window: usize,
}

impl Names {
    pub(super) fn of(key: Key) -> Self {
        let (space, [high, low]) = (key.space.number(), key.id);
        let bucket = format!("ratelimit:{{{space}{high:016x}{low:016x}}}:b");
        let window = bucket.len();
        let mut text = bucket.repeat(2);
        text.pop();
        text.push('w');
        Self { text, window }
    }

    pub(super) fn bucket(&self) -> &str {
        &self.text[..self.window]
    }

    pub(super) fn window(&self) -> &str {
        &self.text[self.window..]
    }
}
