//! A text as rows: its passages, and the words that they are found by.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use offhook_documents::{impact, split, words};
use offhook_storage::{NewPassage, NewPosting};

/// Cuts a text and lists its words in their order.
pub(super) fn index(text: &str) -> (Vec<NewPassage>, Vec<NewPosting>) {
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
                impact: 0,
                places: String::new(),
                passages: 0,
            });
            posting.impact = posting.impact.max(i32::from(impact));
            posting.passages += 1;
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
    (passages, postings.into_values().collect())
}

/// The places of a posting: passages and impacts.
pub(super) fn places(text: &str) -> impl Iterator<Item = (i32, f64)> + '_ {
    text.split(' ').filter_map(|place| {
        let (ordinal, impact) = place.split_once(':')?;
        Some((ordinal.parse().ok()?, impact.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_listed_once_with_every_passage_that_has_it() {
        let text = "The pool opens at nine. ".repeat(100);
        let (passages, postings) = index(&text);
        assert!(passages.len() > 1);
        let terms: Vec<&str> = postings.iter().map(|p| p.term.as_str()).collect();
        assert_eq!(terms, ["at", "nine", "opens", "pool", "the"]);
        for posting in &postings {
            let listed: Vec<_> = places(&posting.places).collect();
            assert_eq!(listed.len(), passages.len());
            assert_eq!(posting.passages, i64::try_from(passages.len()).unwrap());
            let highest = listed.iter().map(|(_, impact)| *impact as i32).max();
            assert_eq!(highest, Some(posting.impact));
        }
    }
}
