//! The messages of `tts/websocket`.

use std::collections::HashMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use offhook_engine::ports::speech::{SpeechError, SpeechPiece, SpokenText};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::speech::Result;
use crate::speech::socket::{message, text};
use crate::speech::sound::{Coding, SoundReader};
use crate::speech::utter::{ContextUpdate, SynthesizerProtocol, Update};
use crate::speech::words::Words;

/// The texts that are being spoken on one connection.
pub(super) struct Contexts {
    voice: Map<String, Value>,
    open: HashMap<u64, (SoundReader, Words)>,
}

#[derive(Deserialize)]
struct ServerMessage {
    #[serde(rename = "type", default)]
    kind: String,
    context_id: Option<String>,
    data: Option<String>,
    word_timestamps: Option<WordTimestamps>,
    status_code: Option<u16>,
}

/// In seconds from the context's first sample.
#[derive(Deserialize)]
struct WordTimestamps {
    #[serde(default)]
    words: Vec<String>,
    #[serde(default)]
    end: Vec<f64>,
}

impl Contexts {
    pub(super) fn new(voice: Map<String, Value>) -> Self {
        Self {
            voice,
            open: HashMap::new(),
        }
    }

    /// Interprets a message about an open context.
    fn update(&mut self, context: u64, message: &ServerMessage) -> Result<Option<Update>> {
        let Some((reader, words)) = self.open.get_mut(&context) else {
            return Ok(None);
        };
        Ok(Some(match message.kind.as_str() {
            "chunk" => {
                let data = message.data.as_deref().unwrap_or_default();
                let bytes = STANDARD
                    .decode(data)
                    .map_err(|_| SpeechError::Protocol("its sound is not base64"))?;
                Update::Piece(SpeechPiece::Audio(reader.read(&bytes)?))
            }
            "timestamps" => {
                let mut word_times = Vec::new();
                if let Some(times) = &message.word_timestamps {
                    for (word, end) in times.words.iter().zip(&times.end) {
                        let end = Duration::try_from_secs_f64(end.max(0.0)).unwrap_or_default();
                        words.word(word, end, &mut word_times);
                    }
                }
                Update::Piece(SpeechPiece::Words(word_times))
            }
            "done" => Update::Done,
            "error" => return Err(refusal(message.status_code)),
            // `flush_done`, `phoneme_timestamps`, and unknown types.
            _ => Update::Alive,
        }))
    }
}

impl SynthesizerProtocol for Contexts {
    fn begin(&mut self, context: u64, spoken: SpokenText) -> Result<Vec<Message>> {
        let mut request = self.voice.clone();
        request.insert("context_id".to_owned(), json!(context.to_string()));
        request.insert("transcript".to_owned(), json!(spoken.text));
        request.insert("continue".to_owned(), json!(false));
        request.insert("add_timestamps".to_owned(), json!(true));
        let open = (SoundReader::new(Coding::Ulaw)?, Words::new(spoken.text));
        self.open.insert(context, open);
        Ok(vec![text(&Value::Object(request))])
    }

    fn cancel(&mut self, context: u64) -> Option<Message> {
        let cancel = json!({"context_id": context.to_string(), "cancel": true});
        Some(text(&cancel))
    }

    fn read(&mut self, text: &str) -> Result<Vec<ContextUpdate>> {
        let message: ServerMessage = message(text)?;
        let context = message.context_id.as_deref().and_then(|id| id.parse().ok());
        let Some(context) = context else {
            // A failure of the whole connection.
            return match message.kind.as_str() {
                "error" => Err(refusal(message.status_code)),
                _ => Ok(Vec::new()),
            };
        };
        let update = self.update(context, &message);
        let update = update.unwrap_or_else(|error| Some(Update::Failed(error)));
        Ok(update
            .map(|update| ContextUpdate { context, update })
            .into_iter()
            .collect())
    }

    fn forget(&mut self, context: u64) {
        self.open.remove(&context);
    }
}

fn refusal(status: Option<u16>) -> SpeechError {
    status.map_or(
        SpeechError::Protocol("it reported an error"),
        SpeechError::Refused,
    )
}
