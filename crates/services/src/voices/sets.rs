//! The voices that have a property: one bit per voice, in the list's order. Voices with several properties are thus
//! found among 20,000 in a microsecond, whether there are many or none.

use super::ListedVoice;
use super::snapshot::Search;
use crate::prelude::*;

/// Byte pairs of a text that are looked up; what remains is compared with the whole text.
const PAIRS: usize = 16;

/// A set of voices.
#[derive(Default)]
struct Set(Vec<u64>);

impl Set {
    fn add(&mut self, at: usize) {
        let word = at / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (at % 64);
    }
}

/// Every property that a filter may have.
#[derive(Default)]
pub(super) struct Sets {
    count: usize,
    providers: HashMap<VoiceProvider, Set>,
    genders: HashMap<VoiceGender, Set>,
    languages: HashMap<String, Set>,
    recommended: HashMap<bool, Set>,
    /// Voices whose folded names contain a byte.
    letters: HashMap<u8, Set>,
    /// Voices whose folded names contain two adjacent bytes.
    pairs: HashMap<[u8; 2], Set>,
}

impl Sets {
    /// Adds the next voice of the list.
    pub(super) fn add(&mut self, listed: &ListedVoice) {
        let (at, voice) = (self.count, &listed.voice);
        self.count += 1;
        self.providers.entry(voice.provider).or_default().add(at);
        if let Some(gender) = voice.gender {
            self.genders.entry(gender).or_default().add(at);
        }
        for language in voice.spoken() {
            let language = language.to_ascii_lowercase();
            self.languages.entry(language).or_default().add(at);
        }
        let recommended = self.recommended.entry(listed.recommended);
        recommended.or_default().add(at);
        let name = listed.place.name_folded.as_bytes();
        for letter in name {
            self.letters.entry(*letter).or_default().add(at);
        }
        for pair in name.windows(2) {
            self.pairs.entry([pair[0], pair[1]]).or_default().add(at);
        }
    }

    /// The positions, in order and from `first` on, of the voices that match the filter. For the text, a match has only
    /// its letters and must still be compared.
    pub(super) fn candidates(
        &self,
        search: &Search,
        first: usize,
    ) -> impl Iterator<Item = usize> + '_ {
        // If no voice has a property, there are no candidates.
        let sets = self.asked(search);
        let words = match sets {
            Some(_) => first / 64..self.count.div_ceil(64),
            None => 0..0,
        };
        let sets = sets.unwrap_or_default();
        let count = self.count;
        words
            .flat_map(move |word| {
                let of = |set: &&Set| set.0.get(word).copied().unwrap_or(0);
                let mut bits = sets.iter().map(of).fold(u64::MAX, |all, set| all & set);
                if word == first / 64 {
                    bits &= u64::MAX << (first % 64);
                }
                std::iter::from_fn(move || {
                    let next = (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize);
                    bits &= bits.wrapping_sub(1);
                    next
                })
            })
            .take_while(move |at| *at < count)
    }

    /// The sets of the filter's properties; `None` if one of them is empty.
    fn asked(&self, search: &Search) -> Option<Vec<&Set>> {
        let mut sets = Vec::new();
        if let Some(provider) = search.provider {
            sets.push(self.providers.get(&provider)?);
        }
        if let Some(gender) = search.gender {
            sets.push(self.genders.get(&gender)?);
        }
        if let Some(language) = &search.language {
            sets.push(self.languages.get(language)?);
        }
        if let Some(recommended) = search.recommended {
            sets.push(self.recommended.get(&recommended)?);
        }
        match search.q.as_deref().unwrap_or_default().as_bytes() {
            [] => {}
            [letter] => sets.push(self.letters.get(letter)?),
            text => {
                for pair in text.windows(2).take(PAIRS) {
                    sets.push(self.pairs.get(&[pair[0], pair[1]])?);
                }
            }
        }
        Some(sets)
    }
}
