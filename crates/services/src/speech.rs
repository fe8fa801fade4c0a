//! The speech-to-text and the voices of an agent: its configuration, completed with this service's defaults.
//!
//! An agent that names no provider gets the only one that is set up here; for a voice only if that provider has no list
//! to choose from. One that an account's own key adds is a default only where there is no other: a new key changes no agent.
//! `scripted` is always available and never a default: it neither understands nor speaks a word.

use offhook_engine::ports::speech::{RecognizerSettings, Speech, SpeechError, VoiceSettings};

use crate::catalog::{Catalog, ModelKind};
use crate::prelude::*;

/// The provider that needs no setup.
const SCRIPTED: &str = "scripted";

/// The settings of a provider that the agent does not configure.
const NO_SETTINGS: &str = "{}";

/// A recognizer: its provider's name and its settings.
pub(crate) type SpeechInput = (String, RecognizerSettings);

/// A voice: its provider's name and its settings.
pub(crate) type SpeechOutput = (String, VoiceSettings);

impl Providers {
    /// The agent's recognizer, at most one. Empty if the agent names no provider and not exactly one is set up here.
    pub(crate) fn recognizers(&self, config: &AgentConfig) -> Vec<SpeechInput> {
        recognizers(&self.catalog, &*self.speech, config)
    }

    /// The agent's voices: the chosen one, then its fallback voices in the catalog's order.
    pub(crate) fn voices(&self, config: &AgentConfig) -> Vec<SpeechOutput> {
        let voice = chosen_voice(&self.catalog, &*self.speech, config);
        let others = fallback_voices(&self.catalog, config);
        voice.into_iter().chain(others).collect()
    }
}

pub(crate) fn recognizers(
    catalog: &Catalog,
    speech: &dyn Speech,
    config: &AgentConfig,
) -> Vec<SpeechInput> {
    let stt = &config.stt;
    let provider = match &stt.provider {
        Some(named) => Some(named.as_str()),
        None => only(&listening(catalog, speech), speech),
    };
    let ear = provider.map(|provider| {
        let model = stt.model.as_deref();
        let model = model.unwrap_or_else(|| catalog.usual(ModelKind::Stt, provider));
        let language = stt.language.as_ref().unwrap_or(&config.language);
        let settings = RecognizerSettings {
            model: model.to_owned(),
            language: language.clone(),
            settings: stt.settings.to_compact().into(),
        };
        (provider.to_owned(), settings)
    });
    ear.into_iter().collect()
}

/// The voice used while it works. Its id is empty if the agent names none: some programs and servers have a single
/// voice.
pub(crate) fn chosen_voice(
    catalog: &Catalog,
    speech: &dyn Speech,
    config: &AgentConfig,
) -> Option<SpeechOutput> {
    let voice = &config.voice;
    let provider = match &voice.provider {
        Some(named) => named.as_str(),
        None => only(&speaking(catalog, speech), speech).filter(|only| !lists_voices(only))?,
    };
    let id = voice.voice_id.as_deref().unwrap_or_default();
    let mut settings = usual_voice(catalog, config, provider, id);
    if let Some(model) = &voice.model {
        settings.model.clone_from(model);
    }
    settings.settings = voice.settings.to_compact().into();
    Some((provider.to_owned(), settings))
}

/// The fallback voices, in the catalog's order.
pub(crate) fn fallback_voices(catalog: &Catalog, config: &AgentConfig) -> Vec<SpeechOutput> {
    let others = &config.voice.fallback_voices;
    let of = |provider: &&str| others.iter().find(|(name, _)| name == provider);
    let providers = catalog.providers(ModelKind::Tts);
    let found = providers.iter().filter_map(of);
    found
        .map(|(provider, id)| (provider.clone(), usual_voice(catalog, config, provider, id)))
        .collect()
}

/// A provider's voice with its default model and no settings: an agent's settings apply to one provider only.
fn usual_voice(
    catalog: &Catalog,
    config: &AgentConfig,
    provider: &str,
    voice_id: &str,
) -> VoiceSettings {
    let language = config.voice.language.as_ref();
    VoiceSettings {
        voice_id: voice_id.to_owned(),
        model: catalog.usual(ModelKind::Tts, provider).to_owned(),
        language: language.unwrap_or(&config.language).clone(),
        speed: config.conversation.audio.speed,
        settings: NO_SETTINGS.into(),
        key: None,
    }
}

/// The providers set up here for speech-to-text, without `scripted`.
pub(crate) fn listening<'a>(catalog: &'a Catalog, speech: &dyn Speech) -> Vec<&'a str> {
    let set_up = |provider: &&str| {
        let settings = RecognizerSettings {
            model: catalog.usual(ModelKind::Stt, provider).to_owned(),
            language: "en".to_owned(),
            settings: NO_SETTINGS.into(),
        };
        is_set_up(provider, speech.recognizer(provider, &settings))
    };
    let providers = catalog.providers(ModelKind::Stt).into_iter();
    providers.filter(set_up).collect()
}

/// The providers set up here for text-to-speech, without `scripted`.
pub(crate) fn speaking<'a>(catalog: &'a Catalog, speech: &dyn Speech) -> Vec<&'a str> {
    let set_up = |provider: &&str| {
        let settings = VoiceSettings {
            voice_id: String::new(),
            model: catalog.usual(ModelKind::Tts, provider).to_owned(),
            language: "en".to_owned(),
            speed: 1.0,
            settings: NO_SETTINGS.into(),
            key: None,
        };
        is_set_up(provider, speech.synthesizer(provider, &settings))
    };
    let providers = catalog.providers(ModelKind::Tts).into_iter();
    providers.filter(set_up).collect()
}

/// Whether the voices of a provider are listed (GET /v1/voices).
pub(crate) fn lists_voices(provider: &str) -> bool {
    provider.parse::<VoiceProvider>().is_ok()
}

fn is_set_up<T>(provider: &str, found: Result<T, SpeechError>) -> bool {
    provider != SCRIPTED && !matches!(found, Err(SpeechError::NotConfigured))
}

fn only<'a>(set_up: &[&'a str], speech: &dyn Speech) -> Option<&'a str> {
    let deployed = set_up.iter().copied();
    let deployed: Vec<&str> = deployed.filter(|name| !speech.is_added(name)).collect();
    match if deployed.is_empty() {
        set_up
    } else {
        &deployed
    } {
        [one] => Some(one),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
