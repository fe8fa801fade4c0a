//! The sorted list of voices in memory, with an index for filters.

use std::cmp::Ordering;
use std::collections::HashSet;

use memchr::memmem::Finder;
use offhook_domain::{AccountId, Voice, VoiceGender, VoiceProvider};

use super::ListedVoice;
use super::sets::Sets;
use super::shipped::Shipped;
use crate::casefold::fold;

/// A voice's position in the list; positions compare in the list's order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct VoicePlace {
    /// 0 for recommended voices, 1 for all others.
    pub group: u8,
    pub provider: VoiceProvider,
    /// The folded name.
    pub name_folded: String,
    /// The provider's id.
    pub voice_id: String,
}

/// A filter in the form that the list compares: the language in lower case, the text folded.
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
    /// In the list's order.
    entries: Vec<Entry>,
    texts: Texts,
    sets: Sets,
    /// The accounts that also have voices of their own.
    pub(super) owners: HashSet<AccountId>,
}

/// The texts of all voices in one buffer. A dozen small texts per voice would spread over the allocator's arenas, among
/// short-lived allocations, and prevent that memory from being returned.
#[derive(Default)]
struct Texts(Vec<u8>);

/// A voice of the list: the offsets of its folded name, of its id after that, and of the rest as JSON, which ends at
/// `end`.
struct Entry {
    provider: VoiceProvider,
    recommended: bool,
    name: usize,
    id: usize,
    rest: usize,
    end: usize,
}

impl Texts {
    fn part(&self, from: usize, to: usize) -> &[u8] {
        self.0.get(from..to).unwrap_or_default()
    }

    fn name(&self, entry: &Entry) -> &[u8] {
        self.part(entry.name, entry.id)
    }

    fn id(&self, entry: &Entry) -> &[u8] {
        self.part(entry.id, entry.rest)
    }

    /// Compares like [`VoicePlace`].
    fn place<'a>(&'a self, entry: &Entry) -> (u8, VoiceProvider, &'a [u8], &'a [u8]) {
        let group = u8::from(!entry.recommended);
        (group, entry.provider, self.name(entry), self.id(entry))
    }

    fn compare(&self, entry: &Entry, place: &VoicePlace) -> Ordering {
        let other = (
            place.group,
            place.provider,
            place.name_folded.as_bytes(),
            place.voice_id.as_bytes(),
        );
        self.place(entry).cmp(&other)
    }

    fn voice(&self, entry: &Entry) -> Option<Voice> {
        let id = String::from_utf8(self.id(entry).to_vec()).ok()?;
        let rest = self.part(entry.rest, entry.end);
        Voice::from_text(entry.provider, id, rest).ok()
    }

    fn listed(&self, entry: &Entry) -> Option<ListedVoice> {
        let voice = self.voice(entry)?;
        let place = VoicePlace {
            group: u8::from(!entry.recommended),
            provider: entry.provider,
            name_folded: String::from_utf8(self.name(entry).to_vec()).ok()?,
            voice_id: voice.voice_id.clone(),
        };
        Some(ListedVoice {
            voice,
            recommended: entry.recommended,
            place,
        })
    }
}

/// A list under construction.
pub(super) struct Listing<'a> {
    shipped: &'a Shipped,
    synced: HashSet<VoiceProvider>,
    entries: Vec<Entry>,
    texts: Texts,
}

impl<'a> Listing<'a> {
    pub(super) fn new(shipped: &'a Shipped) -> Self {
        Self {
            shipped,
            synced: HashSet::new(),
            entries: Vec::new(),
            texts: Texts::default(),
        }
    }

    pub(super) fn add(&mut self, voice: Voice) {
        let (provider, texts) = (voice.provider, &mut self.texts.0);
        self.synced.insert(provider);
        let recommended = self.shipped.recommends(provider, &voice.voice_id);
        let name = texts.len();
        texts.extend_from_slice(fold(&voice.name).as_bytes());
        let (voice_id, kept) = voice.into_text();
        let id = texts.len();
        texts.extend_from_slice(voice_id.as_bytes());
        let rest = texts.len();
        texts.extend_from_slice(kept.as_bytes());
        self.entries.push(Entry {
            provider,
            recommended,
            name,
            id,
            rest,
            end: texts.len(),
        });
    }

    /// The list of these voices.
    pub(super) fn alone(mut self) -> Snapshot {
        let texts = std::mem::take(&mut self.texts);
        self.entries
            .sort_unstable_by(|a, b| texts.place(a).cmp(&texts.place(b)));
        let mut sets = Sets::default();
        for entry in &self.entries {
            if let Some(listed) = texts.listed(entry) {
                sets.add(&listed);
            }
        }
        Snapshot {
            generation: None,
            entries: self.entries,
            texts,
            sets,
            owners: HashSet::new(),
        }
    }

    /// The list of these voices, plus the shipped ones of providers that have none.
    pub(super) fn with_shipped(mut self) -> Snapshot {
        let synced = std::mem::take(&mut self.synced);
        let shipped = self.shipped.voices.iter();
        for voice in shipped.filter(|voice| !synced.contains(&voice.provider)) {
            self.add(voice.clone());
        }
        self.alone()
    }
}

impl Snapshot {
    pub(super) fn find(&self, provider: VoiceProvider, voice_id: &str) -> Option<Voice> {
        let is_it = |entry: &&Entry| {
            entry.provider == provider && self.texts.id(entry) == voice_id.as_bytes()
        };
        let found = self.entries.iter().find(is_it)?;
        self.texts.voice(found)
    }

    /// Up to `most` voices after `after`.
    pub(super) fn page(
        &self,
        search: &Search,
        after: Option<&VoicePlace>,
        most: usize,
    ) -> Vec<ListedVoice> {
        self.behind(search, after, most, |_, _| true)
    }

    /// Up to `most` voices after `after` that pass `is_shown`, by provider and id.
    pub(super) fn behind(
        &self,
        search: &Search,
        after: Option<&VoicePlace>,
        most: usize,
        is_shown: impl Fn(VoiceProvider, &[u8]) -> bool,
    ) -> Vec<ListedVoice> {
        let texts = &self.texts;
        let first = after.map_or(0, |after| {
            self.entries
                .partition_point(|entry| texts.compare(entry, after).is_le())
        });
        let q = search.q.as_deref().unwrap_or_default();
        let text = Finder::new(q.as_bytes());
        let candidates = self.sets.candidates(search, first);
        candidates
            .filter_map(|at| self.entries.get(at))
            .filter(|entry| text.find(texts.name(entry)).is_some())
            .filter(|entry| is_shown(entry.provider, texts.id(entry)))
            .filter_map(|entry| texts.listed(entry))
            .take(most)
            .collect()
    }

    /// Each voice's provider and id.
    pub(super) fn names(&self) -> HashSet<(VoiceProvider, &[u8])> {
        let names = self.entries.iter();
        names
            .map(|entry| (entry.provider, self.texts.id(entry)))
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

    fn list(voices: impl IntoIterator<Item = Voice>) -> Snapshot {
        let shipped = Shipped::load().unwrap();
        let mut listing = Listing::new(&shipped);
        voices.into_iter().for_each(|voice| listing.add(voice));
        listing.with_shipped()
    }

    fn ids(snapshot: &Snapshot, search: &Search) -> Vec<String> {
        let page = snapshot.page(search, None, 1_000);
        page.iter().map(|l| l.voice.voice_id.clone()).collect()
    }

    #[test]
    fn a_provider_that_has_been_asked_has_its_own_list_and_the_others_the_shipped_one() {
        let snapshot = list([synced(VoiceProvider::B, "b", "Ana")]);
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
        let provider = VoiceProvider::C;
        let rows = ["4 ana", "2 Ábel", "1 Zoé", "3 Ana", "5 abel"]
            .map(|text| text.split_once(' ').unwrap())
            .map(|(id, name)| synced(provider, id, name));
        let snapshot = list(rows);
        let search = Search {
            provider: Some(provider),
            ..Search::default()
        };
        assert_eq!(ids(&snapshot, &search), ["5", "3", "4", "1", "2"]);
    }

    #[test]
    fn a_text_is_found_within_one_name_and_once_in_it() {
        let provider = VoiceProvider::C;
        let rows = [
            ("1", "Ana Ana"),
            ("2", "Bea 100%"),
            ("3", "Cleo_x"),
            ("4", "ÁNA"),
        ];
        let rows = rows.map(|(id, name)| synced(provider, id, name));
        let snapshot = list(rows);
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
