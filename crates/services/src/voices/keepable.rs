//! What of a provider's list can be kept: the database, a cursor and an agent's configuration have bounds that a provider
//! need not have.

use std::collections::HashSet;

use offhook_domain::Voice;

/// The longest id, in characters: an agent's configuration names no longer one.
const ID: usize = 200;

/// The longest name, in characters: it is a part of the list's cursors.
const NAME: usize = 200;

/// The longest of the other words, in characters.
const WORDS: usize = 100;

/// The longest description, in characters.
const DESCRIPTION: usize = 2_000;

/// The longest URL, in bytes.
const URL: usize = 2_048;

/// The most languages, locales or models.
const ELEMENTS: usize = 200;

/// The voices that can be kept, each once, as a page may repeat what the list moved on while it was read; the first one is.
pub(super) fn keepable(voices: Vec<Voice>) -> Vec<Voice> {
    let mut known = HashSet::new();
    let voices = voices.into_iter().filter_map(Voice::without_nul);
    voices
        .filter_map(bounded)
        .filter(|voice| known.insert(voice.voice_id.clone()))
        .collect()
}

/// A voice within the bounds; none if nobody could name it.
fn bounded(mut voice: Voice) -> Option<Voice> {
    let id = voice.voice_id.chars().take(ID + 1).count();
    if id == 0 || id > ID {
        return None;
    }
    cut(&mut voice.name, NAME);
    for words in [&mut voice.age, &mut voice.accent, &mut voice.use_case] {
        words.iter_mut().for_each(|text| cut(text, WORDS));
    }
    voice
        .description
        .iter_mut()
        .for_each(|text| cut(text, DESCRIPTION));
    // Cut short, these would be others.
    voice.preview_url = voice.preview_url.filter(|url| url.len() <= URL);
    voice.owner_id = voice.owner_id.filter(|id| id.len() <= ID);
    for list in [
        &mut voice.languages,
        &mut voice.locales,
        &mut voice.model_compat,
    ] {
        list.retain(|text| text.len() <= ID);
        list.truncate(ELEMENTS);
    }
    Some(voice)
}

fn cut(text: &mut String, most: usize) {
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use offhook_domain::{VoiceProvider, VoiceSource};

    use super::*;

    fn voice(id: &str, name: &str) -> Voice {
        Voice {
            provider: VoiceProvider::A,
            voice_id: id.to_owned(),
            name: name.to_owned(),
            gender: None,
            age: None,
            accent: None,
            language: None,
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

    #[test]
    fn a_voice_that_is_listed_twice_is_kept_as_it_came_first() {
        let listed = vec![voice("v", "Ana"), voice("w", "Bea"), voice("v", "Other")];
        assert_eq!(keepable(listed), [voice("v", "Ana"), voice("w", "Bea")]);
    }

    #[test]
    fn what_is_too_long_is_cut_left_out_or_costs_the_voice_if_it_is_its_id() {
        let long = |times: usize| "é".repeat(times);
        let texts = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
        let absurd = Voice {
            age: Some(long(5_000)),
            accent: Some(long(100)),
            use_case: Some(long(101)),
            description: Some(long(5_000)),
            preview_url: Some(format!(
                "https://previews.example.com/{}",
                "x".repeat(2_048)
            )),
            owner_id: Some(long(5_000)),
            languages: texts(1_000),
            locales: vec!["es-MX".to_owned(), "x".repeat(5_000)],
            model_compat: texts(200),
            ..voice(&long(200), &long(5_000))
        };
        let bounded = Voice {
            age: Some(long(100)),
            accent: Some(long(100)),
            use_case: Some(long(100)),
            description: Some(long(2_000)),
            languages: texts(200),
            locales: vec!["es-MX".to_owned()],
            model_compat: texts(200),
            ..voice(&long(200), &long(200))
        };
        let listed = vec![voice(&long(201), "Ana"), voice("", "Ana"), absurd];
        assert_eq!(keepable(listed), [bounded]);
    }
}
