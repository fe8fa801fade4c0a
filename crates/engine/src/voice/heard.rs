//! What the customer heard of a sentence that was cut: whole words, and no more than was played.

use std::time::Duration;

use crate::ports::audio::SAMPLE_RATE;
use crate::ports::speech::WordTime;

/// The least samples per character of a fast voice: 45 ms. It estimates the length of a sentence whose audio is
/// incomplete; otherwise the audio received so far would count as the whole sentence.
const SAMPLES_PER_CHAR: u64 = 360;

#[derive(Debug, Clone, Copy)]
pub(super) struct Sentence<'a> {
    /// The text in the transcript.
    pub(super) text: &'a str,
    /// The text that the synthesizer received.
    pub(super) spoken: &'a str,
    /// Its samples so far.
    pub(super) samples: u64,
    /// Whether these are all samples.
    pub(super) whole: bool,
    /// When its words are spoken, if the service reported it.
    pub(super) words: &'a [WordTime],
}

impl<'a> Sentence<'a> {
    /// What was heard after this many samples: the first whole words of the text.
    pub(super) fn heard(&self, played: u64) -> &'a str {
        if played == 0 {
            return "";
        }
        if self.whole && played >= self.samples {
            return self.text.trim();
        }
        let (end, of) = self.reached(played);
        // Map the position in the spoken text to the transcript's text, in proportion.
        let reached = proportion(self.text.len(), end, of);
        whole_words(self.text, reached)
    }

    /// The position reached in the spoken text, as a part of a total.
    fn reached(&self, played: u64) -> (u64, u64) {
        let timed = self.words.last().is_some_and(|last| {
            last.text_end <= self.spoken.len() && last.spoken_at >= time(played)
        });
        if timed {
            let now = time(played);
            let spoken = self.words.iter().take_while(|word| word.spoken_at <= now);
            let end = spoken.last().map_or(0, |word| word.text_end);
            return (end as u64, self.spoken.len() as u64);
        }
        let guess = self.spoken.chars().count() as u64 * SAMPLES_PER_CHAR;
        let all = if self.whole {
            self.samples
        } else {
            self.samples.max(guess)
        };
        (played.min(all), all)
    }
}

fn time(samples: u64) -> Duration {
    Duration::from_micros(samples.saturating_mul(1_000_000) / u64::from(SAMPLE_RATE))
}

fn proportion(len: usize, part: u64, of: u64) -> usize {
    let reached = (len as u128) * u128::from(part) / u128::from(of.max(1));
    usize::try_from(reached).unwrap_or(len).min(len)
}

/// The whole words within the first bytes of a text.
fn whole_words(text: &str, bytes: usize) -> &str {
    let mut end = 0;
    let mut in_word = false;
    for (at, c) in text.char_indices() {
        if at > bytes {
            break;
        }
        if c.is_whitespace() {
            if in_word {
                end = at;
            }
            in_word = false;
        } else {
            in_word = true;
        }
    }
    if bytes >= text.len() {
        end = text.len();
    }
    text[..end].trim()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sentence<'a>(text: &'a str, samples: u64, words: &'a [WordTime]) -> Sentence<'a> {
        Sentence {
            text,
            spoken: text,
            samples,
            whole: true,
            words,
        }
    }

    #[test]
    fn a_cut_sentence_ends_with_its_last_whole_word() {
        let text = "Hello, Eva here today.";
        let all = text.len() as u64 * 1_000;
        let heard = |played| sentence(text, all, &[]).heard(played);
        assert_eq!(heard(0), "");
        assert_eq!(heard(5_999), "");
        assert_eq!(heard(6_000), "Hello,");
        assert_eq!(heard(9_999), "Hello,");
        assert_eq!(heard(10_000), "Hello, Eva");
        assert_eq!(heard(all - 1), "Hello, Eva here");
        assert_eq!(heard(all), text);
    }

    #[test]
    fn the_voices_own_times_count_where_it_tells_them() {
        let word = |text_end, ms| WordTime {
            text_end,
            spoken_at: Duration::from_millis(ms),
        };
        let words = [word(2, 100), word(6, 3_000)];
        let heard = |played| sentence("No way", 32_000, &words).heard(played);
        assert_eq!(heard(799), "");
        assert_eq!(heard(800), "No");
        assert_eq!(heard(20_000), "No", "most of the sound is its second word");
        assert_eq!(heard(32_000), "No way");
    }

    #[test]
    fn a_sentence_whose_sound_is_still_coming_was_not_heard_whole() {
        let text = "This goes on for a good while.";
        let half = Sentence {
            whole: false,
            ..sentence(text, 2_000, &[])
        };
        assert_eq!(half.heard(2_000), "This");
    }

    proptest! {
        #[test]
        fn more_played_is_more_heard_and_never_more_than_was_played(
            text in "[a-zá ,.]{0,60}",
            samples in 1_u64..100_000,
            played in 0_u64..120_000,
            more in 0_u64..1_000,
        ) {
            let sentence = sentence(&text, samples, &[]);
            let heard = sentence.heard(played);
            prop_assert!(text.trim().starts_with(heard));
            prop_assert!(sentence.heard(played + more).starts_with(heard));
            let share = heard.len() as f64 / text.len().max(1) as f64;
            let skipped = text.len() - text.trim_start().len();
            let sounded = played as f64 / samples as f64;
            prop_assert!(played >= samples || share <= sounded + 1e-9 || skipped > 0, "{heard:?}");
        }
    }
}
