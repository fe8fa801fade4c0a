//! Voices as JSON text: what of them is kept beside their provider and id.

use offhook_domain::{Voice, VoiceProvider, VoiceSource};
use serde::{Deserialize, Serialize};

/// The rest of a voice.
#[derive(Serialize, Deserialize)]
pub(super) struct Kept {
    name: String,
    gender: Option<String>,
    age: Option<String>,
    accent: Option<String>,
    language: Option<String>,
    languages: Vec<String>,
    locales: Vec<String>,
    description: Option<String>,
    use_case: Option<String>,
    preview_url: Option<String>,
    model_compat: Vec<String>,
    /// Not where all voices are an account's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner_id: Option<String>,
}

impl Kept {
    /// What is kept of a voice, and its id.
    pub(super) fn of(voice: Voice) -> (String, Self) {
        let source = (voice.source != VoiceSource::Custom).then(|| voice.source.to_string());
        let kept = Self {
            name: voice.name,
            gender: voice.gender.map(|gender| gender.to_string()),
            age: voice.age,
            accent: voice.accent,
            language: voice.language,
            languages: voice.languages,
            locales: voice.locales,
            description: voice.description,
            use_case: voice.use_case,
            preview_url: voice.preview_url,
            model_compat: voice.model_compat,
            source,
            owner_id: voice.owner_id,
        };
        (voice.voice_id, kept)
    }

    /// The voice again.
    pub(super) fn into_voice(self, provider: VoiceProvider, voice_id: String) -> Voice {
        let source = self.source.and_then(|source| source.parse().ok());
        Voice {
            provider,
            voice_id,
            name: self.name,
            gender: self.gender.and_then(|gender| gender.parse().ok()),
            age: self.age,
            accent: self.accent,
            language: self.language,
            languages: self.languages,
            locales: self.locales,
            description: self.description,
            use_case: self.use_case,
            preview_url: self.preview_url,
            model_compat: self.model_compat,
            source: source.unwrap_or(VoiceSource::Custom),
            owner_id: self.owner_id,
        }
    }
}
