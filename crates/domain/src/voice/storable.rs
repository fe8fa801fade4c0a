//! Limits a provider's voice to what can be stored: the database, cursors and agent configurations have limits that a
//! provider may exceed.

use super::Voice;

/// The longest id, in characters: the limit of an agent's configuration.
const ID: usize = 200;

/// The longest name, in characters: it is part of the list's cursors.
const NAME: usize = 200;

/// The longest of the other short texts, in characters.
const WORDS: usize = 100;

/// The longest description, in characters.
const DESCRIPTION: usize = 2_000;

/// The longest URL, in bytes.
const URL: usize = 2_048;

/// The most languages, locales or models.
const ELEMENTS: usize = 200;

impl Voice {
    /// Removes U+0000, which not every database can store, and truncates texts and lists; `None` if the voice cannot be
    /// referred to.
    pub(super) fn storable(self) -> Option<Self> {
        self.without_nul().and_then(bounded)
    }

    /// `None` if its id or its owner's id contains U+0000, or its name becomes empty: the voice could not be requested.
    fn without_nul(mut self) -> Option<Self> {
        let has_nul = |text: &String| text.contains('\0');
        if has_nul(&self.voice_id) || self.owner_id.as_ref().is_some_and(has_nul) {
            return None;
        }
        let lists = [
            &mut self.languages,
            &mut self.locales,
            &mut self.model_compat,
        ];
        let texts = [
            &mut self.age,
            &mut self.accent,
            &mut self.language,
            &mut self.description,
            &mut self.use_case,
            &mut self.preview_url,
        ];
        let all = lists.into_iter().flatten();
        for text in all
            .chain(texts.into_iter().flatten())
            .chain([&mut self.name])
        {
            text.retain(|c| c != '\0');
        }
        (!self.name.trim().is_empty()).then_some(self)
    }
}

/// Applies the limits; `None` if the voice cannot be referred to.
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
    // A truncated URL or id would be a different one.
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
    use super::*;
    use crate::{VoiceProvider, VoiceSource};

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
    fn a_voice_loses_the_nul_of_its_texts_and_is_none_with_one_in_its_id() {
        let whole = voice("v", "Ana");
        assert_eq!(whole.clone().storable(), Some(whole.clone()));
        let spoilt = Voice {
            name: "A\0na\0".to_owned(),
            description: Some("\0warm".to_owned()),
            languages: vec!["e\0s".to_owned()],
            ..whole.clone()
        };
        let mended = Voice {
            description: Some("warm".to_owned()),
            languages: vec!["es".to_owned()],
            ..whole.clone()
        };
        assert_eq!(spoilt.storable(), Some(mended));
        let nul = || "v\0".to_owned();
        for unusable in [
            Voice {
                voice_id: nul(),
                ..whole.clone()
            },
            Voice {
                owner_id: Some(nul()),
                ..whole.clone()
            },
            Voice {
                name: "\0".to_owned(),
                ..whole
            },
        ] {
            assert_eq!(unusable.storable(), None);
        }
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
        assert_eq!(absurd.storable(), Some(bounded));
        for unnamed in [voice(&long(201), "Ana"), voice("", "Ana")] {
            assert_eq!(unnamed.storable(), None);
        }
    }
}
