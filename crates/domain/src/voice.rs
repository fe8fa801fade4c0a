//! Voices.

mod keepable;
mod list;
mod text;

use crate::agent::vocabulary;
pub use list::VoiceList;

vocabulary! {
    /// One of the three voice providers. The order is that of lists.
    VoiceProvider {
        /// The one with a shared library.
        A => "provider_a",
        /// The one that publishes no previews.
        B => "provider_b",
        /// The third.
        C => "provider_c",
    }
}

vocabulary! {
    /// What a voice sounds like.
    VoiceGender {
        /// A woman's.
        Female => "female",
        /// A man's.
        Male => "male",
        /// Neither.
        Neutral => "neutral",
    }
}

vocabulary! {
    /// Where a voice comes from.
    VoiceSource {
        /// The deployment's own workspace at the provider.
        Workspace => "workspace",
        /// The provider's shared library.
        Shared => "shared",
        /// The provider's own voices, for everyone.
        Public => "public",
        /// The list that ships with the product.
        Static => "static",
        /// An account's own.
        Custom => "custom",
    }
}

/// A voice that an engine agent may speak with. Fields are the interface's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Voice {
    /// Whose it is.
    pub provider: VoiceProvider,
    /// The provider's id of it.
    pub voice_id: String,
    /// Its name.
    pub name: String,
    /// What it sounds like.
    pub gender: Option<VoiceGender>,
    /// How old it sounds, as the provider says it.
    pub age: Option<String>,
    /// As the provider says it.
    pub accent: Option<String>,
    /// The main language, two letters.
    pub language: Option<String>,
    /// Every language, two or three letters.
    pub languages: Vec<String>,
    /// Languages with their regions, such as `es-MX`.
    pub locales: Vec<String>,
    /// What the provider says of it.
    pub description: Option<String>,
    /// What it is good for, as the provider says it.
    pub use_case: Option<String>,
    /// A recording that plays without credentials.
    pub preview_url: Option<String>,
    /// Models of the provider that it works with; none: all.
    pub model_compat: Vec<String>,
    /// Where it comes from.
    pub source: VoiceSource,
    /// Who shares it, as the provider's shared library names them; it is not shown.
    pub owner_id: Option<String>,
}

impl Voice {
    /// The languages that it speaks, in whatever case the provider writes them: its main one, any other, and those of
    /// locales; one may come more than once.
    pub fn spoken(&self) -> impl Iterator<Item = &str> {
        let all = self.language.iter().chain(&self.languages);
        all.chain(&self.locales)
            .map(|tag| tag.split(['-', '_']).next().unwrap_or(tag))
    }

    /// Whether it speaks a language, given as two or three letters.
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
