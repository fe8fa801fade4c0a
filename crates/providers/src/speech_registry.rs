//! The recognizers and synthesizers that agents can use.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use offhook_domain::CredentialProvider;
use offhook_engine::ports::speech::{
    RecognizerSettings, Speech, SpeechError, SpeechToText, TextToSpeech, VoiceSettings,
};
use offhook_engine::ports::{AccountKey, KeyAnswer};
use reqwest::header::AUTHORIZATION;

use crate::cartesia::{self, text_to_speech::Cartesia};
use crate::deepgram::speech_to_text::Deepgram;
use crate::elevenlabs::ELEVENLABS_BASE_URL;
use crate::elevenlabs::text_to_speech::{ElevenLabs, KEY};
use crate::model_service;
use crate::openai::speech::OpenAi;
use crate::settings::{ProviderSettings, SettingsError};
use crate::speech::endpoint::{Clients, Endpoint};
use crate::speech::exec::{ExecRecognizer, ExecVoice, SpeechProgram};
use crate::speech::scripted::{ScriptedRecognizer, ScriptedVoice};
use crate::speech::{Result, SpeechInput, SpeechOutput, SpeechTransport};

/// The provider that needs no settings.
const SCRIPTED: &str = "scripted";

/// The vendors' own services.
const DEEPGRAM: &str = "https://api.deepgram.com";
const CARTESIA: &str = "https://api.cartesia.ai";

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
#[derive(Clone)]
pub struct SpeechRegistry {
    recognizers: HashMap<String, Arc<dyn SpeechInput>>,
    voices: HashMap<String, Arc<dyn SpeechOutput>>,
    /// The ids of voices, by provider.
    listed: BTreeMap<String, Vec<String>>,
    settings: HashMap<String, SpeechProvider>,
    /// Providers that only an account's own key sets up.
    added: Vec<String>,
    /// Made for the first provider.
    clients: Arc<OnceLock<Clients>>,
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
            settings: HashMap::new(),
            added: Vec::new(),
            clients: Arc::default(),
        };
        for (name, provider) in settings {
            if name == SCRIPTED {
                return Err(SettingsError::BuiltIn(name));
            }
            registry.add(&name, &provider)?;
            registry.settings.insert(name, provider);
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

    fn clients(&self) -> Result<Clients, SettingsError> {
        if self.clients.get().is_none() {
            let _ = self.clients.set(Clients::new()?);
        }
        Ok(self.clients.wait().clone())
    }

    /// A provider with an account's own key: where the deployment has the provider, else at the vendor.
    fn own(&self, name: &str, key: &AccountKey) -> Option<SpeechProvider> {
        let mut transport = SpeechTransport::default();
        let mut deployed = None;
        match self.settings.get(name) {
            Some(SpeechProvider::Deepgram(at)) => deployed = Some(&at.base_url),
            Some(SpeechProvider::Cartesia(at, by) | SpeechProvider::ElevenLabs(at, by)) => {
                (deployed, transport) = (Some(&at.base_url), *by);
            }
            _ => {}
        }
        let at = |vendor: &str| ProviderSettings {
            base_url: deployed.map_or(vendor, String::as_str).to_owned(),
            api_key: Some(key.key.to_string()),
        };
        Some(match key.vendor {
            CredentialProvider::Deepgram => SpeechProvider::Deepgram(at(DEEPGRAM)),
            CredentialProvider::ElevenLabs => {
                SpeechProvider::ElevenLabs(at(ELEVENLABS_BASE_URL), transport)
            }
            CredentialProvider::Cartesia => SpeechProvider::Cartesia(at(CARTESIA), transport),
            _ => return None,
        })
    }

    /// Asks for a list that needs a key.
    async fn ask_vendor(&self, key: &AccountKey) -> Option<KeyAnswer> {
        let name = key.vendor.own_key()?.tts?;
        let (at, path, key_in) = match self.own(name, key)? {
            SpeechProvider::Deepgram(at) => (at, "v1/projects", (AUTHORIZATION, "Token ")),
            SpeechProvider::ElevenLabs(at, _) => (at, "v2/voices?page_size=1", (KEY, "")),
            SpeechProvider::Cartesia(at, _) => (at, "voices?limit=1", (AUTHORIZATION, "Bearer ")),
            SpeechProvider::OpenAi(_) | SpeechProvider::Exec { .. } => return None,
        };
        let endpoint = Endpoint::new(name, &at, key_in, &self.clients().ok()?).ok()?;
        let mut headers = endpoint.credential();
        headers.push(cartesia::text_to_speech::VERSION);
        let request = endpoint.get(endpoint.url(path, &[]).ok()?, headers);
        Some(model_service::ask(request).await)
    }

    fn add(&mut self, name: &str, provider: &SpeechProvider) -> Result<(), SettingsError> {
        let clients = self.clients()?;
        let endpoint =
            |settings, header, scheme| Endpoint::new(name, settings, (header, scheme), &clients);
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

    fn ask<'a>(&'a self, key: &'a AccountKey) -> BoxFuture<'a, KeyAnswer> {
        let asked = self.ask_vendor(key);
        let answer = asked.map(|answer| answer.unwrap_or(KeyAnswer::Unconfirmed));
        answer.boxed()
    }

    fn with_keys(&self, keys: &[AccountKey]) -> Option<Arc<dyn Speech>> {
        let mut own = None;
        for key in keys {
            let used = key.vendor.own_key();
            let names = used.map(|used| [used.stt, used.tts]);
            for name in names.into_iter().flatten().flatten() {
                let own = own.get_or_insert_with(|| self.clone());
                let recognizer = own.recognizers.remove(name).is_some();
                if !(own.voices.remove(name).is_some() || recognizer) {
                    own.added.push(name.to_owned());
                }
                if let Some(provider) = self.own(name, key) {
                    // A key that no header can carry leaves the provider out.
                    let _ = own.add(name, &provider);
                }
            }
        }
        own.map(|own| Arc::new(own) as Arc<dyn Speech>)
    }

    fn is_added(&self, provider: &str) -> bool {
        self.added.iter().any(|added| added == provider)
    }

    fn voices(&self, provider: &str) -> Vec<String> {
        self.listed.get(provider).cloned().unwrap_or_default()
    }
}
