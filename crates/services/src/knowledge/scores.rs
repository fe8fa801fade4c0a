//! What passages come to in a search: a sum over the query's words.

use std::collections::HashMap;

use offhook_documents::IMPACT_ONE;
use offhook_domain::DocumentId;
use offhook_storage::{Posting, Walked};

use super::index;
use super::search::Place;
use super::vectors::best_first;

/// Passages of a document, in their order.
type Passages = Vec<(i32, f64)>;

/// What passages have come to so far.
pub(super) struct Scores {
    words: Vec<Word>,
    /// The places of the words in `words`.
    numbers: HashMap<String, usize>,
    documents: HashMap<DocumentId, Found>,
}

struct Word {
    rarity: f64,
    /// What it may add to a passage in which it has not been found.
    rest: f64,
}

#[derive(Default)]
struct Found {
    /// A bit for each word that was found here.
    words: u64,
    passages: Passages,
    /// What the best of them has come to.
    best: f64,
}

impl Scores {
    /// Of up to 64 words with how rare they are.
    pub(super) fn new(words: Vec<(String, f64)>) -> Self {
        let numbers = words.iter().enumerate();
        Self {
            numbers: numbers.map(|(at, (term, _))| (term.clone(), at)).collect(),
            words: words
                .into_iter()
                .map(|(_, rarity)| Word { rarity, rest: 0.0 })
                .collect(),
            documents: HashMap::new(),
        }
    }

    pub(super) fn add(&mut self, found: &[Posting]) {
        for posting in found {
            if let Some(number) = self.numbers.get(&posting.term).copied() {
                self.add_one(number, posting.document_id, &posting.places);
            }
        }
    }

    /// Adds where a word counts most.
    pub(super) fn walk(&mut self, walked: &Walked) {
        let Some(number) = self.numbers.get(&walked.term).copied() else {
            return;
        };
        for (document, places) in &walked.documents {
            self.add_one(number, *document, places);
        }
        if let Some(word) = self.words.get_mut(number) {
            word.rest = word.rarity * f64::from(walked.rest) / IMPACT_ONE;
        }
    }

    fn add_one(&mut self, number: usize, document: DocumentId, places: &str) {
        let Some(word) = self.words.get(number) else {
            return;
        };
        let found = self.documents.entry(document).or_default();
        // What was folded during the search is found twice.
        if found.words & bit(number) != 0 {
            return;
        }
        found.words |= bit(number);
        let scores = index::places(places)
            .map(|(ordinal, impact)| (ordinal, word.rarity * impact / IMPACT_ONE));
        let best = add_up(&mut found.passages, scores);
        found.best = found.best.max(best);
    }

    /// Of the documents that may have one of the `most` best passages, up to `limit`: the words that were not followed
    /// to them.
    pub(super) fn incomplete(&self, most: usize, limit: usize) -> Vec<(DocumentId, u64)> {
        if self.words.iter().all(|word| word.rest <= 0.0) {
            return Vec::new();
        }
        let enough = self.enough(most);
        let mut incomplete = Vec::new();
        for (document, found) in &self.documents {
            let (mut missing, mut rest) = (0, 0.0);
            for (number, word) in self.words.iter().enumerate() {
                if word.rest > 0.0 && found.words & bit(number) == 0 {
                    missing |= bit(number);
                    rest += word.rest;
                }
            }
            if missing != 0 && found.best + rest >= enough {
                incomplete.push((found.best, *document, missing));
            }
        }
        incomplete.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        let first = incomplete.into_iter().take(limit);
        first
            .map(|(_, document, missing)| (document, missing))
            .collect()
    }

    /// What a passage has come to that is one of the best `most`; 0 if there are fewer.
    fn enough(&self, most: usize) -> f64 {
        let passages = (self.documents.values()).flat_map(|found| &found.passages);
        let mut scores: Vec<f64> = passages.map(|(_, score)| *score).collect();
        if scores.len() < most {
            return 0.0;
        }
        let (_, enough, _) = scores.select_nth_unstable_by(most - 1, |a, b| b.total_cmp(a));
        *enough
    }

    /// The best `most` passages, best first.
    pub(super) fn best(&self, most: usize) -> Vec<(Place, f64)> {
        let enough = self.enough(most);
        let mut all: Vec<(Place, f64)> = Vec::new();
        for (document, found) in &self.documents {
            if found.best < enough {
                continue;
            }
            let passages = (found.passages.iter()).filter(|(_, score)| *score >= enough);
            all.extend(passages.map(|(ordinal, score)| ((*document, *ordinal), *score)));
        }
        if all.len() > most {
            all.select_nth_unstable_by(most, |(a, left), (b, right)| {
                right.total_cmp(left).then(a.cmp(b))
            });
            all.truncate(most);
        }
        best_first(all)
    }
}

const fn bit(number: usize) -> u64 {
    1 << (number % 64)
}

/// Adds scores to passages, both in their order; the highest sum that came of it.
fn add_up(passages: &mut Passages, scores: impl Iterator<Item = (i32, f64)>) -> f64 {
    let (mut at, mut best, known) = (0, 0.0, passages.len());
    for (ordinal, score) in scores {
        while at < known
            && passages
                .get(at)
                .is_some_and(|(before, _)| *before < ordinal)
        {
            at += 1;
        }
        let sum = match passages.get_mut(at) {
            Some((here, sum)) if at < known && *here == ordinal => {
                *sum += score;
                *sum
            }
            _ => {
                passages.push((ordinal, score));
                score
            }
        };
        best = f64::max(best, sum);
    }
    if passages.len() > known {
        // Two runs, which a stable sort merges.
        passages.sort_by_key(|(ordinal, _)| *ordinal);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_added_up_in_order() {
        let mut sum = vec![(1, 1.0), (4, 4.0), (9, 9.0)];
        let right = [(0, 0.5), (4, 0.5), (5, 0.5)];
        assert_eq!(add_up(&mut sum, right.into_iter()), 4.5);
        assert_eq!(sum, [(0, 0.5), (1, 1.0), (4, 4.5), (5, 0.5), (9, 9.0)]);
        assert_eq!(add_up(&mut sum, [(9, 0.5), (10, 11.0)].into_iter()), 11.0);
        assert_eq!(sum[4..], [(9, 9.5), (10, 11.0)]);
    }

    #[test]
    fn only_what_may_still_lead_is_completed() {
        let words = ["rare", "common"]
            .map(|word| (word.to_owned(), if word == "rare" { 5.0 } else { 1.0 }));
        let mut scores = Scores::new(words.to_vec());
        let ids: Vec<DocumentId> = (1..=3)
            .map(|number| DocumentId::from_uuid(uuid::Uuid::from_u128(number)))
            .collect();
        let walk = |term: &str, documents: &[usize], rest| Walked {
            term: term.to_owned(),
            documents: documents
                .iter()
                .map(|at| (ids[*at], "0:1000".to_owned()))
                .collect(),
            rest,
        };
        scores.walk(&walk("rare", &[0, 1], 0));
        scores.walk(&walk("common", &[1, 2], 999));
        assert_eq!(scores.incomplete(1, 9), [], "0 may come to less than 1 has");
        assert_eq!(scores.incomplete(2, 9), [(ids[0], 2)]);
        let order: Vec<DocumentId> = scores.best(9).iter().map(|((id, _), _)| *id).collect();
        assert_eq!(order, [ids[1], ids[0], ids[2]]);
    }
}
