//! Deepgram's speech and what speaks like it: `v1/speak`, one request for each text. The voice is the
//! service's model, so that the agent's model plays no part. Sound comes as µ-law.

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use offhook_engine::ports::speech::{
    SpeechPiece, SpokenText, Synthesiser, TextToSpeech, VoiceSettings,
};
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde_json::json;

use super::deepgram::Deepgram;
use super::registry::{Mouth, with_headers};
use super::settings::{self, VOICE};
use super::sound::Coding;
use super::{Result, fetch};

/// The speeds that the service knows.
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

impl Mouth for Deepgram {
    fn check(&self, settings: &VoiceSettings) -> Result<()> {
        self.speaking_url(settings).map(|_| ())
    }
}

#[async_trait]
impl TextToSpeech for Deepgram {
    async fn open(&self, settings: VoiceSettings) -> Result<Box<dyn Synthesiser>> {
        Ok(Box::new(Aura {
            client: self.client.clone(),
            url: self.speaking_url(&settings)?,
            headers: self.endpoint.voice_credential(AUTHORIZATION, &settings)?,
        }))
    }
}

struct Aura {
    client: reqwest::Client,
    url: Url,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Synthesiser for Aura {
    fn speak(&self, text: SpokenText) -> BoxStream<'static, Result<SpeechPiece>> {
        let request = self.client.post(self.url.clone());
        let request = request.json(&json!({"text": text.text}));
        fetch::sound(with_headers(request, &self.headers), Coding::Ulaw)
    }
}
