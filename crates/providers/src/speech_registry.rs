//! The recognizers and synthesizers that agents can use.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use offhook_engine::ports::speech::{
    RecognizerSettings, Speech, SpeechError, SpeechToText, TextToSpeech, VoiceSettings,
};
use reqwest::header::AUTHORIZATION;

use crate::cartesia::text_to_speech::Cartesia;
use crate::deepgram::speech_to_text::Deepgram;
use crate::elevenlabs::text_to_speech::{ElevenLabs, KEY};
use crate::openai::speech::OpenAi;
use crate::settings::{ProviderSettings, SettingsError};
use crate::speech::endpoint::{Clients, Endpoint};
use crate::speech::exec::{ExecRecognizer, ExecVoice, SpeechProgram};
use crate::speech::scripted::{ScriptedRecognizer, ScriptedVoice};
use crate::speech::{Result, SpeechInput, SpeechOutput, SpeechTransport};

/// The provider that needs no settings.
const SCRIPTED: &str = "scripted";

/// A speech provider in the deployment: its API, URL and key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpeechProvider {
    /// Deepgram's API, for both directions.
    Deepgram(ProviderSettings),
    /// ElevenLabs' API, for both directions.
    ElevenLabs(ProviderSettings, SpeechTransport),
    /// Cartesia's API, for text-to-speech.
    Cartesia(ProviderSettings, SpeechTransport),
    /// OpenAI's API, for both directions.
    OpenAi(ProviderSettings),
    /// Local programs.
    Exec {
        listen: Option<SpeechProgram>,
        speak: Option<SpeechProgram>,
    },
}

/// Finds recognizers and synthesizers by provider: those of the settings, and `scripted`.
pub struct SpeechRegistry {
    recognizers: HashMap<String, Arc<dyn SpeechInput>>,
    voices: HashMap<String, Arc<dyn SpeechOutput>>,
    /// The ids of voices, by provider.
    listed: BTreeMap<String, Vec<String>>,
}

impl SpeechRegistry {
    /// A registry of these providers and `scripted`. The error names the provider.
    pub fn new(
        settings: impl IntoIterator<Item = (String, SpeechProvider)>,
    ) -> Result<Self, SettingsError> {
        let mut registry = Self {
            recognizers: HashMap::new(),
            voices: HashMap::new(),
            listed: BTreeMap::new(),
        };
        let mut clients = None;
        for (name, provider) in settings {
            if name == SCRIPTED {
                return Err(SettingsError::BuiltIn(name));
            }
            let clients = match &clients {
                Some(clients) => clients,
                None => clients.insert(Clients::new()?),
            };
            registry.add(&name, &provider, clients)?;
        }
        let name = SCRIPTED.to_owned();
        registry
            .recognizers
            .insert(name.clone(), Arc::new(ScriptedRecognizer));
        registry.voices.insert(name, Arc::new(ScriptedVoice));
        Ok(registry)
    }

    /// Lists the voices of the deployment's own servers and programs, by provider.
    #[must_use]
    pub fn with_voices(self, listed: BTreeMap<String, Vec<String>>) -> Self {
        Self { listed, ..self }
    }

    fn add(
        &mut self,
        name: &str,
        provider: &SpeechProvider,
        clients: &Clients,
    ) -> Result<(), SettingsError> {
        let endpoint =
            |settings, header, scheme| Endpoint::new(name, settings, (header, scheme), clients);
        match provider {
            SpeechProvider::Deepgram(settings) => {
                let endpoint = endpoint(settings, AUTHORIZATION, "Token ")?;
                self.put(name, Deepgram::new(endpoint));
            }
            SpeechProvider::ElevenLabs(settings, transport) => {
                let (endpoint, transport) = (endpoint(settings, KEY, "")?, *transport);
                self.put(
                    name,
                    ElevenLabs {
                        endpoint,
                        transport,
                    },
                );
            }
            SpeechProvider::Cartesia(settings, transport) => {
                let endpoint = endpoint(settings, AUTHORIZATION, "Bearer ")?;
                let transport = *transport;
                self.put_voice(
                    name,
                    Cartesia {
                        endpoint,
                        transport,
                    },
                );
            }
            SpeechProvider::OpenAi(settings) => {
                let endpoint = endpoint(settings, AUTHORIZATION, "Bearer ")?;
                self.put(name, OpenAi(endpoint));
            }
            SpeechProvider::Exec { listen, speak } => {
                if let Some(program) = listen {
                    let ear = Arc::new(ExecRecognizer::new(name, program)?);
                    self.recognizers.insert(name.to_owned(), ear);
                }
                if let Some(program) = speak {
                    self.put_voice(name, ExecVoice::new(name, program)?);
                }
            }
        }
        Ok(())
    }

    fn put_voice(&mut self, name: &str, voice: impl SpeechOutput + 'static) {
        self.voices.insert(name.to_owned(), Arc::new(voice));
    }

    /// Adds a provider of both directions.
    fn put<T: SpeechInput + SpeechOutput + 'static>(&mut self, name: &str, both: T) {
        let both = Arc::new(both);
        self.recognizers.insert(name.to_owned(), both.clone());
        self.voices.insert(name.to_owned(), both);
    }
}

impl Speech for SpeechRegistry {
    fn recognizer(
        &self,
        provider: &str,
        settings: &RecognizerSettings,
    ) -> Result<Arc<dyn SpeechToText>> {
        let ear = self
            .recognizers
            .get(provider)
            .ok_or(SpeechError::NotConfigured)?;
        ear.check(settings)?;
        let special = ear.of_model(&settings.model);
        Ok(special.unwrap_or_else(|| ear.clone()))
    }

    fn synthesizer(
        &self,
        provider: &str,
        settings: &VoiceSettings,
    ) -> Result<Arc<dyn TextToSpeech>> {
        let voice = self.voices.get(provider);
        let voice = voice.ok_or(SpeechError::NotConfigured)?;
        voice.check(settings)?;
        Ok(voice.clone())
    }

    fn voices(&self, provider: &str) -> Vec<String> {
        self.listed.get(provider).cloned().unwrap_or_default()
    }
}
