//! Voices as their providers listed them.

use diesel::prelude::*;
use offhook_domain::{AccountId, CredentialId, VoiceGender, VoiceProvider, VoiceSource};

use crate::schema;

/// A voice; lists are JSON text.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::voices)]
pub struct VoiceRow {
    /// Whose it is.
    pub provider: VoiceProvider,
    /// The provider's id of it.
    pub voice_id: String,
    /// Its name.
    pub name: String,
    /// What it sounds like.
    pub gender: Option<VoiceGender>,
    /// How old it sounds.
    pub age: Option<String>,
    /// Its accent.
    pub accent: Option<String>,
    /// Its main language.
    pub language: Option<String>,
    /// Every language.
    pub languages: String,
    /// Languages with their regions.
    pub locales: String,
    /// What the provider says of it.
    pub description: Option<String>,
    /// What it is good for.
    pub use_case: Option<String>,
    /// A recording.
    pub preview_url: Option<String>,
    /// Models that it works with.
    pub model_compat: String,
    /// Where it comes from.
    pub source: VoiceSource,
    /// Who shares it.
    pub owner_id: Option<String>,
}

/// What a synchronisation changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VoiceChanges {
    /// Voices that are new or not as they were.
    pub written: usize,
    /// Voices that the provider lists no more.
    pub deleted: usize,
}

/// A voice of an account's own.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::account_voices)]
pub struct AccountVoice {
    /// Where it is.
    pub provider: VoiceProvider,
    /// The provider's id of it.
    pub voice_id: String,
    /// The rest of it, as JSON text.
    pub voice: String,
}

/// A credential that opens an account's own voices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VoiceCredential {
    /// Its id: a credential in its place has another one.
    pub id: CredentialId,
    /// Whose it is.
    pub account: AccountId,
    /// Where it opens them.
    pub provider: VoiceProvider,
}
