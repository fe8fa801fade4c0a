//! `provider_c`: a voice is a model, and `v1/models` returns all of them in one answer.

use async_trait::async_trait;
use offhook_domain::ports::{VoiceLibrary, VoiceLibraryError};
use offhook_domain::{Voice, VoiceGender, VoiceList, VoiceProvider, VoiceSource};
use serde::Deserialize;

use crate::lenient::{Id, Lenient, List, Places, Text, non_empty, readable};
use crate::voices::Source;
use crate::voices::wire::Languages;

pub(crate) struct Library(pub(crate) Source);

#[derive(Deserialize)]
struct Models {
    tts: Places<Model>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Model {
    name: Text,
    canonical_name: Id,
    languages: List<String>,
    metadata: Lenient<Metadata>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Metadata {
    accent: Text,
    age: Text,
    sample: Text,
    tags: List<String>,
    use_cases: List<String>,
}

#[async_trait]
impl VoiceLibrary for Library {
    fn provider(&self) -> VoiceProvider {
        VoiceProvider::C
    }

    async fn voices(&self) -> Result<VoiceList, VoiceLibraryError> {
        let models: Models = self.0.page("v1/models", &[], &[]).await?;
        let voices = readable(models.tts).filter_map(|model| self.voice(model));
        Ok(voices.collect())
    }
}

impl Library {
    fn voice(&self, model: Model) -> Option<Voice> {
        let id = model.canonical_name.0?;
        let Lenient(metadata) = model.metadata;
        let mut spoken = Languages::default();
        for tag in &model.languages.0 {
            spoken.add(Some(tag));
        }
        let gender = metadata.tags.0.iter().find_map(|tag| match tag.as_str() {
            "feminine" => Some(VoiceGender::Female),
            "masculine" => Some(VoiceGender::Male),
            _ => None,
        });
        Some(Voice {
            provider: VoiceProvider::C,
            voice_id: id.clone(),
            name: model.name.0.unwrap_or_else(|| id.clone()),
            gender,
            age: metadata.age.0,
            accent: metadata.accent.0,
            language: spoken.main(),
            languages: spoken.languages,
            locales: spoken.locales,
            description: None,
            use_case: metadata.use_cases.0.into_iter().find_map(non_empty),
            preview_url: self.0.preview(metadata.sample.0),
            model_compat: vec![id.clone()],
            source: VoiceSource::Public,
            owner_id: None,
        })
    }
}
