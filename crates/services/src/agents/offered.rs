//! What an editor offers: providers and whether they are set up, voices that no list has, and how a voice sounds.

use futures_util::StreamExt as _;
use offhook_domain::config::Voice;
use offhook_engine::ports::audio::SAMPLE_RATE;
use offhook_engine::ports::speech::{
    SpeechError, SpeechPiece, SpokenText, TextToSpeech, VoiceSettings,
};
use offhook_media::wav;
use tokio::time::timeout;

use super::Agents;
use super::check::no_provider;
use super::first::SCRIPTED;
use super::speech::VOICE_PROVIDER;
use crate::catalog::ModelKind;
use crate::error::Result;
use crate::prelude::*;
use crate::speech::{listening, lists_voices, speaking};

/// How long a preview may take to be spoken, and how long it may sound.
const PREVIEW_LIMIT: Duration = Duration::from_secs(15);
const PREVIEW_SAMPLES: usize = 12 * SAMPLE_RATE as usize;

/// A provider of models or speech, as an editor offers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OfferedProvider<'a> {
    /// Its name in configurations.
    pub name: &'a str,
    /// Whether this process can use it.
    pub is_set_up: bool,
    /// Whether an agent may be published with it.
    pub may_be_chosen: bool,
}

#[boxed]
impl Agents {
    /// The catalog's providers of this kind, those that are set up first. [`Agents::of`] counts an account's own keys.
    pub fn offered_providers(&self, kind: ModelKind) -> Vec<OfferedProvider<'_>> {
        let providers = &self.providers;
        let (catalog, speech) = (&providers.catalog, &*providers.speech);
        let of_speech = match kind {
            ModelKind::Llm => Vec::new(),
            ModelKind::Stt => listening(catalog, speech),
            ModelKind::Tts => speaking(catalog, speech),
        };
        let is_set_up = |name: &str| match kind {
            ModelKind::Llm => {
                let mut models = catalog.models().iter();
                models.any(|model| {
                    model.kind == kind
                        && model.provider == name
                        && providers.has_model(name, &model.model, None)
                })
            }
            ModelKind::Stt | ModelKind::Tts => name == SCRIPTED || of_speech.contains(&name),
        };
        // Simulated calls have no sound, so that a listed voice may be chosen before its provider is set up.
        let is_silent = kind == ModelKind::Tts && !providers.network.is_spoken();
        let mut offered: Vec<OfferedProvider<'_>> = catalog
            .providers(kind)
            .into_iter()
            .map(|name| {
                let is_set_up = is_set_up(name);
                OfferedProvider {
                    name,
                    is_set_up,
                    may_be_chosen: is_set_up || (is_silent && lists_voices(name)),
                }
            })
            .collect();
        offered.sort_by_key(|offered| !offered.is_set_up);
        offered
    }

    /// The voices of the deployment's own server or program, which no provider lists. An empty id stands for its only voice.
    pub fn own_voices(&self, provider: &str) -> Vec<String> {
        let listed = self.providers.speech.voices(provider);
        if !listed.is_empty() || lists_voices(provider) {
            return listed;
        }
        let mut config = AgentConfig::new("en");
        config.voice.provider = Some(provider.to_owned());
        let mut only = self.providers.voices(&config).into_iter();
        match only.all(|voice| self.providers.speaks_with(&voice)) {
            true => vec![String::new()],
            false => Vec::new(),
        }
    }

    /// Speaks a sentence in this voice and language, as a WAV file. It costs the account nothing, so an account has a few
    /// of them per minute.
    pub async fn preview_voice(
        &self,
        account: AccountId,
        voice: Voice,
        language: &str,
    ) -> Result<Vec<u8>> {
        self.free.take(account, self.ctx.clock.now())?;
        let spoken = voice.language.as_deref().unwrap_or(language).to_owned();
        let mut config = AgentConfig::new(language);
        config.voice = voice;
        let store = &self.ctx.store;
        let providers = self.providers.of(&self.ctx, account).await?;
        let mut keyed = providers.keyed_voices(store, account, &config).await;
        let Some(found) = (!keyed.is_empty()).then(|| keyed.swap_remove(0)) else {
            return Err(FieldError::new(VOICE_PROVIDER, Fault::Required).into());
        };
        let failed = || UseCaseError::Upstream(Refusal::PreviewFailed);
        let (provider, settings) = found.map_err(|_| failed())?;
        let synthesizer = providers.speech.synthesizer(&provider, &settings);
        let synthesizer = synthesizer.map_err(|error| match error {
            SpeechError::Unable(fault) => fault,
            _ => FieldError::new(
                VOICE_PROVIDER,
                no_provider(ModelKind::Tts, &provider, Fault::CannotSpeak),
            ),
        })?;
        let spoken = speak(&*synthesizer, settings, sample_text(&spoken));
        match timeout(PREVIEW_LIMIT, spoken).await {
            Ok(Ok(samples)) if !samples.is_empty() => Ok(wav::mono(&samples, SAMPLE_RATE)),
            _ => Err(failed()),
        }
    }
}

async fn speak(
    synthesizer: &dyn TextToSpeech,
    settings: VoiceSettings,
    text: &str,
) -> Result<Vec<i16>, SpeechError> {
    let opened = synthesizer.open(settings).await?;
    let mut pieces = opened.speak(SpokenText {
        text: text.to_owned(),
        before: String::new(),
    });
    let mut samples = Vec::new();
    while let Some(piece) = pieces.next().await {
        if let SpeechPiece::Audio(more) = piece? {
            samples.extend(more);
        }
        if samples.len() >= PREVIEW_SAMPLES {
            samples.truncate(PREVIEW_SAMPLES);
            break;
        }
    }
    Ok(samples)
}

/// What a voice says of itself, in a language that it may speak.
fn sample_text(language: &str) -> &'static str {
    let primary = language.split('-').next().unwrap_or(language);
    match primary.to_ascii_lowercase().as_str() {
        "es" => "Hola, así sueno al teléfono. ¿En qué te puedo ayudar hoy?",
        "pt" => "Olá, é assim que eu falo ao telefone. Como posso ajudar você hoje?",
        "fr" => "Bonjour, voici ma voix au téléphone. Comment puis-je vous aider aujourd'hui ?",
        "de" => "Hallo, so klinge ich am Telefon. Wie kann ich Ihnen heute helfen?",
        "it" => "Ciao, ecco come parlo al telefono. Come posso aiutarti oggi?",
        _ => "Hello, this is how I sound on the phone. How can I help you today?",
    }
}
