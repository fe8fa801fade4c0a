//! The list of voices in memory, in its order, with what finds those that a filter asks for.

use std::collections::HashSet;
use std::sync::Arc;

use memchr::memmem::Finder;
use offhook_domain::{AccountId, Voice, VoiceGender, VoiceProvider};

use super::ListedVoice;
use super::sets::Sets;
use super::shipped::Shipped;
use crate::folding::fold;

/// Where a voice stands in the list; places compare as the list is ordered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct VoicePlace {
    /// 0 for hand-picked voices, 1 for all others.
    pub group: u8,
    /// The provider.
    pub provider: VoiceProvider,
    /// The name as it is compared.
    pub name_folded: String,
    /// The provider's id.
    pub voice_id: String,
}

/// Filters as the list compares them: the language in lower case, the text folded.
#[derive(Debug, Default)]
pub(super) struct Search {
    pub(super) provider: Option<VoiceProvider>,
    pub(super) language: Option<String>,
    pub(super) gender: Option<VoiceGender>,
    pub(super) q: Option<String>,
    pub(super) recommended: Option<bool>,
}

/// The whole list.
pub(super) struct Snapshot {
    pub(super) generation: Option<String>,
    voices: Vec<ListedVoice>,
    sets: Sets,
    /// The accounts that have voices of their own beside these.
    pub(super) owners: HashSet<AccountId>,
}

impl Snapshot {
    /// The list of these voices and of the shipped ones of those providers that have none.
    pub(super) fn of(generation: Option<String>, listed: Vec<Voice>, shipped: &Shipped) -> Self {
        let synced: HashSet<VoiceProvider> = listed.iter().map(|voice| voice.provider).collect();
        let static_ones = shipped.voices.iter();
        let voices = static_ones
            .filter(|voice| !synced.contains(&voice.provider))
            .cloned()
            .chain(listed);
        Self {
            generation,
            ..Self::in_order(voices, shipped)
        }
    }

    /// A list of these voices.
    pub(super) fn in_order(voices: impl Iterator<Item = Voice>, shipped: &Shipped) -> Self {
        let mut voices: Vec<ListedVoice> = voices
            .map(|voice| {
                let recommended = shipped.recommends(voice.provider, &voice.voice_id);
                let place = VoicePlace {
                    group: u8::from(!recommended),
                    provider: voice.provider,
                    name_folded: fold(&voice.name),
                    voice_id: voice.voice_id.clone(),
                };
                ListedVoice {
                    voice: Arc::new(voice),
                    recommended,
                    place,
                }
            })
            .collect();
        voices.sort_unstable_by(|a, b| a.place.cmp(&b.place));
        Self {
            generation: None,
            sets: Sets::of(&voices),
            voices,
            owners: HashSet::new(),
        }
    }

    pub(super) fn find(&self, provider: VoiceProvider, voice_id: &str) -> Option<&Voice> {
        let is_it = |voice: &&Voice| voice.provider == provider && voice.voice_id == voice_id;
        self.voices.iter().map(|listed| &*listed.voice).find(is_it)
    }

    /// Up to `most` voices behind `after`.
    pub(super) fn page(
        &self,
        search: &Search,
        after: Option<&VoicePlace>,
        most: usize,
    ) -> Vec<ListedVoice> {
        self.behind(search, after).take(most).cloned().collect()
    }

    /// The voices behind `after`, in order.
    pub(super) fn behind<'a>(
        &'a self,
        search: &'a Search,
        after: Option<&VoicePlace>,
    ) -> impl Iterator<Item = &'a ListedVoice> {
        let first = after.map_or(0, |after| {
            self.voices.partition_point(|listed| listed.place <= *after)
        });
        let q = search.q.as_deref().unwrap_or_default();
        let text = Finder::new(q.as_bytes());
        let candidates = self.sets.candidates(search, first);
        candidates
            .filter_map(|at| self.voices.get(at))
            .filter(move |listed| text.find(listed.place.name_folded.as_bytes()).is_some())
    }

    /// What names each voice.
    pub(super) fn names(&self) -> HashSet<(VoiceProvider, &str)> {
        let voices = self.voices.iter().map(|listed| &*listed.voice);
        voices
            .map(|voice| (voice.provider, &*voice.voice_id))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use offhook_domain::VoiceSource;

    use super::*;

    fn synced(provider: VoiceProvider, id: &str, name: &str) -> Voice {
        Voice {
            provider,
            voice_id: id.to_owned(),
            name: name.to_owned(),
            gender: None,
            age: None,
            accent: None,
            language: Some("es".to_owned()),
            languages: Vec::new(),
            locales: Vec::new(),
            description: None,
            use_case: None,
            preview_url: None,
            model_compat: Vec::new(),
            source: VoiceSource::Public,
            owner_id: None,
        }
    }

    fn ids(snapshot: &Snapshot, search: &Search) -> Vec<String> {
        let page = snapshot.page(search, None, 1_000);
        page.iter().map(|l| l.voice.voice_id.clone()).collect()
    }

    #[test]
    fn a_provider_that_has_been_asked_has_its_own_list_and_the_others_the_shipped_one() {
        let shipped = Shipped::load().unwrap();
        let rows = vec![synced(VoiceProvider::B, "b", "Ana")];
        let snapshot = Snapshot::of(None, rows, &shipped);
        let of = |provider| Search {
            provider: Some(provider),
            ..Search::default()
        };
        assert_eq!(ids(&snapshot, &of(VoiceProvider::B)), ["b"]);
        let of_a = snapshot.page(&of(VoiceProvider::A), None, 1_000);
        assert!(of_a.len() > 5);
        assert!(of_a.iter().all(|l| l.voice.source == VoiceSource::Static));
    }

    #[test]
    fn names_order_folded_and_ids_break_ties() {
        let shipped = Shipped::load().unwrap();
        let provider = VoiceProvider::C;
        let rows = ["4 ana", "2 Ábel", "1 Zoé", "3 Ana", "5 abel"]
            .map(|text| text.split_once(' ').unwrap())
            .map(|(id, name)| synced(provider, id, name));
        let snapshot = Snapshot::of(None, rows.to_vec(), &shipped);
        let search = Search {
            provider: Some(provider),
            ..Search::default()
        };
        assert_eq!(ids(&snapshot, &search), ["5", "3", "4", "1", "2"]);
    }

    #[test]
    fn a_text_is_found_within_one_name_and_once_in_it() {
        let shipped = Shipped::load().unwrap();
        let provider = VoiceProvider::C;
        let rows = [
            ("1", "Ana Ana"),
            ("2", "Bea 100%"),
            ("3", "Cleo_x"),
            ("4", "ÁNA"),
        ];
        let rows = rows.map(|(id, name)| synced(provider, id, name)).to_vec();
        let snapshot = Snapshot::of(None, rows, &shipped);
        let find = |q: &str| {
            let search = Search {
                provider: Some(provider),
                q: Some(fold(q)),
                ..Search::default()
            };
            ids(&snapshot, &search)
        };
        assert_eq!(find("ANA"), ["1"]);
        assert_eq!(find("ána"), ["4"]);
        assert_eq!(find("%"), ["2"]);
        assert_eq!(find("_"), ["3"]);
        assert_eq!(find("a"), ["1", "2", "4"]);
        assert_eq!(find("anabea"), [""; 0]);
        assert_eq!(find(""), ["1", "2", "3", "4"]);
        let place = snapshot.page(
            &Search {
                provider: Some(provider),
                q: Some("e".to_owned()),
                ..Search::default()
            },
            None,
            1,
        )[0]
        .place
        .clone();
        let rest = snapshot.page(
            &Search {
                provider: Some(provider),
                q: Some("e".to_owned()),
                ..Search::default()
            },
            Some(&place),
            9,
        );
        assert_eq!(rest.len(), 1);
        assert_eq!(rest[0].voice.voice_id, "3");
    }
}
