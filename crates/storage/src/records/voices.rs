//! Voices as their providers list them.

use crate::prelude::*;

/// A voice as stored; lists are JSON text.
#[derive(Queryable, Selectable)]
#[diesel(table_name = voices)]
pub(crate) struct VoiceRow {
    provider: VoiceProvider,
    voice_id: String,
    name: String,
    gender: Option<VoiceGender>,
    age: Option<String>,
    accent: Option<String>,
    language: Option<String>,
    languages: String,
    locales: String,
    description: Option<String>,
    use_case: Option<String>,
    preview_url: Option<String>,
    model_compat: String,
    source: VoiceSource,
    owner_id: Option<String>,
}

/// A list as stored.
pub(crate) fn json(texts: &[String]) -> String {
    serde_json::Value::from(texts).to_string()
}

impl From<VoiceRow> for Voice {
    fn from(row: VoiceRow) -> Self {
        let texts = |json: &str| serde_json::from_str::<Vec<String>>(json).unwrap_or_default();
        Self {
            languages: texts(&row.languages),
            locales: texts(&row.locales),
            model_compat: texts(&row.model_compat),
            provider: row.provider,
            voice_id: row.voice_id,
            name: row.name,
            gender: row.gender,
            age: row.age,
            accent: row.accent,
            language: row.language,
            description: row.description,
            use_case: row.use_case,
            preview_url: row.preview_url,
            source: row.source,
            owner_id: row.owner_id,
        }
    }
}

/// What a synchronization changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VoiceChanges {
    /// Voices that are new or changed.
    pub written: usize,
    /// Voices that the provider no longer lists.
    pub deleted: usize,
}

/// Who owns a voice that an account's agent names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VoiceOwner {
    /// The account: its own key opens the voice.
    Account,
    /// No known owner: the service's key is tried, as for the voices that it lists.
    Service,
    /// The account owned it before, does not any more, and the service does not list it: no key is tried.
    Nobody,
}

/// A voice of an account's own.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = account_voices)]
pub struct AccountVoice {
    pub provider: VoiceProvider,
    /// The provider's id of the voice.
    pub voice_id: String,
    /// The rest of it, as JSON text.
    pub voice: String,
}

/// A credential that opens an account's own voices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VoiceCredential {
    /// Its id. A replacement credential has another one.
    pub id: CredentialId,
    pub account: AccountId,
    pub provider: VoiceProvider,
}
