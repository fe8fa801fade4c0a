//! ElevenLabs' text-to-speech and compatible services: over a WebSocket, `multi-stream-input` with one context per
//! text, or over HTTP with one request per text. Audio arrives as µ-law.

mod contexts;

use async_trait::async_trait;
use offhook_domain::json::{Fault, Fields};
use offhook_engine::ports::speech::{SpokenText, Synthesizer, TextToSpeech, VoiceSettings};
use reqwest::header::HeaderName;
use serde_json::{Map, Value, json};

use crate::speech::endpoint::Endpoint;
use crate::speech::settings::{self, VOICE};
use crate::speech::sound::Coding;
use crate::speech::utter::start_synthesizer;
use crate::speech::{Result, SpeechOutput, SpeechTransport};

pub(crate) const KEY: HeaderName = HeaderName::from_static("xi-api-key");

/// The catalog's name of the fastest model.
const FLASH: (&str, &str) = ("flash", "eleven_flash_v2_5");

/// How long the service keeps an idle connection open, in seconds: its maximum.
const INACTIVITY_S: &str = "180";

/// The supported speeds.
const SLOWEST: f64 = 0.7;
const FASTEST: f64 = 1.2;

pub(crate) struct ElevenLabs {
    pub(crate) endpoint: Endpoint,
    pub(crate) transport: SpeechTransport,
}

/// The voice of one agent.
struct Voice {
    voice_id: String,
    model: String,
    language: Option<String>,
    /// `voice_settings` in the service's format.
    manner: Map<String, Value>,
    normalization: Option<String>,
    seed: Option<i64>,
}

impl Voice {
    fn read(settings: &VoiceSettings) -> Result<Self> {
        let voice_id = settings::voice_id(settings)?.to_owned();
        let speed = settings::speed(settings, SLOWEST, FASTEST)?;
        let model = match settings::voice_model(settings)? {
            name if name == FLASH.0 => FLASH.1.to_owned(),
            name => name,
        };
        // Older models reject a language parameter.
        let takes_language = model.contains("v2_5") || model.contains("v3");
        let (mut manner, normalization, seed) =
            settings::read(&settings.settings, VOICE, |fields| {
                let manner = manner(fields)?;
                let known = ["auto", "on", "off"];
                let normalization = fields.optional_string("apply_text_normalization", 0..=8)?;
                if normalization.is_some_and(|word| !known.contains(&word)) {
                    let name = "apply_text_normalization";
                    return Err(fields.fault(name, Fault::Normalization));
                }
                let seed = fields.optional_integer("seed", 0..=i64::from(u32::MAX))?;
                Ok((manner, normalization.map(str::to_owned), seed))
            })?;
        if speed != 1.0 {
            manner.insert("speed".to_owned(), json!(speed));
        }
        Ok(Self {
            voice_id,
            language: takes_language.then(|| settings::primary(&settings.language)),
            model,
            manner,
            normalization,
            seed,
        })
    }

    /// The query of the WebSocket URL.
    fn query(&self) -> Vec<(&'static str, String)> {
        let mut query = vec![
            ("model_id", self.model.clone()),
            ("output_format", "ulaw_8000".to_owned()),
            // Each text consists of whole sentences, so the service must not wait for more.
            ("auto_mode", "true".to_owned()),
            ("sync_alignment", "true".to_owned()),
            ("inactivity_timeout", INACTIVITY_S.to_owned()),
        ];
        let language = self.language.clone();
        query.extend(language.map(|language| ("language_code", language)));
        let normalization = self.normalization.clone();
        query.extend(normalization.map(|word| ("apply_text_normalization", word)));
        query.extend(self.seed.map(|seed| ("seed", seed.to_string())));
        query
    }

    /// The request body for one text.
    fn body(&self, text: &SpokenText) -> Value {
        let mut body = json!({"text": text.text, "model_id": self.model});
        let mut put = |name: &str, value: Option<Value>| {
            if let (Some(value), Some(body)) = (value, body.as_object_mut()) {
                body.insert(name.to_owned(), value);
            }
        };
        put("language_code", self.language.clone().map(Value::from));
        put("voice_settings", self.manner());
        let before = Some(text.before.as_str()).filter(|before| !before.is_empty());
        put("previous_text", before.map(Value::from));
        put("seed", self.seed.map(Value::from));
        let normalization = self.normalization.clone();
        put("apply_text_normalization", normalization.map(Value::from));
        body
    }

    fn manner(&self) -> Option<Value> {
        let manner = self.manner.clone();
        Some(Value::Object(manner)).filter(|_| !self.manner.is_empty())
    }
}

fn manner(fields: &mut Fields<'_>) -> Result<Map<String, Value>, offhook_domain::FieldError> {
    let mut manner = Map::new();
    for name in ["stability", "similarity_boost", "style"] {
        if let Some(number) = fields.optional_number(name, 0.0..=1.0)? {
            manner.insert(name.to_owned(), json!(number));
        }
    }
    if let Some(on) = fields.optional_bool("use_speaker_boost")? {
        manner.insert("use_speaker_boost".to_owned(), json!(on));
    }
    Ok(manner)
}

impl SpeechOutput for ElevenLabs {
    fn check(&self, settings: &VoiceSettings) -> Result<()> {
        Voice::read(settings).map(|_| ())
    }
}

#[async_trait]
impl TextToSpeech for ElevenLabs {
    async fn open(&self, settings: VoiceSettings) -> Result<Box<dyn Synthesizer>> {
        let voice = Voice::read(&settings)?;
        let headers = self.endpoint.voice_credential(&settings)?;
        match self.transport {
            SpeechTransport::WebSocket => {
                let path = format!("v1/text-to-speech/{}/multi-stream-input", voice.voice_id);
                let url = self.endpoint.socket_url(&path, &voice.query())?;
                let upgrade = self.endpoint.upgrade(url, headers);
                start_synthesizer(upgrade, contexts::Contexts::new(voice.manner())).await
            }
            SpeechTransport::Http => {
                let path = format!("v1/text-to-speech/{}/stream", voice.voice_id);
                let query = [("output_format", "ulaw_8000".to_owned())];
                let url = self.endpoint.url(&path, &query)?;
                let body = move |text: &SpokenText| Ok(voice.body(text));
                Ok(self.endpoint.each_text((url, headers), Coding::Ulaw, body))
            }
        }
    }
}
