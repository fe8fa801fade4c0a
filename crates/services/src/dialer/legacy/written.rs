//! What of a call's transcript is written down. The provider may correct what it told before: shorten what was cut off, add
//! what a tool did, drop a turn. What is written stays; what was said behind it is neither lost nor written twice.

use offhook_engine::{Turn, TurnRole};
use offhook_storage::Moment;

/// Comparisons that a corrected transcript is worth: some 1,400 turns beside as many.
const MOST: usize = 2_000_000;

/// The turns that are written, in their order: who said what.
#[derive(Default)]
pub(super) struct Written(Vec<(TurnRole, String)>);

impl Written {
    /// Those that another process has written.
    pub(super) fn before(turns: &[Moment]) -> Self {
        let said = turns.iter().filter_map(|turn| {
            let role = match turn.role.as_deref()? {
                "agent" => TurnRole::Agent,
                "user" => TurnRole::User,
                _ => TurnRole::Tool,
            };
            Some((role, turn.content.clone().unwrap_or_default()))
        });
        Self(said.collect())
    }

    pub(super) fn add(&mut self, turn: &Turn) {
        self.0.push((turn.role, turn.text.clone()));
    }

    /// What was told behind what is written: behind the turns that the written ones become by the fewest corrections.
    pub(super) fn behind<'t>(&self, told: &'t [Turn]) -> &'t [Turn] {
        let both = self.0.iter().zip(told);
        let same = both.take_while(|(said, turn)| is(turn, said)).count();
        let (said, told) = (&self.0[same..], &told[same..]);
        &told[place(said, told)..]
    }
}

fn is(turn: &Turn, (role, text): &(TurnRole, String)) -> bool {
    turn.role == *role && turn.text == *text
}

/// How many of `told` are what was `said` (Levenshtein). Of places that take as many corrections, the one where the same was
/// said last counts, and then the nearest to the number of turns.
fn place(said: &[(TurnRole, String)], told: &[Turn]) -> usize {
    if said.len().saturating_mul(told.len()) > MOST {
        return said.len().min(told.len());
    }
    // What it takes to make the turns so far of the first 0, 1, 2 … that are told.
    let mut costs: Vec<usize> = (0..=told.len()).collect();
    for (so_far, one) in (1..).zip(said) {
        let mut before = std::mem::replace(&mut costs[0], so_far);
        for (at, turn) in told.iter().enumerate() {
            let changed = before + usize::from(!is(turn, one));
            before = costs[at + 1];
            costs[at + 1] = changed.min(before + 1).min(costs[at] + 1);
        }
    }
    let is_last = |count: usize| {
        let ends = count.checked_sub(1).map(|at| &told[at]).zip(said.last());
        ends.is_some_and(|(turn, last)| is(turn, last))
    };
    let by = |count: &usize| (costs[*count], !is_last(*count), count.abs_diff(said.len()));
    (0..=told.len()).min_by_key(by).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use offhook_domain::Timestamp;

    use super::*;

    fn turns(words: &[&str]) -> Vec<Turn> {
        let turn = |words: &&str| Turn {
            role: TurnRole::User,
            text: (*words).to_owned(),
            started_at: Timestamp::from_micros(0),
            duration_ms: 0,
            interrupted: false,
        };
        words.iter().map(turn).collect()
    }

    #[test]
    fn what_follows_a_correction_is_neither_lost_nor_repeated() {
        for (written, told, new) in [
            (vec![], vec!["a", "b"], vec!["a", "b"]),
            (vec!["a", "b"], vec!["a", "b"], vec![]),
            (vec!["a", "b"], vec!["a", "b", "c"], vec!["c"]),
            // An older answer that comes late.
            (vec!["a", "b", "c"], vec!["a"], vec![]),
            // Other words, a turn more, a turn less.
            (vec!["a", "b", "c"], vec!["A", "b", "c", "d"], vec!["d"]),
            (
                vec!["a", "b", "c"],
                vec!["a", "b", "x", "c", "d"],
                vec!["d"],
            ),
            (
                vec!["a", "b", "c"],
                vec!["b", "c", "d", "e"],
                vec!["d", "e"],
            ),
            (vec!["a", "b", "c"], vec!["a", "b", "d"], vec![]),
            // The last one is corrected, and the same words stand elsewhere.
            (
                vec!["hello", "yes", "good", "yes"],
                vec!["hello", "yes", "good", "yes, please", "bye"],
                vec!["bye"],
            ),
            (
                vec!["hello", "yes", "good", "yes"],
                vec!["hello", "yes", "good", "yes, please", "and", "yes"],
                vec!["and", "yes"],
            ),
            (vec!["yes", "yes"], vec!["yes", "yes", "yes"], vec!["yes"]),
        ] {
            let mut kept = Written::default();
            for turn in turns(&written) {
                kept.add(&turn);
            }
            let told = turns(&told);
            assert_eq!(kept.behind(&told), turns(&new), "{written:?} {told:?}");
        }
    }
}
