//! `provider_a`: its workspace at `v2/voices`, paged by token, and a shared library at `v1/shared-voices`, paged by
//! number. Voices with a rate of their own cost extra and are left out.

mod adding;

use async_trait::async_trait;
use offhook_domain::ports::{SharedVoice, VoiceLibrary, VoiceLibraryError};
use offhook_domain::{Voice, VoiceList, VoiceProvider, VoiceSource};
use serde::Deserialize;
use serde_json::Value;

use crate::lenient::{Id, Lenient, List, Places, Text, readable};
use crate::voices::wire::{Languages, deduplicated};
use crate::voices::{CUT, ENDLESS, MAX_PAGES, PAGE_SIZE, Source, owners};

/// Excludes voices that cost more than the model.
const FREE: (&str, &str) = ("include_custom_rates", "false");

pub(crate) struct Library(pub(crate) Source);

#[derive(Deserialize)]
struct Page {
    voices: Places<ListedVoice>,
    has_more: bool,
    /// Of the workspace only.
    #[serde(default)]
    next_page_token: Id,
}

/// A voice of either list. Workspace voices have separate labels, library voices have them among their fields.
#[derive(Deserialize, Default)]
#[serde(default)]
struct ListedVoice {
    voice_id: Id,
    public_owner_id: Id,
    name: Text,
    category: Text,
    labels: Lenient<Labels>,
    gender: Text,
    age: Text,
    accent: Text,
    language: Text,
    locale: Text,
    use_case: Text,
    description: Text,
    preview_url: Text,
    high_quality_base_model_ids: List<String>,
    verified_languages: List<VerifiedLanguage>,
    sharing: Lenient<Rates>,
    rate: Option<Value>,
    fiat_rate: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Labels {
    gender: Text,
    age: Text,
    accent: Text,
    language: Text,
    locale: Text,
    use_case: Text,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct VerifiedLanguage {
    language: Text,
    model_id: Text,
    locale: Text,
}

#[derive(Deserialize, Default)]
struct Rates {
    rate: Option<Value>,
    fiat_rate: Option<Value>,
}

#[async_trait]
impl VoiceLibrary for Library {
    fn provider(&self) -> VoiceProvider {
        VoiceProvider::A
    }

    async fn voices(&self) -> Result<VoiceList, VoiceLibraryError> {
        // The workspace comes first: a shared voice that was added to it is ready to use.
        let workspace = self.0.whole_list(self.workspace()).await?;
        self.0.whole_list(self.shared(workspace)).await
    }

    async fn own_voices(&self, credential: &str) -> Result<VoiceList, VoiceLibraryError> {
        let own = Self(self.0.with_key(credential)?);
        Ok(owners(&own.0.whole_list(own.workspace()).await?))
    }

    async fn add_shared(&self, voice: &SharedVoice) -> Result<(), VoiceLibraryError> {
        adding::add(&self.0, voice).await
    }
}

impl Library {
    async fn workspace(&self) -> Result<VoiceList, VoiceLibraryError> {
        let (mut voices, mut token) = (VoiceList::default(), None::<String>);
        for _ in 0..MAX_PAGES {
            let mut query = vec![
                ("page_size", PAGE_SIZE),
                ("include_total_count", "false"),
                FREE,
            ];
            query.extend(token.as_deref().map(|token| ("next_page_token", token)));
            let page: Page = self.0.page("v2/voices", &query, &[]).await?;
            self.add(&mut voices, page.voices, false);
            if !page.has_more {
                return Ok(voices);
            }
            token = Some(page.next_page_token.0.ok_or(CUT)?);
        }
        Err(ENDLESS)
    }

    /// Adds the shared library after the workspace's voices.
    async fn shared(&self, mut voices: VoiceList) -> Result<VoiceList, VoiceLibraryError> {
        for number in 0..MAX_PAGES {
            let number = number.to_string();
            let query = [("page_size", PAGE_SIZE), ("page", &number), FREE];
            let page: Page = self.0.page("v1/shared-voices", &query, &[]).await?;
            self.add(&mut voices, page.voices, true);
            if !page.has_more {
                return Ok(voices);
            }
        }
        Err(ENDLESS)
    }

    fn add(&self, voices: &mut VoiceList, listed: Places<ListedVoice>, is_shared: bool) {
        let listed = readable(listed).filter_map(|listed| self.voice(listed, is_shared));
        listed.for_each(|voice| voices.push(voice));
    }

    /// `None` for a voice without an id, or with an extra cost.
    fn voice(&self, listed: ListedVoice, is_shared: bool) -> Option<Voice> {
        let id = listed.voice_id.0?;
        let Lenient(sharing) = listed.sharing;
        if has_fee(listed.rate.as_ref(), listed.fiat_rate.as_ref())
            || has_fee(sharing.rate.as_ref(), sharing.fiat_rate.as_ref())
        {
            return None;
        }
        let labels = match is_shared {
            false => listed.labels.0,
            true => Labels {
                gender: listed.gender,
                age: listed.age,
                accent: listed.accent,
                language: listed.language,
                locale: listed.locale,
                use_case: listed.use_case,
            },
        };
        let verified = listed.verified_languages.0;
        let spoken = spoken(&labels, &verified);
        let models = verified.into_iter().filter_map(|one| one.model_id.0);
        let gender = labels.gender.0;
        Some(Voice {
            provider: VoiceProvider::A,
            voice_id: id.clone(),
            name: listed.name.0.unwrap_or_else(|| id.clone()),
            gender: gender.and_then(|word| word.to_ascii_lowercase().parse().ok()),
            age: labels.age.0,
            accent: labels.accent.0,
            language: spoken.main(),
            languages: spoken.languages,
            locales: spoken.locales,
            description: listed.description.0,
            use_case: labels.use_case.0,
            preview_url: self.0.preview(listed.preview_url.0),
            model_compat: deduplicated(models.chain(listed.high_quality_base_model_ids.0)),
            // `premade` voices are public; all others of the workspace are its own.
            source: match listed.category.0.as_deref() {
                _ if is_shared => VoiceSource::Shared,
                Some("premade") => VoiceSource::Public,
                _ => VoiceSource::Workspace,
            },
            owner_id: listed.public_owner_id.0.filter(|_| is_shared),
        })
    }
}

/// Whether a voice costs more than the model. An unreadable rate counts as extra cost.
fn has_fee(rate: Option<&Value>, fiat_rate: Option<&Value>) -> bool {
    let is_dear = |rate: &Value| rate.as_f64().is_none_or(|rate| rate > 1.0);
    let said = |value: &&Value| !value.is_null();
    rate.filter(said).is_some_and(is_dear) || fiat_rate.filter(said).is_some()
}

/// The languages of a voice, main language first; without one, the first verified language.
fn spoken(labels: &Labels, verified: &[VerifiedLanguage]) -> Languages {
    let mut spoken = Languages::default();
    spoken.add(labels.language.0.as_deref());
    spoken.add(labels.locale.0.as_deref());
    for one in verified {
        spoken.add(one.language.0.as_deref());
        spoken.add(one.locale.0.as_deref());
    }
    spoken
}
