//! Rate limit of a page's audio.

use std::time::Duration;

use tokio::time::Instant;

/// The burst allowance: as much audio as a network may hold back while the page counts as silent.
const BURST: Duration = Duration::from_secs(10);

/// How many times faster than real time a page may send beyond the burst.
const FASTEST: u32 = 2;

/// A leaky bucket: audio fills it, time drains it.
#[derive(Debug)]
pub(crate) struct Flow {
    level: Duration,
    at: Instant,
}

impl Flow {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            level: Duration::ZERO,
            at: now,
        }
    }

    /// Adds audio; `false` if the page sends too much.
    pub(crate) fn admits(&mut self, sound: Duration, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.at);
        self.at = now;
        self.level = self.level.saturating_sub(passed * FASTEST) + sound;
        self.level <= BURST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Duration = Duration::from_millis(20);

    /// Sends one frame per `every` for a minute; returns the number of frames until the limit, if it is reached.
    fn frames(every: Duration) -> Option<u32> {
        let begin = Instant::now();
        let mut flow = Flow::new(begin);
        (0..Duration::from_secs(60).as_millis() as u32 / every.as_millis() as u32)
            .find(|&at| !flow.admits(FRAME, begin + every * at))
    }

    #[test]
    fn sound_may_come_twice_as_fast_as_it_sounds_and_what_was_held_back_at_once() {
        assert_eq!(frames(FRAME), None);
        assert_eq!(frames(FRAME / 2), None);
        // One third too much per second fills the 10 s bucket.
        let flood = frames(Duration::from_millis(5)).unwrap();
        assert!((990..1_010).contains(&flood), "{flood}");

        let begin = Instant::now();
        let mut flow = Flow::new(begin);
        let held_back = (0..500).all(|_| flow.admits(FRAME, begin));
        assert!(held_back);
        assert!(!flow.admits(FRAME, begin));
        assert!(flow.admits(FRAME, begin + FRAME));
    }
}
