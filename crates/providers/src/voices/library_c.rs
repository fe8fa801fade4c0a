//! `provider_c`: a voice is a model, and all of them come in one answer at `v1/models`.

use async_trait::async_trait;
use offhook_domain::{Voice, VoiceGender, VoiceProvider, VoiceSource};
use offhook_engine::ports::{VoiceLibrary, VoiceLibraryError};
use serde::Deserialize;

use super::{Source, add, language_of, said};

pub(super) struct Library(pub(super) Source);

#[derive(Deserialize)]
struct Models {
    tts: Vec<Model>,
}

#[derive(Deserialize)]
struct Model {
    name: Option<String>,
    canonical_name: String,
    #[serde(default)]
    languages: Option<Vec<String>>,
    #[serde(default)]
    metadata: Option<Metadata>,
}

#[derive(Deserialize, Default)]
struct Metadata {
    accent: Option<String>,
    age: Option<String>,
    sample: Option<String>,
    #[serde(default)]
    tags: Option<Vec<String>>,
    #[serde(default)]
    use_cases: Option<Vec<String>>,
}

#[async_trait]
impl VoiceLibrary for Library {
    fn provider(&self) -> VoiceProvider {
        VoiceProvider::C
    }

    async fn voices(&self) -> Result<Vec<Voice>, VoiceLibraryError> {
        let models: Models = self.0.page("v1/models", &[], &[]).await?;
        Ok(models.tts.into_iter().map(voice).collect())
    }
}

fn voice(model: Model) -> Voice {
    let metadata = model.metadata.unwrap_or_default();
    let (mut languages, mut locales) = (Vec::new(), Vec::new());
    for tag in model.languages.unwrap_or_default() {
        add(&mut languages, language_of(&tag));
        add(&mut locales, tag.contains('-').then_some(tag));
    }
    let gender = metadata
        .tags
        .unwrap_or_default()
        .iter()
        .find_map(|tag| match tag.as_str() {
            "feminine" => Some(VoiceGender::Female),
            "masculine" => Some(VoiceGender::Male),
            _ => None,
        });
    Voice {
        provider: VoiceProvider::C,
        name: said(model.name).unwrap_or_else(|| model.canonical_name.clone()),
        model_compat: vec![model.canonical_name.clone()],
        voice_id: model.canonical_name,
        gender,
        age: said(metadata.age),
        accent: said(metadata.accent),
        language: languages.first().cloned(),
        languages,
        locales,
        description: None,
        use_case: said(metadata.use_cases.unwrap_or_default().into_iter().next()),
        preview_url: said(metadata.sample),
        source: VoiceSource::Public,
        owner_id: None,
    }
}
