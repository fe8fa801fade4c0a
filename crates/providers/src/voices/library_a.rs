//! `provider_a`: its own workspace at `v2/voices`, paged by token, and a shared library at `v1/shared-voices`, paged by
//! number. Voices with a rate of their own carry an extra fee and are left out.

use async_trait::async_trait;
use offhook_domain::{Voice, VoiceGender, VoiceList, VoiceProvider, VoiceSource};
use offhook_engine::ports::{SharedVoice, VoiceLibrary, VoiceLibraryError};
use serde::Deserialize;
use serde_json::Value;

use super::reading::{Listed, Reading, UNCLEAR, following};
use super::wire::{self, Spoken, once};
use super::{PAGE, PAGE_SIZE, Source, adding_a, owners};

/// Asks for no voice that costs more than the model that speaks with it.
const FREE: (&str, &str) = ("include_custom_rates", "false");

pub(super) struct Library(pub(super) Source);

#[derive(Deserialize)]
struct WorkspacePage {
    #[serde(deserialize_with = "wire::places")]
    voices: Vec<Option<WorkspaceVoice>>,
    #[serde(default, deserialize_with = "wire::more")]
    has_more: Option<bool>,
    /// `null` on the last page.
    #[serde(default, deserialize_with = "wire::there")]
    next_page_token: Option<Value>,
}

#[derive(Deserialize)]
struct WorkspaceVoice {
    #[serde(default, deserialize_with = "wire::id")]
    voice_id: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    name: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    category: Option<String>,
    #[serde(default, deserialize_with = "wire::object")]
    labels: Labels,
    #[serde(default, deserialize_with = "wire::text")]
    description: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    preview_url: Option<String>,
    #[serde(default, deserialize_with = "wire::list")]
    high_quality_base_model_ids: Vec<String>,
    #[serde(default, deserialize_with = "wire::list")]
    verified_languages: Vec<VerifiedLanguage>,
    #[serde(default, deserialize_with = "wire::object")]
    sharing: Rates,
    rate: Option<Value>,
    fiat_rate: Option<Value>,
}

#[derive(Deserialize, Default)]
struct Labels {
    #[serde(default, deserialize_with = "wire::text")]
    gender: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    age: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    accent: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    language: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    locale: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    use_case: Option<String>,
}

#[derive(Deserialize)]
struct VerifiedLanguage {
    #[serde(default, deserialize_with = "wire::text")]
    language: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    model_id: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    locale: Option<String>,
}

#[derive(Deserialize, Default)]
struct Rates {
    rate: Option<Value>,
    fiat_rate: Option<Value>,
}

#[derive(Deserialize)]
struct SharedPage {
    #[serde(deserialize_with = "wire::places")]
    voices: Vec<Option<LibraryVoice>>,
    /// Without it the list ends with a page that has nothing new.
    #[serde(default, deserialize_with = "wire::more")]
    has_more: Option<bool>,
}

#[derive(Deserialize)]
struct LibraryVoice {
    #[serde(default, deserialize_with = "wire::id")]
    public_owner_id: Option<String>,
    #[serde(default, deserialize_with = "wire::id")]
    voice_id: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    name: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    gender: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    age: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    accent: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    language: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    locale: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    use_case: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    description: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    preview_url: Option<String>,
    #[serde(default, deserialize_with = "wire::list")]
    verified_languages: Vec<VerifiedLanguage>,
    rate: Option<Value>,
    fiat_rate: Option<Value>,
}

#[async_trait]
impl VoiceLibrary for Library {
    fn provider(&self) -> VoiceProvider {
        VoiceProvider::A
    }

    async fn voices(&self) -> Result<VoiceList, VoiceLibraryError> {
        // The workspace first: a shared voice that has been added to it is ready to use.
        let workspace = self.0.whole_list(self.workspace()).await?;
        self.0.whole_list(self.shared(workspace)).await
    }

    async fn own_voices(&self, credential: &str) -> Result<VoiceList, VoiceLibraryError> {
        let own = Self(self.0.with_key(credential)?);
        Ok(owners(&own.0.whole_list(own.workspace()).await?))
    }

    async fn add_shared(&self, voice: &SharedVoice) -> Result<(), VoiceLibraryError> {
        adding_a::add(&self.0, voice).await
    }
}

impl Library {
    async fn workspace(&self) -> Result<VoiceList, VoiceLibraryError> {
        let (mut reading, mut token) = (Reading::default(), None::<String>);
        loop {
            let mut query = vec![
                ("page_size", PAGE_SIZE),
                ("include_total_count", "false"),
                FREE,
            ];
            if let Some(token) = &token {
                query.push(("next_page_token", token));
            }
            let page: WorkspacePage = self.0.page("v2/voices", &query, &[]).await?;
            let has_more = match (page.has_more, &page.next_page_token) {
                (Some(has_more), _) => has_more,
                (None, Some(Value::Null)) => false,
                // Nobody knows whether it was cut short; a page with room on it was not.
                (None, None) if page.voices.len() < PAGE => false,
                (None, _) => return Err(UNCLEAR),
            };
            let listed = page.voices.into_iter();
            let listed = listed.map(|voice| self.of_workspace(voice?));
            reading.page(listed, Some(has_more))?;
            let next = page.next_page_token.and_then(wire::id_of);
            token = following(has_more, next, token.as_deref())?;
            if token.is_none() {
                return Ok(reading.whole());
            }
        }
    }

    /// The shared library, behind the workspace's voices.
    async fn shared(&self, workspace: VoiceList) -> Result<VoiceList, VoiceLibraryError> {
        let mut reading = Reading::behind(workspace);
        // Reading ends a list that does not.
        for number in 0_u32.. {
            let number = number.to_string();
            let query = [("page_size", PAGE_SIZE), ("page", &number), FREE];
            let page: SharedPage = self.0.page("v1/shared-voices", &query, &[]).await?;
            let listed = page.voices.into_iter();
            let listed = listed.map(|voice| self.of_library(voice?));
            if !reading.page(listed, page.has_more)? {
                break;
            }
        }
        Ok(reading.whole())
    }

    fn of_workspace(&self, voice: WorkspaceVoice) -> Option<Listed> {
        let id = voice.voice_id?;
        let shared = &voice.sharing;
        if has_fee(voice.rate.as_ref(), voice.fiat_rate.as_ref())
            || has_fee(shared.rate.as_ref(), shared.fiat_rate.as_ref())
        {
            return Some((id, None));
        }
        let labels = voice.labels;
        let (spoken, mut models) =
            spoken(labels.language, labels.locale, &voice.verified_languages);
        models.extend(voice.high_quality_base_model_ids);
        let voice = Voice {
            provider: VoiceProvider::A,
            voice_id: id.clone(),
            name: voice.name.unwrap_or_else(|| id.clone()),
            gender: gender(labels.gender),
            age: labels.age,
            accent: labels.accent,
            language: spoken.main(),
            languages: spoken.languages,
            locales: spoken.locales,
            description: voice.description,
            use_case: labels.use_case,
            preview_url: self.0.preview(voice.preview_url),
            model_compat: once(models),
            // `premade` voices are everyone's; all others are the workspace's own.
            source: match voice.category.as_deref() {
                Some("premade") => VoiceSource::Public,
                _ => VoiceSource::Workspace,
            },
            owner_id: None,
        };
        Some((id, Some(voice)))
    }

    fn of_library(&self, voice: LibraryVoice) -> Option<Listed> {
        let id = voice.voice_id?;
        if has_fee(voice.rate.as_ref(), voice.fiat_rate.as_ref()) {
            return Some((id, None));
        }
        let (spoken, models) = spoken(voice.language, voice.locale, &voice.verified_languages);
        let voice = Voice {
            provider: VoiceProvider::A,
            voice_id: id.clone(),
            name: voice.name.unwrap_or_else(|| id.clone()),
            gender: gender(voice.gender),
            age: voice.age,
            accent: voice.accent,
            language: spoken.main(),
            languages: spoken.languages,
            locales: spoken.locales,
            description: voice.description,
            use_case: voice.use_case,
            preview_url: self.0.preview(voice.preview_url),
            model_compat: once(models),
            source: VoiceSource::Shared,
            owner_id: voice.public_owner_id,
        };
        Some((id, Some(voice)))
    }
}

/// Whether a voice costs more than the model that speaks with it. A rate that cannot be read may be any.
fn has_fee(rate: Option<&Value>, fiat_rate: Option<&Value>) -> bool {
    let is_dear = |rate: &Value| rate.as_f64().is_none_or(|rate| rate > 1.0);
    let said = |value: &&Value| !value.is_null();
    rate.filter(said).is_some_and(is_dear) || fiat_rate.filter(said).is_some()
}

fn gender(word: Option<String>) -> Option<VoiceGender> {
    word.and_then(|word| word.to_ascii_lowercase().parse().ok())
}

/// What a voice speaks, its main language first (without one, the first that has been verified), and with which models.
fn spoken(
    language: Option<String>,
    locale: Option<String>,
    verified: &[VerifiedLanguage],
) -> (Spoken, Vec<String>) {
    let mut spoken = Spoken::default();
    spoken.add(language.as_deref());
    spoken.add(locale.as_deref());
    for one in verified {
        spoken.add(one.language.as_deref());
        spoken.add(one.locale.as_deref());
    }
    let models = verified.iter().filter_map(|one| one.model_id.clone());
    (spoken, models.collect())
}
