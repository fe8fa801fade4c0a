//! Stores tens of thousands of voices.

use std::collections::HashSet;
use std::fmt;

use super::{Voice, VoiceProvider};

/// A provider's voices without duplicates, in their original order: without U+0000, within the limits of the database,
/// of cursors and of agent configurations.
///
/// They are in one block of memory: 20,000 voices with a dozen small texts each would fragment the heap, whose memory
/// would then not be returned to the system.
#[derive(Clone, Default)]
pub struct VoiceList {
    texts: Vec<u8>,
    voices: Vec<Place>,
    ids: HashSet<String>,
}

/// The offsets of a voice's id and of its other fields, up to `end`.
#[derive(Clone, Copy)]
struct Place {
    provider: VoiceProvider,
    id: usize,
    rest: usize,
    end: usize,
}

impl VoiceList {
    /// Adds a voice, if it can be stored and its id is new.
    pub fn push(&mut self, voice: Voice) {
        let Some(voice) = voice.storable() else {
            return;
        };
        let provider = voice.provider;
        let (voice_id, rest) = voice.into_text();
        if self.ids.contains(&voice_id) {
            return;
        }
        let id = self.texts.len();
        self.texts.extend_from_slice(voice_id.as_bytes());
        self.ids.insert(voice_id);
        let begin = self.texts.len();
        self.texts.extend_from_slice(rest.as_bytes());
        self.voices.push(Place {
            provider,
            id,
            rest: begin,
            end: self.texts.len(),
        });
    }

    /// Returns the number of voices.
    #[must_use]
    pub fn len(&self) -> usize {
        self.voices.len()
    }

    /// Returns whether the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.voices.is_empty()
    }

    /// Returns whether the list has a voice with this id.
    #[must_use]
    pub fn contains(&self, voice_id: &str) -> bool {
        self.ids.contains(voice_id)
    }

    /// Returns the voices, each decoded on demand.
    pub fn iter(&self) -> impl Iterator<Item = Voice> + '_ {
        self.voices.iter().filter_map(|place| {
            let part = |from, to| self.texts.get(from..to).unwrap_or_default();
            let voice_id = String::from_utf8(part(place.id, place.rest).to_vec()).ok()?;
            let rest = part(place.rest, place.end);
            // The text was encoded by this type.
            Voice::from_text(place.provider, voice_id, rest).ok()
        })
    }
}

impl FromIterator<Voice> for VoiceList {
    fn from_iter<I: IntoIterator<Item = Voice>>(voices: I) -> Self {
        let mut list = Self::default();
        voices.into_iter().for_each(|voice| list.push(voice));
        list
    }
}

impl<const N: usize> From<[Voice; N]> for VoiceList {
    fn from(voices: [Voice; N]) -> Self {
        voices.into_iter().collect()
    }
}

impl PartialEq for VoiceList {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl fmt::Debug for VoiceList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{VoiceGender, VoiceSource};

    fn voice(id: &str, name: &str) -> Voice {
        let text = |text: &str| Some(text.to_owned());
        Voice {
            provider: VoiceProvider::A,
            voice_id: id.to_owned(),
            name: name.to_owned(),
            gender: Some(VoiceGender::Neutral),
            age: text("middle \"aged\""),
            accent: text("poblano"),
            language: text("es"),
            languages: vec!["es".to_owned(), "en".to_owned()],
            locales: vec!["es-MX".to_owned()],
            description: text("Warm,\nclear and — 🎙"),
            use_case: text("conversational"),
            preview_url: text("https://previews.example.com/1.mp3"),
            model_compat: vec!["m".to_owned()],
            source: VoiceSource::Shared,
            owner_id: text("o"),
        }
    }

    #[test]
    fn voices_are_kept_whole_in_their_order() {
        let own = Voice {
            provider: VoiceProvider::C,
            gender: None,
            age: None,
            languages: Vec::new(),
            source: VoiceSource::Custom,
            owner_id: None,
            ..voice("ñ", "Ñandú")
        };
        let voices = [voice("v", "Ana"), own, voice("a", "")];
        let list: VoiceList = voices.iter().cloned().collect();
        assert_eq!(list.iter().collect::<Vec<_>>(), voices[..2]);
        assert_eq!(list.len(), 2);
        assert!(list.contains("ñ") && !list.contains("a"));
    }

    #[test]
    fn a_voice_that_is_listed_twice_is_kept_as_it_came_first() {
        let listed = [voice("v", "Ana"), voice("w", "Bea"), voice("v", "Other")];
        let list: VoiceList = listed.iter().cloned().collect();
        assert_eq!(list.iter().collect::<Vec<_>>(), listed[..2]);
    }
}
