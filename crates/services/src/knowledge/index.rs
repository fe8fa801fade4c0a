//! A text as rows: its passages, and the words that they are found by.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use offhook_documents::{impact, split, words};
use offhook_storage::{NewPassage, NewPosting, ReadPart};

/// Splits a text and lists its words in order.
pub(super) fn index(text: &str) -> ReadPart {
    let mut passages = Vec::new();
    let mut postings: BTreeMap<String, NewPosting> = BTreeMap::new();
    for (at, passage) in split(text).into_iter().enumerate() {
        let ordinal = i32::try_from(at).unwrap_or(i32::MAX);
        let mut occurrences: HashMap<String, u32> = HashMap::new();
        let mut length = 0;
        for word in words(passage.text) {
            *occurrences.entry(word).or_default() += 1;
            length += 1;
        }
        for (word, count) in occurrences {
            let impact = impact(count, length);
            let posting = postings.entry(word.clone()).or_insert_with(|| NewPosting {
                term: word,
                places: String::new(),
            });
            let gap = if posting.places.is_empty() { "" } else { " " };
            // Writing to a String does not fail.
            let _ = write!(posting.places, "{gap}{ordinal}:{impact}");
        }
        passages.push(NewPassage {
            ordinal,
            repeats: i32::try_from(passage.repeats).unwrap_or(i32::MAX),
            content: passage.text.to_owned(),
        });
    }
    ReadPart {
        passages,
        words: postings.into_values().collect(),
    }
}

/// The places of a posting: passages and impacts.
pub(super) fn places(text: &str) -> impl Iterator<Item = (i32, f64)> + '_ {
    text.split(' ').filter_map(|place| {
        let (ordinal, impact) = place.split_once(':')?;
        // A search reads thousands of them; integers parse ten times faster.
        let impact: u32 = impact.parse().ok()?;
        Some((ordinal.parse().ok()?, f64::from(impact)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_listed_once_with_every_passage_that_has_it() {
        let text = "The pool opens at nine. ".repeat(100);
        let ReadPart { passages, words } = index(&text);
        assert!(passages.len() > 1);
        let terms: Vec<&str> = words.iter().map(|p| p.term.as_str()).collect();
        assert_eq!(terms, ["at", "nine", "opens", "pool", "the"]);
        for posting in &words {
            let listed: Vec<_> = places(&posting.places).collect();
            assert_eq!(listed.len(), passages.len());
        }
    }
}
