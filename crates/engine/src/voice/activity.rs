//! Debounces voice activity: turns frames into starts and ends of speech.

use std::time::Duration;

use crate::ports::audio::FRAME_TIME;

/// Shorter speech does not count as a start.
pub(super) const BEGINS_AFTER: Duration = Duration::from_millis(120);

/// A shorter pause does not count as an end.
pub(super) const ENDS_AFTER: Duration = Duration::from_millis(200);

#[derive(Debug, Default)]
pub(super) struct Activity {
    /// Speech collected so far, minus its pauses, while it is too short to count as a start.
    run: Duration,
    speaking: bool,
    began_at: Duration,
    last_at: Duration,
}

/// A start or an end of speech.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    Began,
    Ended,
}

impl Activity {
    /// Adds the frame that ends now.
    pub(super) fn hear(&mut self, speech: bool, now: Duration) -> Option<Edge> {
        if speech {
            self.last_at = now;
            if self.speaking {
                return None;
            }
            self.run += FRAME_TIME;
            if self.run < BEGINS_AFTER {
                return None;
            }
            self.speaking = true;
            self.began_at = now.saturating_sub(self.run);
            self.run = Duration::ZERO;
            return Some(Edge::Began);
        }
        if !self.speaking {
            self.run = self.run.saturating_sub(FRAME_TIME);
            return None;
        }
        let ended = now.saturating_sub(self.last_at) >= ENDS_AFTER;
        self.speaking = !ended;
        ended.then_some(Edge::Ended)
    }

    /// Forgets the current speech, as when a line is put on hold.
    pub(super) fn reset(&mut self) {
        self.run = Duration::ZERO;
        self.speaking = false;
    }

    /// Whether speech may be starting: until when to wait for it if no more speech comes.
    pub(super) fn may_begin_until(&self) -> Option<Duration> {
        let may = !self.speaking && !self.run.is_zero();
        may.then(|| self.last_at + 2 * FRAME_TIME)
    }

    pub(super) const fn speaking(&self) -> bool {
        self.speaking
    }

    /// When the current or last speech began.
    pub(super) const fn began_at(&self) -> Duration {
        self.began_at
    }

    /// When speech was last detected.
    pub(super) const fn last_at(&self) -> Duration {
        self.last_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The edges of frames given as `#` for speech and `.` for silence, with their times in milliseconds.
    fn edges(frames: &str) -> Vec<(u64, Edge)> {
        let mut activity = Activity::default();
        let mut edges = Vec::new();
        for (n, frame) in frames.chars().enumerate() {
            let ms = (n as u64 + 1) * 20;
            let edge = activity.hear(frame == '#', Duration::from_millis(ms));
            edges.extend(edge.map(|edge| (ms, edge)));
        }
        edges
    }

    #[test]
    fn speech_begins_after_120_ms_and_ends_after_200_ms_of_pause() {
        assert_eq!(edges("#####....."), []);
        assert_eq!(edges("######"), [(120, Edge::Began)]);
        assert_eq!(
            edges("######.........."),
            [(120, Edge::Began), (320, Edge::Ended)]
        );
        assert_eq!(edges("######.........#.........#"), [(120, Edge::Began)]);
    }

    #[test]
    fn scattered_frames_are_no_speech_but_one_lost_frame_does_not_undo_it() {
        assert_eq!(edges(&"#.".repeat(50)), []);
        assert_eq!(edges("###.#####"), [(160, Edge::Began)]);
    }
}
