//! Deepgram's text-to-speech and compatible services: `v1/speak`, one request per text. The voice is the service's
//! model, so the agent's model is ignored. Audio arrives as µ-law.

use async_trait::async_trait;
use offhook_engine::ports::speech::{SpokenText, Synthesizer, TextToSpeech, VoiceSettings};
use reqwest::Url;
use serde_json::json;

use super::speech_to_text::Deepgram;
use crate::speech::settings::{self, VOICE};
use crate::speech::sound::Coding;
use crate::speech::{Result, SpeechOutput};

/// The supported speeds.
const SLOWEST: f64 = 0.7;
const FASTEST: f64 = 1.5;

impl Deepgram {
    fn speaking_url(&self, settings: &VoiceSettings) -> Result<Url> {
        let voice_id = settings::voice_id(settings)?;
        let speed = settings::speed(settings, SLOWEST, FASTEST)?;
        settings::none(&settings.settings, VOICE)?;
        let mut query = vec![
            ("model", voice_id.to_owned()),
            ("encoding", "mulaw".to_owned()),
            ("sample_rate", "8000".to_owned()),
            ("container", "none".to_owned()),
        ];
        if speed != 1.0 {
            query.push(("speed", speed.to_string()));
        }
        self.endpoint.url("v1/speak", &query)
    }
}

impl SpeechOutput for Deepgram {
    fn check(&self, settings: &VoiceSettings) -> Result<()> {
        self.speaking_url(settings).map(|_| ())
    }
}

#[async_trait]
impl TextToSpeech for Deepgram {
    async fn open(&self, settings: VoiceSettings) -> Result<Box<dyn Synthesizer>> {
        let url = self.speaking_url(&settings)?;
        let headers = self.endpoint.voice_credential(&settings)?;
        let body = |text: &SpokenText| Ok(json!({"text": text.text}));
        Ok(self.endpoint.each_text((url, headers), Coding::Ulaw, body))
    }
}
