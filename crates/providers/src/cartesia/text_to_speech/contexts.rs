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
use crate::speech::utter::{Speaking, Told, What};
use crate::speech::words::Words;

/// The texts that are being spoken on one connection.
pub(super) struct Contexts {
    voice: Map<String, Value>,
    open: HashMap<u64, (SoundReader, Words)>,
}

#[derive(Deserialize)]
struct Said {
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
    fn what(&mut self, context: u64, said: &Said) -> Result<Option<What>> {
        let Some((reader, words)) = self.open.get_mut(&context) else {
            return Ok(None);
        };
        Ok(Some(match said.kind.as_str() {
            "chunk" => {
                let data = said.data.as_deref().unwrap_or_default();
                let bytes = STANDARD
                    .decode(data)
                    .map_err(|_| SpeechError::Protocol("its sound is not base64"))?;
                What::Piece(SpeechPiece::Audio(reader.read(&bytes)?))
            }
            "timestamps" => {
                let mut told = Vec::new();
                if let Some(times) = &said.word_timestamps {
                    for (word, end) in times.words.iter().zip(&times.end) {
                        let end = Duration::try_from_secs_f64(end.max(0.0)).unwrap_or_default();
                        words.word(word, end, &mut told);
                    }
                }
                What::Piece(SpeechPiece::Words(told))
            }
            "done" => What::Done,
            "error" => return Err(refusal(said.status_code)),
            // `flush_done`, `phoneme_timestamps`, and unknown types.
            _ => What::Alive,
        }))
    }
}

impl Speaking for Contexts {
    fn begin(&mut self, context: u64, spoken: SpokenText) -> Result<Vec<Message>> {
        let mut asked = self.voice.clone();
        asked.insert("context_id".to_owned(), json!(context.to_string()));
        asked.insert("transcript".to_owned(), json!(spoken.text));
        asked.insert("continue".to_owned(), json!(false));
        asked.insert("add_timestamps".to_owned(), json!(true));
        let open = (SoundReader::new(Coding::Ulaw)?, Words::new(spoken.text));
        self.open.insert(context, open);
        Ok(vec![text(&Value::Object(asked))])
    }

    fn cancel(&mut self, context: u64) -> Option<Message> {
        let cancel = json!({"context_id": context.to_string(), "cancel": true});
        Some(text(&cancel))
    }

    fn read(&mut self, text: &str) -> Result<Vec<Told>> {
        let said: Said = message(text)?;
        let context = said.context_id.as_deref().and_then(|id| id.parse().ok());
        let Some(context) = context else {
            // A failure of the whole connection.
            return match said.kind.as_str() {
                "error" => Err(refusal(said.status_code)),
                _ => Ok(Vec::new()),
            };
        };
        let what = self.what(context, &said);
        let what = what.unwrap_or_else(|error| Some(What::Failed(error)));
        Ok(what
            .map(|what| Told { context, what })
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
