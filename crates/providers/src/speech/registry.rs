//! The ears and voices that agents may name.

use std::collections::HashMap;
use std::sync::Arc;

use offhook_egress::{GuardedDialer, Policy};
use offhook_engine::ports::speech::{
    RecogniserSettings, Speech, SpeechError, SpeechToText, TextToSpeech, VoiceSettings,
};
use reqwest::RequestBuilder;
use reqwest::header::{HeaderName, HeaderValue};

use super::cartesia::Cartesia;
use super::deepgram::Deepgram;
use super::elevenlabs::ElevenLabs;
use super::endpoint::Endpoint;
use super::exec::{ExecEar, ExecVoice};
use super::openai::OpenAi;
use super::scripted::{ScriptedEar, ScriptedVoice};
use super::{SpeechEndpoint, SpeechProgram};
use crate::SettingsError;
use crate::registry::client;
use crate::speech::Result;

/// The provider that needs nothing.
const SCRIPTED: &str = "scripted";

/// How a deployment reaches one speech provider: the shape of its interface, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpeechProvider {
    /// Listens and speaks as Deepgram does.
    Deepgram(SpeechEndpoint),
    /// Listens and speaks as ElevenLabs does.
    ElevenLabs(SpeechEndpoint, SpeechTransport),
    /// Speaks as Cartesia does.
    Cartesia(SpeechEndpoint, SpeechTransport),
    /// Listens and speaks as OpenAI does.
    OpenAi(SpeechEndpoint),
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
    /// A registry of these providers and `scripted`. Their URLs are the operator's, so they may be private; no proxy of
    /// the environment is used, and no redirect followed.
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
        let mut settings = settings.into_iter().peekable();
        if settings.peek().is_some() {
            let dialer = GuardedDialer::new(Policy {
                allow_private: true,
            })?;
            let client = client()?;
            for (name, provider) in settings {
                if name == SCRIPTED {
                    return Err(SettingsError::BuiltIn(name));
                }
                registry.add(name, &provider, &dialer, &client)?;
            }
        }
        let name = SCRIPTED.to_owned();
        registry.ears.insert(name.clone(), Arc::new(ScriptedEar));
        registry.voices.insert(name, Arc::new(ScriptedVoice));
        Ok(registry)
    }

    fn add(
        &mut self,
        name: String,
        provider: &SpeechProvider,
        dialer: &GuardedDialer,
        client: &reqwest::Client,
    ) -> Result<(), SettingsError> {
        let (dialer, client) = (dialer.clone(), client.clone());
        match provider {
            SpeechProvider::Deepgram(settings) => {
                let endpoint = Endpoint::new(&name, settings, "Token ")?;
                self.put(
                    name,
                    Deepgram {
                        endpoint,
                        dialer,
                        client,
                    },
                );
            }
            SpeechProvider::ElevenLabs(settings, transport) => {
                let endpoint = Endpoint::new(&name, settings, "")?;
                self.put(
                    name,
                    ElevenLabs {
                        endpoint,
                        dialer,
                        client,
                        transport: *transport,
                    },
                );
            }
            SpeechProvider::Cartesia(settings, transport) => {
                let voice = Cartesia {
                    endpoint: Endpoint::new(&name, settings, "Bearer ")?,
                    dialer,
                    client,
                    transport: *transport,
                };
                self.voices.insert(name, Arc::new(voice));
            }
            SpeechProvider::OpenAi(settings) => {
                let endpoint = Endpoint::new(&name, settings, "Bearer ")?;
                self.put(name, OpenAi { endpoint, client });
            }
            SpeechProvider::Exec { listen, speak } => {
                if let Some(program) = listen {
                    let ear = ExecEar::new(&name, program)?;
                    self.ears.insert(name.clone(), Arc::new(ear));
                }
                if let Some(program) = speak {
                    let voice = ExecVoice::new(&name, program)?;
                    self.voices.insert(name, Arc::new(voice));
                }
            }
        }
        Ok(())
    }

    /// Adds what both listens and speaks.
    fn put<T: Ear + Mouth + 'static>(&mut self, name: String, both: T) {
        let both = Arc::new(both);
        self.ears.insert(name.clone(), both.clone());
        self.voices.insert(name, both);
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

/// A request with these headers.
pub(super) fn with_headers(
    request: RequestBuilder,
    headers: &[(HeaderName, HeaderValue)],
) -> RequestBuilder {
    let add = |request: RequestBuilder, (name, value): &(HeaderName, HeaderValue)| {
        request.header(name, value.clone())
    };
    headers.iter().fold(request, add)
}
