//! OpenAI's speech services and compatible ones: `audio/transcriptions`, one request per utterance, and `audio/speech`,
//! one request per text. Audio is sent as a 16 kHz WAV file, which self-hosted servers accept without conversion, and
//! arrives as 24 kHz.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use offhook_domain::json::read_foreign;
use offhook_engine::ports::audio::SAMPLE_RATE;
use offhook_engine::ports::speech::{
    Recognizer, RecognizerAbilities, RecognizerSettings, SpeechError, SpeechToText, SpokenText,
    Synthesizer, TextToSpeech, VoiceSettings,
};
use offhook_media::wav;
use reqwest::Url;
use reqwest::header::CONTENT_TYPE;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::speech::endpoint::Endpoint;
use crate::speech::segment::{self, Transcriber};
use crate::speech::settings::{self, STT, VOICE};
use crate::speech::sound::{Coding, resample};
use crate::speech::{Result, SpeechInput, SpeechOutput, fetch, form};

/// The sample rate of sent files, in Hz.
const SENT_RATE: u32 = 16_000;

/// The sample rate of `pcm`, in Hz.
const PCM_RATE: u32 = 24_000;

/// Limit for the transcription of an utterance.
const LIMIT: Duration = Duration::from_secs(10);

/// The longest answer to an utterance.
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// The service's longest text, and longest hint, in characters.
const MAX_TEXT_CHARS: usize = 4_096;
const MAX_HINT_CHARS: usize = 1_000;

/// The supported speeds.
const SLOWEST: f64 = 0.25;
const FASTEST: f64 = 4.0;

pub(crate) struct OpenAi(pub(crate) Endpoint);

/// The fields of a request, besides the file.
type FormFields = Vec<(&'static str, String)>;

fn form_fields(settings: &RecognizerSettings) -> Result<FormFields> {
    let model = settings::recognizer_model(settings)?;
    settings::read(&settings.settings, STT, |fields| {
        let mut form_fields = vec![
            ("model", model),
            ("language", settings::primary(&settings.language)),
            ("response_format", "json".to_owned()),
        ];
        let prompt = fields.optional_string("prompt", 1..=MAX_HINT_CHARS)?;
        form_fields.extend(prompt.map(|prompt| ("prompt", prompt.to_owned())));
        let temperature = fields.optional_number("temperature", 0.0..=1.0)?;
        form_fields.extend(temperature.map(|number| ("temperature", number.to_string())));
        Ok(form_fields)
    })
}

impl SpeechInput for OpenAi {
    fn check(&self, settings: &RecognizerSettings) -> Result<()> {
        form_fields(settings).map(|_| ())
    }
}

#[async_trait]
impl SpeechToText for OpenAi {
    /// The first utterance opens the connection.
    async fn open(&self, settings: RecognizerSettings) -> Result<Recognizer> {
        Ok(segment::listen(Arc::new(Transcriptions {
            endpoint: self.0.clone(),
            url: self.0.url("audio/transcriptions", &[])?,
            form_fields: form_fields(&settings)?,
        })))
    }

    fn abilities(&self) -> RecognizerAbilities {
        RecognizerAbilities::default()
    }
}

struct Transcriptions {
    endpoint: Endpoint,
    url: Url,
    form_fields: FormFields,
}

#[derive(Deserialize)]
struct Transcription {
    text: String,
}

#[async_trait]
impl Transcriber for Transcriptions {
    async fn transcribe(&self, samples: Vec<i16>) -> Result<String> {
        let file = wav::mono(&resample(&samples, SAMPLE_RATE, SENT_RATE)?, SENT_RATE);
        let form = form::with_file(&self.form_fields, "file", "speech.wav", "audio/wav", &file);
        let endpoint = &self.endpoint;
        let request = endpoint
            .post(self.url.clone(), endpoint.credential())
            .header(CONTENT_TYPE, form.content_type)
            .body(form.body);
        let answer = fetch::body(request, MAX_ANSWER_BYTES, LIMIT).await?;
        let answer: Transcription = read_foreign(&answer)
            .map_err(|_| SpeechError::Protocol("a transcription is not of its form"))?;
        Ok(answer.text)
    }
}

/// The request for an agent's voice, without the text.
fn voice(settings: &VoiceSettings) -> Result<Value> {
    let voice_id = settings::voice_id(settings)?;
    let speed = settings::speed(settings, SLOWEST, FASTEST)?;
    let instructions = settings::read(&settings.settings, VOICE, |fields| {
        let instructions = fields.optional_string("instructions", 1..=MAX_HINT_CHARS)?;
        Ok(instructions.map(str::to_owned))
    })?;
    let model = settings::voice_model(settings)?;
    let mut body = json!({"model": model, "voice": voice_id, "response_format": "pcm"});
    if speed != 1.0 {
        body["speed"] = json!(speed);
    }
    if let Some(instructions) = instructions {
        body["instructions"] = json!(instructions);
    }
    Ok(body)
}

impl SpeechOutput for OpenAi {
    fn check(&self, settings: &VoiceSettings) -> Result<()> {
        voice(settings).map(|_| ())
    }
}

#[async_trait]
impl TextToSpeech for OpenAi {
    async fn open(&self, settings: VoiceSettings) -> Result<Box<dyn Synthesizer>> {
        let url = self.0.url("audio/speech", &[])?;
        let headers = self.0.voice_credential(&settings)?;
        let voice = voice(&settings)?;
        let body = move |text: &SpokenText| {
            if text.text.chars().count() > MAX_TEXT_CHARS {
                let error = "the text is longer than the service speaks";
                return Err(SpeechError::Protocol(error));
            }
            let mut body = voice.clone();
            body["input"] = json!(text.text);
            Ok(body)
        };
        Ok(self
            .0
            .each_text((url, headers), Coding::Pcm(PCM_RATE), body))
    }
}
