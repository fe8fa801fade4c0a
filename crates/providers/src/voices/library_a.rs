//! `provider_a`: its own workspace at `v2/voices`, paged by token, and a shared library at `v1/shared-voices`, paged by
//! number. Voices with a rate of their own carry an extra fee and are left out.

use async_trait::async_trait;
use offhook_domain::{Voice, VoiceProvider, VoiceSource};
use offhook_engine::ports::{SharedVoice, VoiceLibrary, VoiceLibraryError};
use serde::Deserialize;

use super::{ENDLESS, MAX_PAGES, PAGE_SIZE, Source, add, adding_a, language_of, owners, said};

pub(super) struct Library(pub(super) Source);

#[derive(Deserialize)]
struct WorkspacePage {
    voices: Vec<WorkspaceVoice>,
    #[serde(default)]
    has_more: bool,
    next_page_token: Option<String>,
}

#[derive(Deserialize)]
struct WorkspaceVoice {
    voice_id: String,
    name: Option<String>,
    category: Option<String>,
    #[serde(default)]
    labels: Option<Labels>,
    description: Option<String>,
    preview_url: Option<String>,
    #[serde(default)]
    high_quality_base_model_ids: Option<Vec<String>>,
    #[serde(default)]
    verified_languages: Option<Vec<VerifiedLanguage>>,
    #[serde(default)]
    sharing: Option<Rates>,
}

#[derive(Deserialize, Default)]
struct Labels {
    gender: Option<String>,
    age: Option<String>,
    accent: Option<String>,
    language: Option<String>,
    locale: Option<String>,
    use_case: Option<String>,
}

#[derive(Deserialize)]
struct VerifiedLanguage {
    language: Option<String>,
    model_id: Option<String>,
    locale: Option<String>,
}

#[derive(Deserialize)]
struct Rates {
    rate: Option<f64>,
    fiat_rate: Option<f64>,
}

impl Rates {
    /// Whether a voice costs more than the model that speaks with it.
    fn has_fee(&self) -> bool {
        self.rate.is_some_and(|rate| rate > 1.0) || self.fiat_rate.is_some()
    }
}

#[derive(Deserialize)]
struct SharedPage {
    voices: Vec<LibraryVoice>,
    #[serde(default)]
    has_more: bool,
}

#[derive(Deserialize)]
struct LibraryVoice {
    public_owner_id: Option<String>,
    voice_id: String,
    name: Option<String>,
    gender: Option<String>,
    age: Option<String>,
    accent: Option<String>,
    language: Option<String>,
    locale: Option<String>,
    use_case: Option<String>,
    description: Option<String>,
    preview_url: Option<String>,
    #[serde(default)]
    verified_languages: Option<Vec<VerifiedLanguage>>,
    #[serde(flatten)]
    rates: Rates,
}

#[async_trait]
impl VoiceLibrary for Library {
    fn provider(&self) -> VoiceProvider {
        VoiceProvider::A
    }

    async fn voices(&self) -> Result<Vec<Voice>, VoiceLibraryError> {
        // The workspace first: a shared voice that has been added to it is ready to use.
        let mut voices = self.workspace().await?;
        voices.extend(self.shared().await?);
        Ok(voices)
    }

    async fn own_voices(&self, credential: &str) -> Result<Vec<Voice>, VoiceLibraryError> {
        let own = Self(self.0.with_key(credential)?);
        Ok(owners(own.workspace().await?))
    }

    async fn add_shared(&self, voice: &SharedVoice) -> Result<(), VoiceLibraryError> {
        adding_a::add(&self.0, voice).await
    }
}

impl Library {
    async fn workspace(&self) -> Result<Vec<Voice>, VoiceLibraryError> {
        let (mut voices, mut token) = (Vec::new(), None::<String>);
        for _ in 0..MAX_PAGES {
            let mut query = vec![("page_size", PAGE_SIZE), ("include_total_count", "false")];
            if let Some(token) = &token {
                query.push(("next_page_token", token));
            }
            let page: WorkspacePage = self.0.page("v2/voices", &query, &[]).await?;
            let free = page.voices.into_iter().filter(|voice| {
                let rates = voice.sharing.as_ref();
                !rates.is_some_and(Rates::has_fee)
            });
            voices.extend(free.map(workspace_voice));
            token = page.next_page_token.filter(|_| page.has_more);
            if token.is_none() {
                return Ok(voices);
            }
        }
        Err(ENDLESS)
    }

    async fn shared(&self) -> Result<Vec<Voice>, VoiceLibraryError> {
        let mut voices = Vec::new();
        for number in 0..MAX_PAGES {
            let number = number.to_string();
            let query = [
                ("page_size", PAGE_SIZE),
                ("page", &number),
                ("include_custom_rates", "false"),
            ];
            let page: SharedPage = self.0.page("v1/shared-voices", &query, &[]).await?;
            let free = page.voices.into_iter().filter(|v| !v.rates.has_fee());
            voices.extend(free.map(shared_voice));
            if !page.has_more {
                return Ok(voices);
            }
        }
        Err(ENDLESS)
    }
}

fn workspace_voice(voice: WorkspaceVoice) -> Voice {
    let labels = voice.labels.unwrap_or_default();
    // `premade` voices are everyone's; all others are the workspace's own.
    let source = match voice.category.as_deref() {
        Some("premade") => VoiceSource::Public,
        _ => VoiceSource::Workspace,
    };
    let spoken = Spoken::of(
        labels.language,
        labels.locale,
        voice.verified_languages.unwrap_or_default(),
        voice.high_quality_base_model_ids.unwrap_or_default(),
    );
    Voice {
        provider: VoiceProvider::A,
        name: said(voice.name).unwrap_or_else(|| voice.voice_id.clone()),
        voice_id: voice.voice_id,
        gender: labels.gender.and_then(|gender| gender.parse().ok()),
        age: said(labels.age),
        accent: said(labels.accent),
        language: spoken.language,
        languages: spoken.languages,
        locales: spoken.locales,
        description: said(voice.description),
        use_case: said(labels.use_case),
        preview_url: said(voice.preview_url),
        model_compat: spoken.models,
        source,
        owner_id: None,
    }
}

fn shared_voice(voice: LibraryVoice) -> Voice {
    let spoken = Spoken::of(
        voice.language,
        voice.locale,
        voice.verified_languages.unwrap_or_default(),
        Vec::new(),
    );
    Voice {
        provider: VoiceProvider::A,
        name: said(voice.name).unwrap_or_else(|| voice.voice_id.clone()),
        voice_id: voice.voice_id,
        gender: voice.gender.and_then(|gender| gender.parse().ok()),
        age: said(voice.age),
        accent: said(voice.accent),
        language: spoken.language,
        languages: spoken.languages,
        locales: spoken.locales,
        description: said(voice.description),
        use_case: said(voice.use_case),
        preview_url: said(voice.preview_url),
        model_compat: spoken.models,
        source: VoiceSource::Shared,
        owner_id: said(voice.public_owner_id),
    }
}

/// What a voice speaks, and with which models.
#[derive(Default)]
struct Spoken {
    language: Option<String>,
    languages: Vec<String>,
    locales: Vec<String>,
    models: Vec<String>,
}

impl Spoken {
    /// The main language first; without one, the first that has been verified.
    fn of(
        language: Option<String>,
        locale: Option<String>,
        verified: Vec<VerifiedLanguage>,
        models: Vec<String>,
    ) -> Self {
        let mut spoken = Self::default();
        add(
            &mut spoken.languages,
            language.as_deref().and_then(language_of),
        );
        add(&mut spoken.locales, said(locale));
        for one in verified {
            let language = one.language.as_deref().and_then(language_of);
            add(&mut spoken.languages, language);
            add(&mut spoken.locales, said(one.locale));
            add(&mut spoken.models, said(one.model_id));
        }
        if spoken.models.is_empty() {
            spoken.models = models;
        }
        spoken.language = spoken.languages.first().cloned();
        spoken
    }
}
