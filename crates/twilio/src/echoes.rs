//! Marks: Twilio returns each one after it has played the audio before it. Their delay shows how far Twilio's playback
//! lags behind.

use std::collections::VecDeque;
use std::time::Duration;

use offhook_engine::ports::audio::SegmentId;
use tokio::time::Instant;

/// Marks that may be pending; older ones are dropped.
const MOST_WAITING: usize = 64;

/// The largest lag that is assumed; with more, a conversation is impossible.
const MOST_BEHIND: Duration = Duration::from_secs(2);

#[derive(Debug, Default)]
pub(crate) struct Echoes {
    numbered: u64,
    waiting: VecDeque<Mark>,
    /// The shortest delay of an echo beyond its audio: the round-trip time.
    least: Option<Duration>,
    /// Twilio's lag at the last echo.
    behind: Duration,
}

#[derive(Debug)]
struct Mark {
    name: String,
    /// When the audio before the mark should have been played.
    played_at: Instant,
    ends_segment: bool,
}

impl Echoes {
    /// Creates a mark after audio that should be played by `played_at`.
    pub(crate) fn mark(&mut self, ends: Option<SegmentId>, played_at: Instant) -> String {
        self.numbered += 1;
        let name = match ends {
            Some(segment) => format!("s{}-{}", segment.0, self.numbered),
            None => format!("t{}", self.numbered),
        };
        if self.waiting.len() == MOST_WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back(Mark {
            name: name.clone(),
            played_at,
            ends_segment: ends.is_some(),
        });
        name
    }

    /// Handles a returned mark. An unknown one is ignored.
    pub(crate) fn echo(&mut self, name: &str, now: Instant) {
        let Some(at) = self.waiting.iter().position(|mark| mark.name == name) else {
            return;
        };
        let took = now.saturating_duration_since(self.waiting[at].played_at);
        // Earlier marks will not come any more.
        self.waiting.drain(..=at);
        let least = self.least.map_or(took, |least| least.min(took));
        self.least = Some(least);
        self.behind = took.saturating_sub(least).min(MOST_BEHIND);
    }

    /// Twilio's lag as far as known.
    pub(crate) fn behind(&self, now: Instant) -> Duration {
        let Some(least) = self.least else {
            return Duration::ZERO;
        };
        let overdue = self.waiting.front().map_or(Duration::ZERO, |mark| {
            now.saturating_duration_since(mark.played_at)
                .saturating_sub(least)
        });
        self.behind.max(overdue).min(MOST_BEHIND)
    }

    /// Audio was cleared: Twilio returns its marks without having played it.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Whether the end of a segment is still to be played.
    pub(crate) fn is_saying(&self) -> bool {
        self.waiting.iter().any(|mark| mark.ends_segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[tokio::test]
    async fn an_echo_that_takes_longer_than_the_quickest_tells_how_far_twilio_is_behind() {
        let (mut echoes, begin) = (Echoes::default(), Instant::now());
        let names: Vec<String> = (0..3)
            .map(|at| echoes.mark(None, begin + ms(1_000 * at)))
            .collect();
        assert_eq!(echoes.behind(begin), ms(0));
        echoes.echo(&names[0], begin + ms(80));
        assert_eq!(echoes.behind(begin + ms(80)), ms(0));
        echoes.echo(&names[1], begin + ms(1_200));
        assert_eq!(echoes.behind(begin + ms(1_200)), ms(120));
        assert_eq!(
            echoes.behind(begin + ms(2_400)),
            ms(320),
            "the third is overdue"
        );
        echoes.echo("another", begin);
        echoes.echo(&names[2], begin + ms(2_080));
        assert_eq!(echoes.behind(begin + ms(9_000)), ms(0));
    }

    #[tokio::test]
    async fn the_end_of_a_sentence_is_waited_for_until_it_is_played_or_taken_back() {
        let (mut echoes, now) = (Echoes::default(), Instant::now());
        let end = echoes.mark(Some(SegmentId(4)), now);
        assert!(echoes.is_saying());
        echoes.echo(&end, now);
        assert!(!echoes.is_saying());
        echoes.mark(Some(SegmentId(5)), now);
        echoes.clear();
        assert!(!echoes.is_saying());
    }
}
