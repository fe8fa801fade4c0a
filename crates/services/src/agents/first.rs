//! Defaults of a new agent, and choices an editor offers beside the catalogs.

use offhook_domain::config::{Llm, Stt, Voice};
use offhook_engine::voice::Ambient;

use super::Agents;
use crate::catalog::{ANY_MODEL, Model, ModelKind};
use crate::prelude::*;
use crate::speech::{listening, speaking};
use crate::{ListedVoice, VoiceFilter};

/// The provider of the model that is always available.
pub(super) const SCRIPTED: &str = "scripted";

/// Voices among which one that is ready is looked for.
const LOOKED_AT: u32 = 100;

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

    /// A configuration that lacks only its texts to be published here: the first model that is set up and, where agents can
    /// speak, the first speech-to-text and the first voice that work.
    pub async fn first_config(
        &self,
        account: AccountId,
        language: &str,
    ) -> Result<AgentConfig, StoreError> {
        let mut config = AgentConfig::new(language);
        let agents = &self.of(account).await?;
        config.llm = agents.first_model();
        let (catalog, speech) = (&agents.providers.catalog, &*agents.providers.speech);
        let is_spoken = agents.providers.network.is_spoken();
        // A page of a widget may talk to the agent even where calls are simulated.
        if is_spoken || !listening(catalog, speech).is_empty() {
            config.stt = agents.first_recognizer(&config);
        }
        if is_spoken || !speaking(catalog, speech).is_empty() {
            config.voice = agents.first_voice(account, &config).await?;
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

    /// The first that works. A single provider is the default and need not be named.
    fn first_recognizer(&self, config: &AgentConfig) -> Stt {
        let set_up = listening(&self.providers.catalog, &*self.providers.speech);
        let works = |provider: &&&str| {
            let named = Stt {
                provider: Some((**provider).to_owned()),
                ..Stt::default()
            };
            let config = AgentConfig {
                stt: named,
                ..config.clone()
            };
            let mut found = self.providers.recognizers(&config).into_iter();
            found.all(|ear| self.providers.hears_with(&ear))
        };
        let provider = match set_up.iter().find(works) {
            None => Some(SCRIPTED),
            Some(_) if set_up.len() == 1 => None,
            Some(first) => Some(*first),
        };
        Stt {
            provider: provider.map(str::to_owned),
            ..Stt::default()
        }
    }

    /// The first voice that works, of the first provider that has one. `scripted` hums where there is none.
    async fn first_voice(
        &self,
        account: AccountId,
        config: &AgentConfig,
    ) -> Result<Voice, StoreError> {
        for provider in speaking(&self.providers.catalog, &*self.providers.speech) {
            let found = match provider.parse::<VoiceProvider>() {
                Ok(listed) => self.first_listed(account, listed, &config.language).await?,
                Err(_) => self.own_voices(provider).into_iter().next(),
            };
            let Some(id) = found else {
                continue;
            };
            let voice = voice(provider, Some(id).filter(|id| !id.is_empty()));
            let config = AgentConfig {
                voice: voice.clone(),
                ..config.clone()
            };
            let mut chosen = self.providers.voices(&config).into_iter();
            if chosen.all(|chosen| self.providers.speaks_with(&chosen)) {
                return Ok(voice);
            }
        }
        Ok(voice(SCRIPTED, None))
    }

    /// A voice of this language, or else of any. One that is ready to use comes before one that publishing would first have
    /// to add to a workspace.
    async fn first_listed(
        &self,
        account: AccountId,
        provider: VoiceProvider,
        language: &str,
    ) -> Result<Option<String>, StoreError> {
        let primary = language.split('-').next().unwrap_or(language);
        for language in [Some(primary.to_owned()), None] {
            let filter = VoiceFilter {
                provider: Some(provider),
                language,
                ..VoiceFilter::default()
            };
            let found = self.voices.list(account, &filter, None, LOOKED_AT).await?;
            let is_ready = |listed: &&ListedVoice| listed.voice.source != VoiceSource::Shared;
            let ready = found.items.iter().find(is_ready);
            if let Some(first) = ready.or(found.items.first()) {
                return Ok(Some(first.voice.voice_id.clone()));
            }
        }
        Ok(None)
    }
}

fn voice(provider: &str, voice_id: Option<String>) -> Voice {
    Voice {
        provider: Some(provider.to_owned()),
        voice_id,
        ..Voice::default()
    }
}
