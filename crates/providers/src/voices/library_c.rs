//! `provider_c`: a voice is a model, and all of them come in one answer at `v1/models`.

use async_trait::async_trait;
use offhook_domain::{Voice, VoiceGender, VoiceList, VoiceProvider, VoiceSource};
use offhook_engine::ports::{VoiceLibrary, VoiceLibraryError};
use serde::Deserialize;

use super::Source;
use super::reading::{Listed, Reading};
use super::wire::{self, Spoken, said};

pub(super) struct Library(pub(super) Source);

#[derive(Deserialize)]
struct Models {
    #[serde(deserialize_with = "wire::places")]
    tts: Vec<Option<Model>>,
}

#[derive(Deserialize)]
struct Model {
    #[serde(default, deserialize_with = "wire::text")]
    name: Option<String>,
    #[serde(default, deserialize_with = "wire::id")]
    canonical_name: Option<String>,
    #[serde(default, deserialize_with = "wire::list")]
    languages: Vec<String>,
    #[serde(default, deserialize_with = "wire::object")]
    metadata: Metadata,
}

#[derive(Deserialize, Default)]
struct Metadata {
    #[serde(default, deserialize_with = "wire::text")]
    accent: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    age: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    sample: Option<String>,
    #[serde(default, deserialize_with = "wire::list")]
    tags: Vec<String>,
    #[serde(default, deserialize_with = "wire::list")]
    use_cases: Vec<String>,
}

#[async_trait]
impl VoiceLibrary for Library {
    fn provider(&self) -> VoiceProvider {
        VoiceProvider::C
    }

    async fn voices(&self) -> Result<VoiceList, VoiceLibraryError> {
        let models: Models = self.0.page("v1/models", &[], &[]).await?;
        let listed = models.tts.into_iter();
        let mut reading = Reading::default();
        reading.page(listed.map(|model| self.voice(model?)), Some(false))?;
        Ok(reading.whole())
    }
}

impl Library {
    fn voice(&self, model: Model) -> Option<Listed> {
        let id = model.canonical_name?;
        let metadata = model.metadata;
        let mut spoken = Spoken::default();
        for tag in &model.languages {
            spoken.add(Some(tag));
        }
        let gender = metadata.tags.iter().find_map(|tag| match tag.as_str() {
            "feminine" => Some(VoiceGender::Female),
            "masculine" => Some(VoiceGender::Male),
            _ => None,
        });
        let voice = Voice {
            provider: VoiceProvider::C,
            voice_id: id.clone(),
            name: model.name.unwrap_or_else(|| id.clone()),
            gender,
            age: metadata.age,
            accent: metadata.accent,
            language: spoken.main(),
            languages: spoken.languages,
            locales: spoken.locales,
            description: None,
            use_case: metadata.use_cases.into_iter().find_map(said),
            preview_url: self.0.preview(metadata.sample),
            model_compat: vec![id.clone()],
            source: VoiceSource::Public,
            owner_id: None,
        };
        Some((id, Some(voice)))
    }
}
