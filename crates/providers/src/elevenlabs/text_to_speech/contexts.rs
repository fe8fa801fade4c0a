//! The messages of `multi-stream-input`.

use std::collections::HashMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use offhook_engine::ports::audio::SAMPLE_RATE;
use offhook_engine::ports::speech::{SpeechError, SpeechPiece, SpokenText};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::speech::Result;
use crate::speech::socket::{message, text};
use crate::speech::sound::{Coding, SoundReader};
use crate::speech::utter::{ContextUpdate, SynthesizerProtocol, Update};
use crate::speech::words::Words;

/// The texts that are being spoken on one connection.
pub(super) struct Contexts {
    manner: Option<Value>,
    open: HashMap<u64, Open>,
}

struct Open {
    reader: SoundReader,
    words: Words,
    samples: u64,
}

#[derive(Deserialize)]
struct ServerMessage {
    #[serde(rename = "contextId", alias = "context_id")]
    context: Option<String>,
    audio: Option<String>,
    alignment: Option<Alignment>,
    #[serde(rename = "isFinal", alias = "is_final")]
    is_final: Option<bool>,
    error: Option<Value>,
}

/// Times are relative to the audio piece of the same message.
#[derive(Deserialize)]
struct Alignment {
    #[serde(default)]
    chars: Vec<String>,
    #[serde(rename = "charStartTimesMs", default)]
    starts: Vec<f64>,
    #[serde(rename = "charDurationsMs", alias = "charsDurationsMs", default)]
    durations: Vec<f64>,
}

impl Contexts {
    pub(super) fn new(manner: Option<Value>) -> Self {
        Self {
            manner,
            open: HashMap::new(),
        }
    }

    fn sound(open: &mut Open, message: &ServerMessage) -> Result<Vec<SpeechPiece>> {
        let mut pieces = Vec::new();
        let before = open.samples;
        if let Some(audio) = message.audio.as_deref().filter(|audio| !audio.is_empty()) {
            let bytes = STANDARD
                .decode(audio)
                .map_err(|_| SpeechError::Protocol("its sound is not base64"))?;
            let samples = open.reader.read(&bytes)?;
            open.samples += samples.len() as u64;
            pieces.push(SpeechPiece::Audio(samples));
        }
        if let Some(alignment) = &message.alignment {
            let offset = f64::from(u32::try_from(before).unwrap_or(u32::MAX)) * 1_000.0
                / f64::from(SAMPLE_RATE);
            let times = alignment.starts.iter().zip(&alignment.durations);
            let mut word_times = Vec::new();
            for (character, (start, duration)) in alignment.chars.iter().zip(times) {
                let end = (offset + start + duration).max(0.0) / 1_000.0;
                let end = Duration::try_from_secs_f64(end).unwrap_or_default();
                open.words.character(character, end, &mut word_times);
            }
            if !word_times.is_empty() {
                pieces.push(SpeechPiece::Words(word_times));
            }
        }
        Ok(pieces)
    }
}

impl SynthesizerProtocol for Contexts {
    fn begin(&mut self, context: u64, spoken: SpokenText) -> Result<Vec<Message>> {
        let open = Open {
            reader: SoundReader::new(Coding::Ulaw)?,
            words: Words::new(spoken.text.clone()),
            samples: 0,
        };
        self.open.insert(context, open);
        let context = context.to_string();
        let mut first = json!({"text": " ", "context_id": context});
        if let (Some(manner), Some(first)) = (&self.manner, first.as_object_mut()) {
            first.insert("voice_settings".to_owned(), manner.clone());
        }
        // The service requires a space at the end of a text.
        let all = format!("{} ", spoken.text.trim());
        Ok(vec![
            text(&first),
            text(&json!({"text": all, "context_id": context, "flush": true})),
            // The context ends after all its text was spoken.
            text(&json!({"context_id": context, "close_context": true})),
        ])
    }

    /// The context was closed right after its text; the remaining audio is discarded.
    fn cancel(&mut self, _: u64) -> Option<Message> {
        None
    }

    fn read(&mut self, text: &str) -> Result<Vec<ContextUpdate>> {
        let message: ServerMessage = message(text)?;
        let context = message.context.as_deref().and_then(|id| id.parse().ok());
        if let Some(error) = &message.error {
            let error = refusal(error);
            return match context {
                Some(context) => Ok(vec![ContextUpdate {
                    context,
                    update: Update::Failed(error),
                }]),
                None => Err(error),
            };
        }
        let Some((context, open)) = context.and_then(|id| Some((id, self.open.get_mut(&id)?)))
        else {
            return Ok(Vec::new());
        };
        let of_context = |update| ContextUpdate { context, update };
        let mut all: Vec<ContextUpdate> = match Self::sound(open, &message) {
            Ok(pieces) => pieces
                .into_iter()
                .map(Update::Piece)
                .map(of_context)
                .collect(),
            Err(error) => return Ok(vec![of_context(Update::Failed(error))]),
        };
        if message.is_final == Some(true) {
            all.push(of_context(Update::Done));
        }
        Ok(all)
    }

    fn forget(&mut self, context: u64) {
        self.open.remove(&context);
    }
}

/// The HTTP status that matches a reported error, by its name.
fn refusal(error: &Value) -> SpeechError {
    let name = error.as_str().unwrap_or_default();
    let has = |part| name.contains(part);
    if has("api_key") || has("auth") {
        SpeechError::Refused(401)
    } else if has("quota") || has("rate_limit") || has("concurrent") || has("busy") {
        SpeechError::Refused(429)
    } else {
        SpeechError::Protocol("it reported an error")
    }
}
