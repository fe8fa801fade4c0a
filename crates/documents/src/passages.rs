//! Splits a text into passages of whole sentences. Each passage shares its last sentences with the next, so that no
//! thought loses its context.

use unicode_segmentation::UnicodeSegmentation as _;

/// The target size of a passage, in bytes of UTF-8: about 150 words.
const TARGET: usize = 1_000;

/// The longest overlap with the previous passage.
const OVERLAP: usize = 200;

/// A longer sentence is cut at a space.
const MAX_SENTENCE: usize = 600;

/// The size limit of a passage.
pub const MAX_PASSAGE_BYTES: usize = OVERLAP + TARGET;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage<'a> {
    pub text: &'a str,
    /// How many of its first bytes repeat the previous passage. Without them, the passages in order are the text.
    pub repeats: usize,
}

/// Splits a text into passages that cover it.
pub fn split(text: &str) -> Vec<Passage<'_>> {
    let mut passages = Vec::new();
    // The start of the passage, the start of its own part, and its end; and the starts of its sentences.
    let (mut begin, mut own, mut end) = (0, 0, 0);
    let mut starts: Vec<usize> = Vec::new();
    for sentence in text.split_sentence_bounds().flat_map(Pieces) {
        if end > own && end - begin + sentence.len() > TARGET {
            passages.push(passage(text, begin, own, end));
            begin = overlap(&starts, end);
            own = end;
            starts.retain(|start| *start >= begin);
        }
        starts.push(end);
        end += sentence.len();
    }
    if end > own {
        passages.push(passage(text, begin, own, end));
    }
    passages
}

fn passage(text: &str, begin: usize, own: usize, end: usize) -> Passage<'_> {
    Passage {
        text: &text[begin..end],
        repeats: own - begin,
    }
}

/// The start of the next passage: the last whole sentences that fit the overlap.
fn overlap(starts: &[usize], end: usize) -> usize {
    let fitting = starts.iter().find(|start| end - **start <= OVERLAP);
    fitting.copied().unwrap_or(end)
}

/// A sentence in pieces of at most [`MAX_SENTENCE`] bytes.
struct Pieces<'a>(&'a str);

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.0.is_empty() {
            return None;
        }
        let mut at = self.0.len();
        if at > MAX_SENTENCE {
            let mut most = MAX_SENTENCE;
            while !self.0.is_char_boundary(most) {
                most -= 1;
            }
            // Cut after a space, so that words stay whole.
            let space = self.0[..most]
                .char_indices()
                .rfind(|(_, c)| c.is_whitespace());
            at = space.map_or(most, |(space, c)| space + c.len_utf8());
        }
        let (piece, rest) = self.0.split_at(at);
        self.0 = rest;
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(passages: &[Passage<'_>]) -> String {
        let own = passages
            .iter()
            .map(|passage| &passage.text[passage.repeats..]);
        own.collect()
    }

    fn check(text: &str) {
        let passages = split(text);
        assert_eq!(whole(&passages), text);
        for (at, passage) in passages.iter().enumerate() {
            assert!(passage.text.len() <= MAX_PASSAGE_BYTES);
            assert!(
                passage.text.len() > passage.repeats,
                "each has something new"
            );
            if at > 0 {
                let before = passages[at - 1].text;
                assert!(before.ends_with(&passage.text[..passage.repeats]));
            }
        }
    }

    #[test]
    fn a_short_text_is_one_passage_and_none_is_none() {
        assert_eq!(split(""), []);
        let one = split("The pool opens at nine. Towels are free.");
        assert_eq!(one.len(), 1);
        assert_eq!(one[0].repeats, 0);
    }

    #[test]
    fn passages_end_with_sentences_and_share_one() {
        let text = "A sentence of about forty bytes, no more. ".repeat(100);
        let passages = split(&text);
        assert!(passages.len() > 3);
        for passage in &passages {
            assert!(passage.text.trim_end().ends_with('.'));
            assert!(passage.text.starts_with("A sentence"));
        }
        assert!(passages[1].repeats > 0);
        check(&text);
    }

    #[test]
    fn a_text_without_sentences_or_spaces_is_cut_all_the_same() {
        check(&"x".repeat(10_000));
        check(&"ñ".repeat(5_000));
        check(&"word ".repeat(5_000));
        check(&"\n".repeat(5_000));
    }

    proptest! {
        #[test]
        fn passages_cover_any_text(
            parts in prop::collection::vec("(\\PC{0,300}[.!?\n ]{0,3})|([a-z ]{0,900})", 0..12)
        ) {
            check(&parts.concat());
        }
    }
}
