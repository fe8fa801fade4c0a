//! The ears and voices that agents may name.

use std::collections::HashMap;
use std::sync::Arc;

use offhook_engine::ports::speech::{
    RecogniserSettings, Speech, SpeechError, SpeechToText, TextToSpeech, VoiceSettings,
};
use reqwest::header::AUTHORIZATION;

use super::SpeechProgram;
use super::cartesia::Cartesia;
use super::deepgram::Deepgram;
use super::elevenlabs::{ElevenLabs, KEY};
use super::endpoint::{Clients, Endpoint};
use super::exec::{ExecEar, ExecVoice};
use super::openai::OpenAi;
use super::scripted::{ScriptedEar, ScriptedVoice};
use crate::speech::Result;
use crate::{ProviderSettings, SettingsError};

/// The provider that needs nothing.
const SCRIPTED: &str = "scripted";

/// How a deployment reaches one speech provider: the shape of its interface, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpeechProvider {
    /// Listens and speaks as Deepgram does.
    Deepgram(ProviderSettings),
    /// Listens and speaks as ElevenLabs does.
    ElevenLabs(ProviderSettings, SpeechTransport),
    /// Speaks as Cartesia does.
    Cartesia(ProviderSettings, SpeechTransport),
    /// Listens and speaks as OpenAI does.
    OpenAi(ProviderSettings),
    /// Programs of this machine.
    Exec {
        listen: Option<SpeechProgram>,
        speak: Option<SpeechProgram>,
    },
}

/// How texts are sent to a service that knows two ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SpeechTransport {
    /// One WebSocket for a call: no text waits for a connection, and words are told with their times.
    #[default]
    WebSocket,
    /// One request for a text.
    Http,
}

/// An ear that knows, without a connection, whether it can listen as an agent wants.
pub(super) trait Ear: SpeechToText {
    /// Whether [`SpeechToText::open`] would try.
    ///
    /// # Errors
    /// [`SpeechError::Unable`] with the field and the remedy.
    fn check(&self, settings: &RecogniserSettings) -> Result<()>;

    /// The ear for this model, if it is able to do something else than the provider's others.
    fn of_model(&self, model: &str) -> Option<Arc<dyn SpeechToText>> {
        let _ = model;
        None
    }
}

/// A voice that knows, without a connection, whether it can speak as an agent wants.
pub(super) trait Mouth: TextToSpeech {
    /// Whether [`TextToSpeech::open`] would try.
    ///
    /// # Errors
    /// [`SpeechError::Unable`] with the field and the remedy.
    fn check(&self, settings: &VoiceSettings) -> Result<()>;
}

/// Finds ears and voices by provider: those of the settings, and `scripted`.
pub struct SpeechRegistry {
    ears: HashMap<String, Arc<dyn Ear>>,
    voices: HashMap<String, Arc<dyn Mouth>>,
}

impl SpeechRegistry {
    /// A registry of these providers and `scripted`.
    ///
    /// # Errors
    /// [`SettingsError`], with the provider's name.
    pub fn new(
        settings: impl IntoIterator<Item = (String, SpeechProvider)>,
    ) -> Result<Self, SettingsError> {
        let mut registry = Self {
            ears: HashMap::new(),
            voices: HashMap::new(),
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
        registry.ears.insert(name.clone(), Arc::new(ScriptedEar));
        registry.voices.insert(name, Arc::new(ScriptedVoice));
        Ok(registry)
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
                    let ear = Arc::new(ExecEar::new(name, program)?);
                    self.ears.insert(name.to_owned(), ear);
                }
                if let Some(program) = speak {
                    self.put_voice(name, ExecVoice::new(name, program)?);
                }
            }
        }
        Ok(())
    }

    fn put_voice(&mut self, name: &str, voice: impl Mouth + 'static) {
        self.voices.insert(name.to_owned(), Arc::new(voice));
    }

    /// Adds what both listens and speaks.
    fn put<T: Ear + Mouth + 'static>(&mut self, name: &str, both: T) {
        let both = Arc::new(both);
        self.ears.insert(name.to_owned(), both.clone());
        self.voices.insert(name.to_owned(), both);
    }
}

impl Speech for SpeechRegistry {
    fn recogniser(
        &self,
        provider: &str,
        settings: &RecogniserSettings,
    ) -> Result<Arc<dyn SpeechToText>> {
        let ear = self.ears.get(provider).ok_or(SpeechError::NotConfigured)?;
        ear.check(settings)?;
        let special = ear.of_model(&settings.model);
        Ok(special.unwrap_or_else(|| ear.clone()))
    }

    fn synthesiser(
        &self,
        provider: &str,
        settings: &VoiceSettings,
    ) -> Result<Arc<dyn TextToSpeech>> {
        let voice = self.voices.get(provider);
        let voice = voice.ok_or(SpeechError::NotConfigured)?;
        voice.check(settings)?;
        Ok(voice.clone())
    }
}
