//! How the words of documents are packed into rows (docs/adr/0011-words-are-folded.md).
//!
//! A document's own rows hold some words each: `word ordinal:impact …`, separated by `|`, which is in no word. A folded row
//! holds one word of several documents in which it counts about as much: for each, its id, a length, and its places.

use std::collections::BTreeMap;

use offhook_domain::DocumentId;
use uuid::Uuid;

use crate::NewPosting;

/// Words of a row: a search reads one row for a word of a document.
const WORDS: usize = 64;

/// Bytes of a row, unless one word alone has more.
const BYTES: usize = 1_500;

/// Impacts of one tier.
const TIER: i32 = 200;

const BETWEEN: char = '|';

/// Bytes of an id, and of an id with a length.
const ID: usize = 16;
const HEAD: usize = ID + 4;

/// Some words of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WordsRow {
    /// The last of them.
    pub(crate) last: String,
    /// The words with their places.
    pub(crate) words: String,
}

/// A word in documents of a fold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoldedRow {
    /// The word.
    pub(crate) term: String,
    /// How much it counts there.
    pub(crate) tier: i32,
    /// Documents and places.
    pub(crate) postings: Vec<u8>,
}

/// Packs words, which are in their order.
pub(crate) fn packed(postings: &[NewPosting]) -> Vec<WordsRow> {
    let mut rows: Vec<WordsRow> = Vec::with_capacity(postings.len() / WORDS + 1);
    let mut words = 0;
    for posting in postings {
        let length = posting.term.len() + posting.places.len() + 2;
        match rows.last_mut() {
            Some(row) if words < WORDS && row.words.len() + length <= BYTES => {
                row.words.push(BETWEEN);
                push(row, posting);
                words += 1;
            }
            _ => {
                let mut row = WordsRow {
                    last: String::new(),
                    words: String::with_capacity(BYTES),
                };
                push(&mut row, posting);
                rows.push(row);
                words = 1;
            }
        }
    }
    rows
}

fn push(row: &mut WordsRow, posting: &NewPosting) {
    row.last.clone_from(&posting.term);
    row.words.push_str(&posting.term);
    row.words.push(' ');
    row.words.push_str(&posting.places);
}

/// The words of a row, with their places.
pub(crate) fn entries(words: &str) -> impl Iterator<Item = (&str, &str)> {
    words
        .split(BETWEEN)
        .filter_map(|entry| entry.split_once(' '))
}

/// In how many passages a word is.
pub(crate) fn passages(places: &str) -> i64 {
    let spaces = places.bytes().filter(|byte| *byte == b' ').count();
    i64::try_from(spaces).unwrap_or(i64::MAX).saturating_add(1)
}

/// How much a word counts where it counts most in a document.
pub(crate) fn tier(places: &str) -> i32 {
    let impacts = places
        .split(' ')
        .filter_map(|place| place.split_once(':')?.1.parse::<i32>().ok());
    impacts.max().unwrap_or(0) / TIER
}

/// The highest impact in a tier.
pub(crate) const fn highest(tier: i32) -> i32 {
    (tier + 1) * TIER - 1
}

/// The words behind `upto`, up to `to`, of rows of several documents: folded, and in how many passages each is.
pub(crate) fn folded(
    rows: &[(DocumentId, String)],
    upto: &str,
    to: Option<&str>,
) -> (Vec<FoldedRow>, Vec<(String, i64)>) {
    let mut all = Vec::new();
    for (document, words) in rows {
        for (term, places) in entries(words) {
            if term > upto && to.is_none_or(|to| term <= to) {
                all.push((term, tier(places), *document, places));
            }
        }
    }
    all.sort_unstable();
    let (mut folded, mut counts) = (Vec::<FoldedRow>::new(), Vec::<(String, i64)>::new());
    for (term, tier, document, places) in all {
        match counts.last_mut() {
            Some((last, count)) if last == term => *count += passages(places),
            _ => counts.push((term.to_owned(), passages(places))),
        }
        match folded.last_mut() {
            Some(row) if row.term == term && row.tier == tier => {
                add(&mut row.postings, document, places);
            }
            _ => {
                let mut postings = Vec::new();
                add(&mut postings, document, places);
                folded.push(FoldedRow {
                    term: term.to_owned(),
                    tier,
                    postings,
                });
            }
        }
    }
    (folded, counts)
}

fn add(postings: &mut Vec<u8>, document: DocumentId, places: &str) {
    let length = u32::try_from(places.len()).unwrap_or(u32::MAX);
    postings.extend(document.uuid().as_bytes());
    postings.extend(length.to_le_bytes());
    postings.extend(places.as_bytes());
}

/// The documents of a folded row, with their places.
pub(crate) fn documents(postings: &[u8]) -> Documents<'_> {
    Documents(postings)
}

/// Walks a folded row; it ends where the row makes no sense.
pub(crate) struct Documents<'a>(&'a [u8]);

impl<'a> Iterator for Documents<'a> {
    type Item = (DocumentId, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let id = Uuid::from_slice(self.0.get(..ID)?).ok()?;
        let length = u32::from_le_bytes(self.0.get(ID..HEAD)?.try_into().ok()?);
        let end = HEAD.checked_add(usize::try_from(length).ok()?)?;
        let places = std::str::from_utf8(self.0.get(HEAD..end)?).ok()?;
        self.0 = self.0.get(end..)?;
        Some((DocumentId::from_uuid(id), places))
    }
}

/// Folded rows without a document; those that had no other are left out.
pub(crate) fn without(rows: Vec<FoldedRow>, gone: DocumentId) -> Vec<FoldedRow> {
    let kept = rows.into_iter().filter_map(|row| {
        let mut postings = Vec::with_capacity(row.postings.len());
        for (document, places) in documents(&row.postings) {
            if document != gone {
                add(&mut postings, document, places);
            }
        }
        (!postings.is_empty()).then_some(FoldedRow { postings, ..row })
    });
    kept.collect()
}

/// The words of rows with their tiers, and in how many passages each is.
pub(crate) fn keys(rows: &[WordsRow]) -> BTreeMap<String, (i32, i64)> {
    let entries = rows.iter().flat_map(|row| entries(&row.words));
    entries
        .map(|(term, places)| (term.to_owned(), (tier(places), passages(places))))
        .collect()
}
