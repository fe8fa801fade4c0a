//! The times at which the words of a text are spoken.

use std::time::Duration;

use offhook_engine::ports::speech::WordTime;

/// How far ahead, in bytes, to search for a word that does not come next. Services omit words, and spell numbers out.
const SEARCH_AHEAD: usize = 48;

/// A text whose word times arrive in order.
pub(crate) struct Words {
    text: String,
    /// Everything before this byte was reported or skipped.
    at: usize,
    /// The current word's end so far.
    open: Option<Duration>,
}

impl Words {
    pub(crate) const fn new(text: String) -> Self {
        Self {
            text,
            at: 0,
            open: None,
        }
    }

    /// The next character ended at `end`.
    pub(crate) fn character(&mut self, character: &str, end: Duration, times: &mut Vec<WordTime>) {
        if character.trim().is_empty() {
            self.finish(times);
            return;
        }
        if self.rest().starts_with(char::is_whitespace) {
            self.finish(times);
            self.at += self.rest().len() - self.rest().trim_start().len();
        }
        if self.rest().starts_with(character) {
            self.at += character.len();
            self.open = Some(end);
            if self.rest().trim().is_empty() {
                self.finish(times);
            }
        }
    }

    /// A whole word ended at `end`.
    pub(crate) fn word(&mut self, word: &str, end: Duration, times: &mut Vec<WordTime>) {
        let word = word.trim();
        let rest = self.rest();
        let Some(found) = rest
            .find(word)
            .filter(|at| *at <= SEARCH_AHEAD && !word.is_empty())
        else {
            return;
        };
        let after = found + word.len();
        // Punctuation after the word counts as heard with it.
        let marks = rest[after..]
            .find(|c: char| c.is_alphanumeric() || c.is_whitespace())
            .unwrap_or(rest.len() - after);
        self.at += after + marks;
        self.open = Some(end);
        self.finish(times);
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn finish(&mut self, times: &mut Vec<WordTime>) {
        if let Some(spoken_at) = self.open.take() {
            let text_end = self.at;
            times.push(WordTime {
                text_end,
                spoken_at,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn by_character(text: &str, spoken: &str) -> Vec<(String, u64)> {
        let mut words = Words::new(text.to_owned());
        let mut times = Vec::new();
        for (ms, character) in (1..).zip(spoken.chars()) {
            let end = Duration::from_millis(ms);
            words.character(&character.to_string(), end, &mut times);
        }
        heard(text, &times)
    }

    fn heard(text: &str, times: &[WordTime]) -> Vec<(String, u64)> {
        let pair = |word: &WordTime| {
            let ms = u64::try_from(word.spoken_at.as_millis()).unwrap();
            (text[..word.text_end].to_owned(), ms)
        };
        times.iter().map(pair).collect()
    }

    fn pairs(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
        let pair = |(text, ms): &(&str, u64)| ((*text).to_owned(), *ms);
        expected.iter().map(pair).collect()
    }

    #[test]
    fn a_word_is_spoken_when_its_last_character_is() {
        assert_eq!(
            by_character("¿Qué tal?", " ¿Qué tal? "),
            pairs(&[("¿Qué", 5), ("¿Qué tal?", 10)])
        );
        assert_eq!(by_character("One", "One"), pairs(&[("One", 3)]));
        assert_eq!(by_character("", " "), []);
    }

    #[test]
    fn characters_that_the_text_does_not_have_are_passed_over() {
        assert_eq!(
            by_character("Room 12, please", "Room twelve12, please"),
            pairs(&[("Room", 4), ("Room 12,", 14), ("Room 12, please", 21)])
        );
    }

    #[test]
    fn words_are_found_with_the_marks_behind_them() {
        let text = "Well, I (really) mean it!";
        let mut words = Words::new(text.to_owned());
        let mut times = Vec::new();
        for (ms, word) in [(1, "Well,"), (2, "I"), (3, "really"), (4, "um"), (5, "it")] {
            words.word(word, Duration::from_millis(ms), &mut times);
        }
        assert_eq!(
            heard(text, &times),
            pairs(&[
                ("Well,", 1),
                ("Well, I", 2),
                ("Well, I (really)", 3),
                ("Well, I (really) mean it!", 5)
            ])
        );
    }

    proptest! {
        #[test]
        fn ends_rise_and_lie_between_characters(text in "\\PC{0,60}", said in "\\PC{0,80}") {
            let mut words = Words::new(text.clone());
            let mut times = Vec::new();
            for (at, character) in said.chars().enumerate() {
                let end = Duration::from_millis(u64::try_from(at).unwrap());
                if at % 5 == 0 {
                    words.word(&said.chars().skip(at).take(3).collect::<String>(), end, &mut times);
                }
                words.character(&character.to_string(), end, &mut times);
            }
            for word in &times {
                prop_assert!(text.is_char_boundary(word.text_end));
            }
            for pair in times.windows(2) {
                prop_assert!(pair[0].text_end <= pair[1].text_end);
            }
        }
    }
}
