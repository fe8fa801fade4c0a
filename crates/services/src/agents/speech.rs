//! Checks of a configuration's speech-to-text and voices when it is saved and when it is published.
//!
//! Simulated calls carry no audio. There, speech-to-text may be published before it is set up. So may a listed voice,
//! even before its provider is set up, except for what only the provider's adapter can check.

use offhook_domain::config::{Stt, Voice};
use offhook_domain::json::member_path;
use offhook_domain::messages::Choices;
use offhook_engine::ports::speech::SpeechError;

use super::check::{Faults, check_language, no_provider};
use crate::catalog::ModelKind;
use crate::prelude::*;
use crate::speech::{
    SpeechInput, SpeechOutput, chosen_voice, fallback_voices, listening, lists_voices, speaking,
};

const STT_PROVIDER: &str = "config.stt.provider";
pub(super) const VOICE_PROVIDER: &str = "config.voice.provider";
pub(super) const VOICE_ID: &str = "config.voice.voice_id";
pub(super) const FALLBACK_VOICES: &str = "config.voice.fallback_voices";

/// Why a recognizer or a voice cannot be used.
enum Obstacle {
    /// Its provider is not set up here.
    NotSetUp,
    /// It does not support what the agent requires.
    Unable(FieldError),
}

impl Providers {
    /// Checks the languages, the names against the catalog, and the settings against the adapters that are set up here.
    pub(super) fn speech_faults(&self, config: &AgentConfig) -> Vec<FieldError> {
        let mut faults = Faults::default();
        let (stt, voice) = (&config.stt, &config.voice);
        faults.note(self.check_recognizer(config));
        if let Some(language) = &stt.language {
            faults.note(check_language("config.stt.language", language));
        }
        let named = self.check_voice_names(voice);
        let is_named = named.is_ok();
        faults.note(named);
        if let Some(language) = &voice.language {
            faults.note(check_language("config.voice.language", language));
        }
        for (provider, _) in &voice.fallback_voices {
            let path = member_path(FALLBACK_VOICES, provider);
            faults.note(self.check_speaker(ModelKind::Tts, &path, provider));
        }
        if is_named
            && voice.provider.is_some()
            && let Some(chosen) = chosen_voice(&self.catalog, &*self.speech, config)
            && let Err(Obstacle::Unable(fault)) = self.try_voice(&chosen)
            // A saved configuration may lack the voice id of a provider.
            && (fault.path != VOICE_ID || voice.voice_id.is_some())
        {
            faults.0.push(fault);
        }
        for other in fallback_voices(&self.catalog, config) {
            if let Err(Obstacle::Unable(fault)) = self.try_voice(&other) {
                faults.0.push(of_fallback(&other.0, &fault));
            }
        }
        faults.0
    }

    fn check_recognizer(&self, config: &AgentConfig) -> Result<(), FieldError> {
        let stt = &config.stt;
        let provider = some_or!(&stt.provider, ());
        self.check_speaker(ModelKind::Stt, STT_PROVIDER, provider)?;
        let model = stt.model.as_deref();
        self.check_speech_model(ModelKind::Stt, "config.stt.model", provider, model)?;
        for ear in self.recognizers(config) {
            if let Err(Obstacle::Unable(fault)) = self.try_recognizer(&ear) {
                return Err(fault);
            }
        }
        Ok(())
    }

    fn check_voice_names(&self, voice: &Voice) -> Result<(), FieldError> {
        let provider = some_or!(&voice.provider, ());
        self.check_speaker(ModelKind::Tts, VOICE_PROVIDER, provider)?;
        let model = voice.model.as_deref();
        self.check_speech_model(ModelKind::Tts, "config.voice.model", provider, model)
    }

    /// Why this service cannot use the speech-to-text and the voices, if its calls have audio.
    pub(super) fn speech_publish_faults(&self, config: &AgentConfig) -> Vec<FieldError> {
        let mut faults = Faults::default();
        faults.note(self.check_recognizer_publishable(config));
        self.check_voices_publishable(config, &mut faults);
        faults.0
    }

    fn check_recognizer_publishable(&self, config: &AgentConfig) -> Result<(), FieldError> {
        let stt = &config.stt;
        let asks_nothing = Stt {
            sample_rate: None,
            ..stt.clone()
        } == Stt::default();
        if !self.network.is_spoken() && asks_nothing {
            return Ok(());
        }
        let Some(ear) = self.recognizers(config).pop() else {
            let known = listening(&self.catalog, &*self.speech);
            let fault = match known.as_slice() {
                [] => Fault::NobodyListens,
                several => Fault::ListenerOf(several.join("`, `")),
            };
            return Err(FieldError::new(STT_PROVIDER, fault));
        };
        let model = stt.model.as_deref();
        self.check_speech_model(ModelKind::Stt, "config.stt.model", &ear.0, model)?;
        self.try_recognizer(&ear)
            .map_err(|obstacle| match obstacle {
                Obstacle::NotSetUp => FieldError::new(
                    STT_PROVIDER,
                    no_provider(ModelKind::Stt, &ear.0, Fault::CannotListen),
                ),
                Obstacle::Unable(fault) => fault,
            })
    }

    fn check_voices_publishable(&self, config: &AgentConfig, faults: &mut Faults) {
        let (voice, conversation) = (&config.voice, &config.conversation);
        let is_normal = (conversation.audio.speed - 1.0).abs() < f64::EPSILON;
        let names_nothing = Voice {
            sample_rate: None,
            ..voice.clone()
        } == Voice::default();
        let asks_nothing = names_nothing && is_normal;
        if !self.network.is_spoken() && asks_nothing && conversation.pronunciation.is_empty() {
            return;
        }
        faults.note(self.check_voice_publishable(config, is_normal));
        for other in fallback_voices(&self.catalog, config) {
            faults.note(self.try_voice(&other).map_err(|obstacle| match obstacle {
                Obstacle::NotSetUp => {
                    let path = member_path(FALLBACK_VOICES, &other.0);
                    FieldError::new(
                        path,
                        no_provider(ModelKind::Tts, &other.0, Fault::CannotSpeak),
                    )
                }
                Obstacle::Unable(fault) => of_fallback(&other.0, &fault),
            }));
        }
    }

    fn check_voice_publishable(
        &self,
        config: &AgentConfig,
        is_normal: bool,
    ) -> Result<(), FieldError> {
        let voice = &config.voice;
        check_pair(voice)?;
        let Some(chosen) = chosen_voice(&self.catalog, &*self.speech, config) else {
            let fault = if speaking(&self.catalog, &*self.speech).is_empty() {
                Fault::NobodySpeaks
            } else {
                Fault::BesideVoiceListed
            };
            return Err(FieldError::new(VOICE_PROVIDER, fault));
        };
        let model = voice.model.as_deref();
        self.check_speech_model(ModelKind::Tts, "config.voice.model", &chosen.0, model)?;
        match self.try_voice(&chosen) {
            Ok(()) => Ok(()),
            Err(Obstacle::NotSetUp)
                if !self.network.is_spoken() && is_normal && is_plain(voice) =>
            {
                Ok(())
            }
            Err(Obstacle::NotSetUp) => Err(FieldError::new(
                VOICE_PROVIDER,
                no_provider(ModelKind::Tts, &chosen.0, Fault::CannotSpeak),
            )),
            Err(Obstacle::Unable(fault)) => Err(fault),
        }
    }

    /// Whether a call with this configuration is possible: where calls are spoken, at least one recognizer and one
    /// voice must be usable.
    pub(super) fn can_be_spoken_with(&self, config: &AgentConfig) -> bool {
        let hears = || {
            self.recognizers(config)
                .iter()
                .any(|ear| self.try_recognizer(ear).is_ok())
        };
        let speaks = || {
            let voices = self.voices(config);
            voices.iter().any(|voice| self.try_voice(voice).is_ok())
        };
        !self.network.is_spoken() || (hears() && speaks())
    }

    pub(super) fn hears_with(&self, ear: &SpeechInput) -> bool {
        self.try_recognizer(ear).is_ok()
    }

    pub(super) fn speaks_with(&self, voice: &SpeechOutput) -> bool {
        self.try_voice(voice).is_ok()
    }

    fn try_recognizer(&self, (provider, settings): &SpeechInput) -> Result<(), Obstacle> {
        obstacle(self.speech.recognizer(provider, settings))
    }

    fn try_voice(&self, (provider, settings): &SpeechOutput) -> Result<(), Obstacle> {
        obstacle(self.speech.synthesizer(provider, settings))
    }

    fn check_speaker(&self, kind: ModelKind, path: &str, provider: &str) -> Result<(), FieldError> {
        if self.catalog.has_provider(kind, provider) {
            return Ok(());
        }
        let known = self.catalog.providers(kind).join("`, `");
        Err(FieldError::new(
            path,
            Fault::Choice(Choices(format!("one of `{known}`"))),
        ))
    }

    fn check_speech_model(
        &self,
        kind: ModelKind,
        path: &str,
        provider: &str,
        model: Option<&str>,
    ) -> Result<(), FieldError> {
        let model = some_or!(model, ());
        if self.catalog.find(kind, provider, model).is_some() {
            return Ok(());
        }
        Err(FieldError::new(
            path,
            Fault::NoModel {
                provider: provider.to_owned(),
                kind: kind.as_str(),
            },
        ))
    }
}

fn obstacle<T>(found: Result<T, SpeechError>) -> Result<(), Obstacle> {
    match found {
        Ok(_) => Ok(()),
        Err(SpeechError::Unable(fault)) => Err(Obstacle::Unable(fault)),
        Err(_) => Err(Obstacle::NotSetUp),
    }
}

/// A voice is a provider and an id. Self-hosted programs and servers, and the scripted voice, may have a single voice
/// without an id.
fn check_pair(voice: &Voice) -> Result<(), FieldError> {
    match (&voice.provider, &voice.voice_id) {
        (None, Some(_)) => Err(FieldError::new(VOICE_PROVIDER, Fault::BesideVoice)),
        (Some(provider), None) if lists_voices(provider) => {
            Err(FieldError::new(VOICE_ID, Fault::BesideProvider))
        }
        _ => Ok(()),
    }
}

/// Whether a voice has only a provider and an id, so that the list of voices knows all of it.
fn is_plain(voice: &Voice) -> bool {
    let plain = Voice {
        provider: voice.provider.clone(),
        voice_id: voice.voice_id.clone(),
        ..Voice::default()
    };
    *voice == plain
}

/// An error in a fallback voice: the agent names only its id, so the path is the provider's member.
fn of_fallback(provider: &str, fault: &FieldError) -> FieldError {
    let path = member_path(FALLBACK_VOICES, provider);
    if fault.path == VOICE_ID {
        return FieldError::new(path, fault.fault.clone());
    }
    FieldError::new(path, Fault::CannotFollow(Box::new(fault.clone())))
}
