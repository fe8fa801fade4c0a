//! Voices.

mod list;
mod storable;
mod text;

use crate::agent::vocabulary;
pub use list::VoiceList;

vocabulary! {
    /// One of the three voice providers, in the order of lists.
    VoiceProvider {
        /// The provider with a shared library.
        A => "provider_a",
        /// The provider without public previews.
        B => "provider_b",
        /// The third provider.
        C => "provider_c",
    }
}

vocabulary! {
    /// The gender of a voice.
    VoiceGender {
        /// Female.
        Female => "female",
        /// Male.
        Male => "male",
        /// Neither.
        Neutral => "neutral",
    }
}

vocabulary! {
    /// The source of a voice.
    VoiceSource {
        /// The deployment's own workspace at the provider.
        Workspace => "workspace",
        /// The provider's shared library.
        Shared => "shared",
        /// The provider's own voices, available to all its customers.
        Public => "public",
        /// The list that ships with the product.
        Static => "static",
        /// The private voices of an account.
        Custom => "custom",
    }
}

/// A voice for engine agents, with the fields of the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Voice {
    /// The provider.
    pub provider: VoiceProvider,
    /// The provider's id of the voice.
    pub voice_id: String,
    /// The name.
    pub name: String,
    /// The gender.
    pub gender: Option<VoiceGender>,
    /// The age in the provider's words.
    pub age: Option<String>,
    /// The accent in the provider's words.
    pub accent: Option<String>,
    /// The main language, two letters.
    pub language: Option<String>,
    /// All languages, two or three letters.
    pub languages: Vec<String>,
    /// Languages with their regions, such as `es-MX`.
    pub locales: Vec<String>,
    /// The provider's description.
    pub description: Option<String>,
    /// The recommended use in the provider's words.
    pub use_case: Option<String>,
    /// A preview recording that plays without credentials.
    pub preview_url: Option<String>,
    /// The provider's models that support the voice; empty means all.
    pub model_compat: Vec<String>,
    /// The source.
    pub source: VoiceSource,
    /// The shared library's id of the account that shares the voice; not part of responses.
    pub owner_id: Option<String>,
}

impl Voice {
    /// Returns the languages that the voice speaks, in the provider's case: the main one, others, and those of locales;
    /// there may be duplicates.
    pub fn spoken(&self) -> impl Iterator<Item = &str> {
        let all = self.language.iter().chain(&self.languages);
        all.chain(&self.locales)
            .map(|tag| tag.split(['-', '_']).next().unwrap_or(tag))
    }

    /// Returns whether the voice speaks a language of two or three letters.
    #[must_use]
    pub fn speaks(&self, language: &str) -> bool {
        self.spoken()
            .any(|spoken| spoken.eq_ignore_ascii_case(language))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn voice(language: Option<&str>, languages: &[&str], locales: &[&str]) -> Voice {
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        Voice {
            provider: VoiceProvider::A,
            voice_id: "v".to_owned(),
            name: "Ana".to_owned(),
            gender: None,
            age: None,
            accent: None,
            language: language.map(str::to_owned),
            languages: texts(languages),
            locales: texts(locales),
            description: None,
            use_case: None,
            preview_url: None,
            model_compat: Vec::new(),
            source: VoiceSource::Static,
            owner_id: None,
        }
    }

    #[test]
    fn a_voice_speaks_its_language_its_languages_and_those_of_its_locales() {
        assert!(voice(Some("ES"), &[], &[]).speaks("es"));
        assert!(voice(Some("en"), &["es"], &[]).speaks("es"));
        assert!(voice(None, &[], &["en-US", "Es-MX"]).speaks("es"));
        assert!(voice(None, &[], &["fil"]).speaks("fil"));
        assert!(!voice(Some("en"), &["fr"], &["en-ES"]).speaks("es"));
        assert!(!voice(None, &[], &[]).speaks("es"));
    }
}
