//! Defaults of a new agent, and choices an editor offers beside the catalogs.

use offhook_boxed::boxed;
use offhook_domain::config::{Llm, Stt, Voice};
use offhook_domain::{AccountId, AgentConfig, VoiceProvider};
use offhook_engine::voice::Ambient;
use offhook_storage::StoreError;

use super::Agents;
use crate::VoiceFilter;
use crate::catalog::{ANY_MODEL, Model, ModelKind};
use crate::speech::{listening, lists_voices, speaking};

/// The provider of the model that is always available.
const SCRIPTED: &str = "scripted";

#[boxed]
impl Agents {
    /// The background sounds that `conversation.audio.ambient` accepts.
    pub fn ambient_sounds() -> Vec<&'static str> {
        Ambient::ALL.map(Ambient::name).to_vec()
    }

    /// The catalog's language models that this process is set up for, in the catalog's order. Omits providers that
    /// serve whichever model their operator runs.
    pub fn usable_models(&self) -> Vec<&Model> {
        let models = self.providers.catalog.models().iter();
        models
            .filter(|model| model.kind == ModelKind::Llm && model.model != ANY_MODEL)
            .filter(|model| {
                let found = self
                    .providers
                    .models
                    .find(&model.provider, &model.model, None);
                found.is_ok()
            })
            .collect()
    }

    /// A configuration that lacks only its texts to be published here. It picks the first model that is set up. Where
    /// calls are spoken, it picks speech-to-text and a voice if there are several to choose from.
    pub async fn first_config(
        &self,
        account: AccountId,
        language: &str,
    ) -> Result<AgentConfig, StoreError> {
        let mut config = AgentConfig::new(language);
        config.llm = self.first_model();
        if self.providers.network.is_spoken() {
            config.stt = self.first_recognizer();
            config.voice = self.first_voice(account, language).await?;
        }
        Ok(config)
    }

    fn first_model(&self) -> Llm {
        let usable = self.usable_models();
        let real = usable.iter().find(|model| model.provider != SCRIPTED);
        let chosen = real.or(usable.first());
        Llm {
            provider: chosen.map(|model| model.provider.clone()),
            model: chosen.map(|model| model.model.clone()),
            ..Llm::default()
        }
    }

    /// A single provider is the default and need not be named; of several, the first is.
    fn first_recognizer(&self) -> Stt {
        let set_up = listening(&self.providers.catalog, &*self.providers.speech);
        let provider = match set_up.as_slice() {
            [] => Some(SCRIPTED),
            [_] => None,
            [first, ..] => Some(*first),
        };
        Stt {
            provider: provider.map(str::to_owned),
            ..Stt::default()
        }
    }

    async fn first_voice(&self, account: AccountId, language: &str) -> Result<Voice, StoreError> {
        let set_up = speaking(&self.providers.catalog, &*self.providers.speech);
        let Some(provider) = set_up.first() else {
            return Ok(voice(SCRIPTED, None));
        };
        if !lists_voices(provider) {
            return Ok(voice(provider, None));
        }
        let primary = language.split('-').next().unwrap_or(language);
        let spoken = VoiceFilter {
            provider: provider.parse::<VoiceProvider>().ok(),
            language: Some(primary.to_owned()),
            ..VoiceFilter::default()
        };
        let any = VoiceFilter {
            language: None,
            ..spoken.clone()
        };
        for filter in [spoken, any] {
            let found = self.voices.list(account, &filter, None, 1).await?;
            if let Some(first) = found.items.first() {
                return Ok(voice(provider, Some(&first.voice.voice_id)));
            }
        }
        Ok(voice(provider, None))
    }
}

fn voice(provider: &str, id: Option<&str>) -> Voice {
    Voice {
        provider: Some(provider.to_owned()),
        voice_id: id.map(str::to_owned),
        ..Voice::default()
    }
}
