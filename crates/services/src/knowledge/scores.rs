//! Scores of passages in a search: a sum over the query's words.

use offhook_documents::IMPACT_ONE;

use super::index;
use super::search::Place;
use super::vectors::best_first;
use crate::prelude::*;

/// Passages of a document, in their order.
type Passages = Vec<(i32, f64)>;

/// The scores so far.
pub(super) struct Scores {
    /// The rarity of each word.
    rarities: HashMap<String, f64>,
    documents: HashMap<DocumentId, Found>,
}

#[derive(Default)]
struct Found {
    passages: Passages,
    /// The highest score among them.
    best: f64,
}

impl Scores {
    /// Starts with the words and their rarities.
    pub(super) fn new(rarities: HashMap<String, f64>) -> Self {
        Self {
            rarities,
            documents: HashMap::new(),
        }
    }

    pub(super) fn add(&mut self, posting: &Posting) {
        let Some(rarity) = self.rarities.get(&posting.term) else {
            return;
        };
        let found = self.documents.entry(posting.document_id).or_default();
        let scores = index::places(&posting.places)
            .map(|(ordinal, impact)| (ordinal, rarity * impact / IMPACT_ONE));
        let best = add_up(&mut found.passages, scores);
        found.best = found.best.max(best);
    }

    /// The score of the passage at rank `most`; 0 if there are fewer.
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

/// Adds scores to passages, both in their order; returns the highest resulting sum.
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
}
