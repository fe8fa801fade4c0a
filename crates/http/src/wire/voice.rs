//! The Voice object.

use offhook_services::ListedVoice;

use super::shown;

shown! {
    /// A voice; every field is always present.
    VoiceBody(listed: ListedVoice) {
        provider = listed.voice.provider,
        voice_id = &listed.voice.voice_id,
        name = &listed.voice.name,
        gender = listed.voice.gender,
        age = &listed.voice.age,
        accent = &listed.voice.accent,
        language = &listed.voice.language,
        languages = &listed.voice.languages,
        locales = &listed.voice.locales,
        description = &listed.voice.description,
        use_case = &listed.voice.use_case,
        preview_url = &listed.voice.preview_url,
        model_compat = &listed.voice.model_compat,
        source = listed.voice.source,
        recommended,
    }
}
