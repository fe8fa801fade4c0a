//! `crates/services/catalog/voices.toml`: the shipped list, and which voices are hand-picked for Mexican Spanish.

use std::collections::HashSet;

use offhook_domain::{Voice, VoiceGender, VoiceProvider, VoiceSource};
use serde::Deserialize;

use crate::CatalogError;

const FILE: &str = "crates/services/catalog/voices.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    voices: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    provider: String,
    voice_id: String,
    name: String,
    gender: Option<String>,
    age: Option<String>,
    accent: Option<String>,
    #[serde(default)]
    languages: Vec<String>,
    #[serde(default)]
    locales: Vec<String>,
    description: Option<String>,
    use_case: Option<String>,
    #[serde(default)]
    model_compat: Vec<String>,
    #[serde(default)]
    recommended: bool,
}

pub(super) struct Shipped {
    pub(super) voices: Vec<Voice>,
    recommended: HashSet<(VoiceProvider, String)>,
}

impl Shipped {
    pub(super) fn load() -> Result<Self, CatalogError> {
        Self::parse(include_str!("../../catalog/voices.toml"))
    }

    fn parse(text: &str) -> Result<Self, CatalogError> {
        let file: File =
            toml::from_str(text).map_err(|error| CatalogError::new(FILE, error.to_string()))?;
        let mut known = HashSet::new();
        let mut shipped = Self {
            voices: Vec::with_capacity(file.voices.len()),
            recommended: HashSet::new(),
        };
        for entry in file.voices {
            let fault = |what: &str| CatalogError::new(FILE, format!("{}: {what}", entry.voice_id));
            let provider: VoiceProvider = entry
                .provider
                .parse()
                .map_err(|_| fault("no such provider"))?;
            let gender: Option<VoiceGender> = entry
                .gender
                .as_deref()
                .map(str::parse)
                .transpose()
                .map_err(|_| fault("no such gender"))?;
            if !known.insert((provider, entry.voice_id.clone())) {
                return Err(fault("is there twice"));
            }
            if entry.recommended {
                let is_mexican = entry.locales.iter().any(|locale| locale == "es-MX");
                if !is_mexican {
                    return Err(fault("is recommended and does not speak es-MX"));
                }
                shipped
                    .recommended
                    .insert((provider, entry.voice_id.clone()));
            }
            shipped.voices.push(Voice {
                provider,
                voice_id: entry.voice_id,
                name: entry.name,
                gender,
                age: entry.age,
                accent: entry.accent,
                language: entry.languages.first().cloned(),
                languages: entry.languages,
                locales: entry.locales,
                description: entry.description,
                use_case: entry.use_case,
                preview_url: None,
                model_compat: entry.model_compat,
                source: VoiceSource::Static,
                owner_id: None,
            });
        }
        Ok(shipped)
    }

    /// Whether a voice is hand-picked, also if it comes from a provider's list.
    pub(super) fn recommends(&self, provider: VoiceProvider, voice_id: &str) -> bool {
        self.recommended.contains(&(provider, voice_id.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_list_has_voices_of_each_provider_hand_picked_and_not() {
        let shipped = Shipped::load().unwrap();
        for provider in VoiceProvider::ALL.iter().copied() {
            let of = shipped.voices.iter().filter(|v| v.provider == provider);
            assert!(of.count() >= 10, "{provider}");
        }
        let picked = |voice: &&Voice| shipped.recommends(voice.provider, &voice.voice_id);
        let picked: Vec<_> = shipped.voices.iter().filter(picked).collect();
        assert!(picked.len() >= 6 && picked.len() * 4 < shipped.voices.len());
        assert!(picked.iter().all(|voice| voice.speaks("es")));
    }

    #[test]
    fn a_broken_list_is_told_with_the_voice() {
        let entry = |rest: &str| {
            format!(
                "[[voices]]\nprovider = \"provider_a\"\nvoice_id = \"v1\"\nname = \"Ana\"\n{rest}\n"
            )
        };
        let message = |text: String| {
            Shipped::parse(&text)
                .err()
                .map(|e| e.to_string())
                .unwrap_or_default()
        };
        assert_eq!(message(entry("")), "");
        assert!(message(entry("") + &entry("")).ends_with("v1: is there twice"));
        assert!(message(entry("gender = \"x\"")).ends_with("v1: no such gender"));
        assert!(message(entry("recommended = true")).ends_with("does not speak es-MX"));
        assert!(message(entry("rate = 2")).contains("rate"));
    }
}
