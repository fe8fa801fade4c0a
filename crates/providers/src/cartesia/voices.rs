//! `provider_b`: one list at `voices`, paged by the last voice's id. It publishes no previews that play without
//! credentials.

use async_trait::async_trait;
use offhook_domain::ports::{VoiceLibrary, VoiceLibraryError};
use offhook_domain::{Voice, VoiceGender, VoiceList, VoiceProvider, VoiceSource};
use serde::Deserialize;

use crate::lenient::{Id, Lenient, List, Places, Text, readable};
use crate::voices::wire::Languages;
use crate::voices::{CUT, ENDLESS, MAX_PAGES, PAGE_SIZE, Source, owners};

/// The API version of this wire format.
const VERSION: (&str, &str) = ("cartesia-version", "2026-03-01");

pub(crate) struct Library(pub(crate) Source);

#[derive(Deserialize)]
struct Page {
    data: Places<ListedVoice>,
    has_more: bool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ListedVoice {
    id: Id,
    name: Text,
    description: Text,
    gender: Text,
    accent: Text,
    language: Text,
    locales: List<Locale>,
    is_owner: Lenient<bool>,
}

#[derive(Deserialize)]
struct Locale {
    locale: String,
}

#[async_trait]
impl VoiceLibrary for Library {
    fn provider(&self) -> VoiceProvider {
        VoiceProvider::B
    }

    async fn voices(&self) -> Result<VoiceList, VoiceLibraryError> {
        self.0.whole_list(self.listed()).await
    }

    async fn own_voices(&self, credential: &str) -> Result<VoiceList, VoiceLibraryError> {
        let own = Self(self.0.with_key(credential)?);
        Ok(owners(&own.0.whole_list(own.listed()).await?))
    }
}

impl Library {
    async fn listed(&self) -> Result<VoiceList, VoiceLibraryError> {
        let (mut voices, mut last) = (VoiceList::default(), None::<String>);
        for _ in 0..MAX_PAGES {
            let mut query = vec![("limit", PAGE_SIZE)];
            query.extend(last.as_deref().map(|last| ("starting_after", last)));
            let page: Page = self.0.page("voices", &query, &[VERSION]).await?;
            let mut next = None;
            for voice in readable(page.data).filter_map(voice) {
                next = Some(voice.voice_id.clone());
                voices.push(voice);
            }
            if !page.has_more {
                return Ok(voices);
            }
            last = Some(next.ok_or(CUT)?);
        }
        Err(ENDLESS)
    }
}

fn voice(listed: ListedVoice) -> Option<Voice> {
    let id = listed.id.0?;
    let mut spoken = Languages::default();
    spoken.add(listed.language.0.as_deref());
    // The native locale comes first.
    for Locale { locale } in &listed.locales.0 {
        spoken.add(Some(locale));
    }
    Some(Voice {
        provider: VoiceProvider::B,
        voice_id: id.clone(),
        name: listed.name.0.unwrap_or_else(|| id.clone()),
        gender: match listed.gender.0.as_deref() {
            Some("masculine") => Some(VoiceGender::Male),
            Some("feminine") => Some(VoiceGender::Female),
            Some("gender_neutral") => Some(VoiceGender::Neutral),
            _ => None,
        },
        age: None,
        accent: listed.accent.0,
        language: spoken.main(),
        languages: spoken.languages,
        locales: spoken.locales,
        description: listed.description.0,
        use_case: None,
        preview_url: None,
        model_compat: Vec::new(),
        // The key belongs to the deployment, so its owner's voices are the deployment's workspace.
        source: if listed.is_owner.0 {
            VoiceSource::Workspace
        } else {
            VoiceSource::Public
        },
        owner_id: None,
    })
}
