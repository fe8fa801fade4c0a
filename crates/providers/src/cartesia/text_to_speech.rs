//! Cartesia's text-to-speech and compatible services: over a WebSocket with one context per text, or over HTTP with one
//! request per text. Audio arrives as µ-law.

mod contexts;

use async_trait::async_trait;
use offhook_engine::ports::speech::{SpokenText, Synthesizer, TextToSpeech, VoiceSettings};
use reqwest::header::{HeaderName, HeaderValue};
use serde_json::{Map, Value, json};

use crate::speech::endpoint::Endpoint;
use crate::speech::settings::{self, VOICE};
use crate::speech::sound::Coding;
use crate::speech::utter::start_synthesizer;
use crate::speech::{Result, SpeechOutput, SpeechTransport};

/// The API version of this wire format.
pub(crate) const VERSION: (HeaderName, HeaderValue) = (
    HeaderName::from_static("cartesia-version"),
    HeaderValue::from_static("2026-03-01"),
);

/// The catalog's name of the service's model.
const STANDARD: (&str, &str) = ("standard", "sonic-3.5");

/// The supported speeds.
const SLOWEST: f64 = 0.6;
const FASTEST: f64 = 1.5;

pub(crate) struct Cartesia {
    pub(crate) endpoint: Endpoint,
    pub(crate) transport: SpeechTransport,
}

/// The request for an agent's voice, without the text.
fn voice(settings: &VoiceSettings) -> Result<Map<String, Value>> {
    let voice_id = settings::voice_id(settings)?;
    let speed = settings::speed(settings, SLOWEST, FASTEST)?;
    let mut manner = settings::read(&settings.settings, VOICE, |fields| {
        let mut manner = Map::new();
        if let Some(volume) = fields.optional_number("volume", 0.5..=2.0)? {
            manner.insert("volume".to_owned(), json!(volume));
        }
        if let Some(emotion) = fields.optional_string("emotion", 1..=40)? {
            manner.insert("emotion".to_owned(), json!(emotion));
        }
        Ok(manner)
    })?;
    if speed != 1.0 {
        manner.insert("speed".to_owned(), json!(speed));
    }
    let model = match settings::voice_model(settings)? {
        name if name == STANDARD.0 => STANDARD.1.to_owned(),
        name => name,
    };
    let mut asked = Map::new();
    asked.insert("model_id".to_owned(), json!(model));
    asked.insert("voice".to_owned(), json!({"mode": "id", "id": voice_id}));
    let language = settings::primary(&settings.language);
    asked.insert("language".to_owned(), json!(language));
    let format = json!({"container": "raw", "encoding": "pcm_mulaw", "sample_rate": 8000});
    asked.insert("output_format".to_owned(), format);
    if !manner.is_empty() {
        asked.insert("generation_config".to_owned(), Value::Object(manner));
    }
    Ok(asked)
}

impl SpeechOutput for Cartesia {
    fn check(&self, settings: &VoiceSettings) -> Result<()> {
        voice(settings).map(|_| ())
    }
}

#[async_trait]
impl TextToSpeech for Cartesia {
    async fn open(&self, settings: VoiceSettings) -> Result<Box<dyn Synthesizer>> {
        let voice = voice(&settings)?;
        let mut headers = self.endpoint.voice_credential(&settings)?;
        headers.push(VERSION);
        match self.transport {
            SpeechTransport::WebSocket => {
                let url = self.endpoint.socket_url("tts/websocket", &[])?;
                let upgrade = self.endpoint.upgrade(url, headers);
                start_synthesizer(upgrade, contexts::Contexts::new(voice)).await
            }
            SpeechTransport::Http => {
                let url = self.endpoint.url("tts/bytes", &[])?;
                let body = move |text: &SpokenText| {
                    let mut body = voice.clone();
                    body.insert("transcript".to_owned(), json!(text.text));
                    Ok(Value::Object(body))
                };
                Ok(self.endpoint.each_text((url, headers), Coding::Ulaw, body))
            }
        }
    }
}
