//! ElevenLabs' streaming speech-to-text and compatible services: `v1/speech-to-text/realtime`, where the client commits
//! each utterance. Audio is sent as µ-law in base64.

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use offhook_engine::ports::audio::Frame;
use offhook_engine::ports::speech::{
    Recognizer, RecognizerAbilities, RecognizerEvent, RecognizerSettings, SpeechError, SpeechToText,
};
use reqwest::Url;
use serde::Deserialize;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::text_to_speech::ElevenLabs;
use crate::lenient::{Lenient, without_nul};
use crate::speech::listen::{RecognizerProtocol, listen};
use crate::speech::settings::{self, STT};
use crate::speech::socket::{message, text};
use crate::speech::sound::to_ulaw;
use crate::speech::{Result, SpeechInput};

/// Bytes per message, at 8000 bytes a second: one message per frame would be mostly overhead.
const TOGETHER: usize = 800;

impl ElevenLabs {
    fn listening_url(&self, settings: &RecognizerSettings) -> Result<Url> {
        settings::none(&settings.settings, STT)?;
        let query = [
            ("model_id", settings::recognizer_model(settings)?),
            ("audio_format", "ulaw_8000".to_owned()),
            ("commit_strategy", "manual".to_owned()),
            ("language_code", settings::primary(&settings.language)),
        ];
        self.endpoint
            .socket_url("v1/speech-to-text/realtime", &query)
    }
}

impl SpeechInput for ElevenLabs {
    fn check(&self, settings: &RecognizerSettings) -> Result<()> {
        self.listening_url(settings).map(|_| ())
    }
}

#[async_trait]
impl SpeechToText for ElevenLabs {
    async fn open(&self, settings: RecognizerSettings) -> Result<Recognizer> {
        let (url, headers) = (self.listening_url(&settings)?, self.endpoint.credential());
        let socket = self.endpoint.upgrade(url, headers).open().await?;
        Ok(listen(socket, Scribe::default()))
    }

    fn abilities(&self) -> RecognizerAbilities {
        RecognizerAbilities {
            partials: true,
            turns: false,
        }
    }
}

/// The state between messages.
#[derive(Default)]
struct Scribe {
    /// Audio that is not sent yet.
    pending: Vec<u8>,
    guess: String,
}

#[derive(Deserialize)]
struct ServerMessage {
    #[serde(default)]
    message_type: String,
    #[serde(default)]
    text: Lenient<String>,
}

impl Scribe {
    fn chunk(&mut self, commit: bool) -> Message {
        let sound = STANDARD.encode(std::mem::take(&mut self.pending));
        text(&json!({
            "message_type": "input_audio_chunk", "audio_base_64": sound, "commit": commit, "sample_rate": 8000
        }))
    }
}

impl RecognizerProtocol for Scribe {
    fn frame(&mut self, frame: &Frame) -> Option<Message> {
        self.pending.extend(to_ulaw(frame));
        (self.pending.len() >= TOGETHER).then(|| self.chunk(false))
    }

    fn finalize(&mut self) -> Message {
        self.chunk(true)
    }

    fn read(&mut self, text: &str, events: &mut Vec<RecognizerEvent>) -> Result<()> {
        let message: ServerMessage = message(text)?;
        let words = without_nul(message.text.0);
        let words = words.trim();
        match message.message_type.as_str() {
            "partial_transcript" if words != self.guess => {
                words.clone_into(&mut self.guess);
                events.push(RecognizerEvent::Partial(words.to_owned()));
            }
            "committed_transcript" => {
                self.guess.clear();
                if !words.is_empty() {
                    events.push(RecognizerEvent::Final(words.to_owned()));
                }
                events.push(RecognizerEvent::Finalized);
            }
            // There was not enough audio to transcribe.
            "commit_throttled" | "insufficient_audio_activity" => {
                events.push(RecognizerEvent::Finalized);
            }
            "auth_error" | "unaccepted_terms" => return Err(SpeechError::Refused(401)),
            "quota_exceeded" | "rate_limited" | "resource_exhausted" | "queue_overflow" => {
                return Err(SpeechError::Refused(429));
            }
            "error"
            | "input_error"
            | "chunk_size_exceeded"
            | "transcriber_error"
            | "session_time_limit_exceeded" => {
                return Err(SpeechError::Protocol("it reported an error"));
            }
            // `session_started`, `committed_transcript_with_timestamps`, and unknown types.
            _ => {}
        }
        Ok(())
    }

    fn unanswered(&mut self, events: &mut Vec<RecognizerEvent>) {
        if !self.guess.is_empty() {
            events.push(RecognizerEvent::Final(std::mem::take(&mut self.guess)));
        }
    }
}
