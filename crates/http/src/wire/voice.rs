//! The Voice object.

use offhook_domain::{VoiceGender, VoiceProvider, VoiceSource};
use offhook_services::ListedVoice;
use serde::Serialize;

/// A voice; every field is always there.
#[derive(Serialize)]
pub(crate) struct VoiceBody<'a> {
    provider: VoiceProvider,
    voice_id: &'a str,
    name: &'a str,
    gender: Option<VoiceGender>,
    age: Option<&'a str>,
    accent: Option<&'a str>,
    language: Option<&'a str>,
    languages: &'a [String],
    locales: &'a [String],
    description: Option<&'a str>,
    use_case: Option<&'a str>,
    preview_url: Option<&'a str>,
    model_compat: &'a [String],
    source: VoiceSource,
    recommended: bool,
}

impl<'a> From<&'a ListedVoice> for VoiceBody<'a> {
    fn from(listed: &'a ListedVoice) -> Self {
        let voice = &listed.voice;
        Self {
            provider: voice.provider,
            voice_id: &voice.voice_id,
            name: &voice.name,
            gender: voice.gender,
            age: voice.age.as_deref(),
            accent: voice.accent.as_deref(),
            language: voice.language.as_deref(),
            languages: &voice.languages,
            locales: &voice.locales,
            description: voice.description.as_deref(),
            use_case: voice.use_case.as_deref(),
            preview_url: voice.preview_url.as_deref(),
            model_compat: &voice.model_compat,
            source: voice.source,
            recommended: listed.recommended,
        }
    }
}
