//! Voices as JSON text: the stored fields besides provider and id.

use serde::{Deserialize, Serialize};

use super::{Voice, VoiceProvider, VoiceSource};

/// The other fields of a voice.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredVoice {
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
    /// Omitted for `custom` voices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner_id: Option<String>,
}

impl Voice {
    /// Returns the id, and the other fields except the provider as JSON text.
    #[must_use]
    pub fn into_text(self) -> (String, String) {
        let source = (self.source != VoiceSource::Custom).then(|| self.source.to_string());
        let kept = StoredVoice {
            name: self.name,
            gender: self.gender.map(|gender| gender.to_string()),
            age: self.age,
            accent: self.accent,
            language: self.language,
            languages: self.languages,
            locales: self.locales,
            description: self.description,
            use_case: self.use_case,
            preview_url: self.preview_url,
            model_compat: self.model_compat,
            source,
            owner_id: self.owner_id,
        };
        // Serializing texts and lists of texts cannot fail.
        let text = serde_json::to_string(&kept).unwrap_or_default();
        (self.voice_id, text)
    }

    /// Decodes the result of [`Voice::into_text`]. Fails for any other text.
    pub fn from_text(
        provider: VoiceProvider,
        voice_id: String,
        text: &[u8],
    ) -> Result<Self, serde_json::Error> {
        let kept: StoredVoice = serde_json::from_slice(text)?;
        let source = kept.source.and_then(|source| source.parse().ok());
        Ok(Self {
            provider,
            voice_id,
            name: kept.name,
            gender: kept.gender.and_then(|gender| gender.parse().ok()),
            age: kept.age,
            accent: kept.accent,
            language: kept.language,
            languages: kept.languages,
            locales: kept.locales,
            description: kept.description,
            use_case: kept.use_case,
            preview_url: kept.preview_url,
            model_compat: kept.model_compat,
            source: source.unwrap_or(VoiceSource::Custom),
            owner_id: kept.owner_id,
        })
    }
}
