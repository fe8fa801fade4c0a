//! `provider_b`: one list at `voices`, paged by the last voice's id. It publishes no preview that plays without
//! credentials.

use async_trait::async_trait;
use offhook_domain::{Voice, VoiceGender, VoiceProvider, VoiceSource};
use offhook_engine::ports::{VoiceLibrary, VoiceLibraryError};
use serde::Deserialize;

use super::{ENDLESS, MAX_PAGES, PAGE_SIZE, Source, add, language_of, owners, said};

/// The version of the provider's interface that these shapes are of.
const VERSION: (&str, &str) = ("cartesia-version", "2026-03-01");

pub(super) struct Library(pub(super) Source);

#[derive(Deserialize)]
struct Page {
    data: Vec<Listed>,
    #[serde(default)]
    has_more: bool,
}

#[derive(Deserialize)]
struct Listed {
    id: String,
    name: Option<String>,
    description: Option<String>,
    gender: Option<String>,
    accent: Option<String>,
    language: Option<String>,
    #[serde(default)]
    locales: Option<Vec<Locale>>,
    #[serde(default)]
    is_owner: bool,
}

#[derive(Deserialize)]
struct Locale {
    locale: Option<String>,
}

#[async_trait]
impl VoiceLibrary for Library {
    fn provider(&self) -> VoiceProvider {
        VoiceProvider::B
    }

    async fn voices(&self) -> Result<Vec<Voice>, VoiceLibraryError> {
        self.listed().await
    }

    async fn own_voices(&self, credential: &str) -> Result<Vec<Voice>, VoiceLibraryError> {
        let own = Self(self.0.with_key(credential)?);
        Ok(owners(own.listed().await?))
    }
}

impl Library {
    async fn listed(&self) -> Result<Vec<Voice>, VoiceLibraryError> {
        let (mut voices, mut last) = (Vec::new(), None::<String>);
        for _ in 0..MAX_PAGES {
            let mut query = vec![("limit", PAGE_SIZE)];
            if let Some(last) = &last {
                query.push(("starting_after", last));
            }
            let page: Page = self.0.page("voices", &query, &[VERSION]).await?;
            last = page
                .data
                .last()
                .map(|voice| voice.id.clone())
                .filter(|_| page.has_more);
            voices.extend(page.data.into_iter().map(voice));
            if last.is_none() {
                return Ok(voices);
            }
        }
        Err(ENDLESS)
    }
}

fn voice(listed: Listed) -> Voice {
    let (mut languages, mut locales) = (Vec::new(), Vec::new());
    add(
        &mut languages,
        listed.language.as_deref().and_then(language_of),
    );
    // The native one comes first.
    for locale in listed.locales.unwrap_or_default() {
        let locale = said(locale.locale);
        add(&mut languages, locale.as_deref().and_then(language_of));
        add(&mut locales, locale);
    }
    Voice {
        provider: VoiceProvider::B,
        name: said(listed.name).unwrap_or_else(|| listed.id.clone()),
        voice_id: listed.id,
        gender: match listed.gender.as_deref() {
            Some("masculine") => Some(VoiceGender::Male),
            Some("feminine") => Some(VoiceGender::Female),
            Some("gender_neutral") => Some(VoiceGender::Neutral),
            _ => None,
        },
        age: None,
        accent: said(listed.accent),
        language: languages.first().cloned(),
        languages,
        locales,
        description: said(listed.description),
        use_case: None,
        preview_url: None,
        model_compat: Vec::new(),
        // The key is the deployment's, so what its owner made is the deployment's workspace.
        source: if listed.is_owner {
            VoiceSource::Workspace
        } else {
            VoiceSource::Public
        },
        owner_id: None,
    }
}
