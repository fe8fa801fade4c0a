//! The sections of a configuration and their defaults.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use uuid::Uuid;

use super::write;
use crate::agent::{UnknownWord, vocabulary};
use crate::json::Json;

/// `llm`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Llm {
    /// A provider in the models catalog, or `custom`.
    pub provider: Option<String>,
    /// The provider's name of the model.
    pub model: Option<String>,
    /// The sampling temperature, 0 to 2.
    #[serde(serialize_with = "write::number")]
    pub temperature: f64,
    /// How to choose among `provider`/`model` and `fallback`.
    pub routing: Routing,
    /// Models to use if the first one fails.
    pub fallback: Vec<ModelRef>,
    /// The base URL of the `custom` provider.
    pub endpoint: Option<String>,
}

/// A model of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelRef {
    /// A provider in the models catalog, or `custom`.
    pub provider: String,
    /// The provider's name of the model.
    pub model: String,
}

/// `stt`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stt {
    /// A provider in the models catalog; null: the deployment's only one.
    pub provider: Option<String>,
    /// The provider's model; null: its first in the catalog.
    pub model: Option<String>,
    /// The recognized language; null: the agent's.
    pub language: Option<String>,
    /// Provider-specific settings, which the provider's adapter validates.
    pub settings: Json,
    /// The sample rate of the call: 8000, 16000 or 24000 Hz; null: the call's own rate.
    pub sample_rate: Option<i64>,
}

/// `voice`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Voice {
    /// The voice's provider; null: the deployment's only one.
    pub provider: Option<String>,
    /// The provider's model; null: its first in the catalog.
    pub model: Option<String>,
    /// The provider's id of the voice.
    pub voice_id: Option<String>,
    /// The spoken language; null: the agent's.
    pub language: Option<String>,
    /// Provider and voice id of the voices to use if the first one fails.
    #[serde(serialize_with = "write::map")]
    pub fallback_voices: Vec<(String, String)>,
    /// Provider-specific settings, which the provider's adapter validates.
    pub settings: Json,
    /// The sample rate of the call: 8000, 16000 or 24000 Hz; null: the call's own rate.
    pub sample_rate: Option<i64>,
}

/// `knowledge_base`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KnowledgeBase {
    /// The documents.
    pub doc_ids: Vec<Uuid>,
    /// The folders whose documents are included.
    pub folder_ids: Vec<Uuid>,
    /// When the agent searches.
    pub mode: KnowledgeMode,
    /// Passages per search, 1 to 20.
    pub top_k: i64,
}

/// An entry of `dynamic_variables`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DynamicVariable {
    /// The name between the braces.
    pub name: String,
    /// A string, number, boolean or null, used if the call's metadata does not have the key.
    pub default: Json,
}

/// `conversation`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Conversation {
    /// The longest call, 10 to 7200 seconds.
    pub max_duration_s: i64,
    /// The recording of calls.
    pub recording: Recording,
    /// Turn-taking.
    pub turns: Turns,
    /// Audio settings.
    pub audio: Audio,
    /// Pronunciation rules.
    pub pronunciation: Vec<Pronunciation>,
    /// When calls may be placed; `None`: at any time.
    pub calling_hours: Option<CallingHours>,
}

/// `conversation.recording`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Recording {
    /// Whether calls are recorded.
    pub enabled: bool,
    /// What the agent says about it at the beginning.
    pub consent_text: Option<String>,
}

/// `conversation.turns`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Turns {
    /// Milliseconds of silence that end a turn, 200 to 3000.
    pub endpointing_ms: i64,
    /// Whether the other side may interrupt the agent.
    pub interruptions: bool,
    /// Seconds of silence that end the call, 5 to 120.
    pub silence_timeout_s: i64,
    /// What to do when an answering machine picks up.
    pub voicemail: Voicemail,
}

/// `conversation.audio`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Audio {
    /// The name of a background sound.
    pub ambient: Option<String>,
    /// The speaking rate, 0.5 to 2.
    #[serde(serialize_with = "write::number")]
    pub speed: f64,
}

/// An entry of `conversation.pronunciation`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pronunciation {
    /// The written term.
    pub term: String,
    /// Its pronunciation as text.
    pub say: String,
    /// Whether matching is case-sensitive.
    pub match_case: bool,
}

/// `conversation.calling_hours`. If `end` is before `start`, the hours cross midnight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallingHours {
    /// The IANA name; its existence is checked elsewhere, with a time zone database.
    pub timezone: String,
    /// 1 = Monday … 7, each at most once, in the client's order.
    pub days: Vec<u8>,
    /// The first minute of the calling hours.
    pub start: TimeOfDay,
    /// The minute when the calling hours end.
    pub end: TimeOfDay,
}

/// A time of day, formatted as `HH:MM`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeOfDay(pub(super) u16);

impl TimeOfDay {
    /// Returns the minutes since midnight, 0 to 1439.
    #[must_use]
    pub const fn minutes(self) -> u16 {
        self.0
    }
}

impl FromStr for TimeOfDay {
    type Err = UnknownWord;

    /// Parses exactly `HH:MM`, 00:00 to 23:59.
    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let digit = |byte: u8| u16::from(byte - b'0');
        match *text.as_bytes() {
            [
                h1 @ b'0'..=b'2',
                h2 @ b'0'..=b'9',
                b':',
                m1 @ b'0'..=b'5',
                m2 @ b'0'..=b'9',
            ] if h1 < b'2' || h2 < b'4' => Ok(Self(
                (digit(h1) * 10 + digit(h2)) * 60 + digit(m1) * 10 + digit(m2),
            )),
            _ => Err(UnknownWord),
        }
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}

impl Serialize for TimeOfDay {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

vocabulary! {
    /// `llm.routing`.
    Routing {
        /// The first model, then `fallback` in order.
        Fixed => "fixed",
        /// The model with the lowest recent time to first token.
        Fastest => "fastest",
    }
}

vocabulary! {
    /// `knowledge_base.mode`.
    KnowledgeMode {
        /// Never.
        Off => "off",
        /// Before each answer.
        Auto => "auto",
        /// When the model requests it.
        Tool => "tool",
    }
}

vocabulary! {
    /// `conversation.turns.voicemail`.
    Voicemail {
        /// End the call.
        HangUp => "hang_up",
        /// Say the first message, then end the call.
        LeaveMessage => "leave_message",
        /// Continue as if a person had answered.
        Ignore => "ignore",
    }
}

impl Default for Llm {
    fn default() -> Self {
        Self {
            provider: None,
            model: None,
            temperature: 0.7,
            routing: Routing::Fixed,
            fallback: Vec::new(),
            endpoint: None,
        }
    }
}

impl Default for Stt {
    fn default() -> Self {
        Self {
            provider: None,
            model: None,
            language: None,
            settings: Json::Object(Vec::new()),
            sample_rate: None,
        }
    }
}

impl Default for Voice {
    fn default() -> Self {
        Self {
            provider: None,
            model: None,
            voice_id: None,
            language: None,
            fallback_voices: Vec::new(),
            settings: Json::Object(Vec::new()),
            sample_rate: None,
        }
    }
}

impl Default for KnowledgeBase {
    fn default() -> Self {
        Self {
            doc_ids: Vec::new(),
            folder_ids: Vec::new(),
            mode: KnowledgeMode::Off,
            top_k: 4,
        }
    }
}

impl Default for Conversation {
    fn default() -> Self {
        Self {
            max_duration_s: 600,
            recording: Recording::default(),
            turns: Turns::default(),
            audio: Audio::default(),
            pronunciation: Vec::new(),
            calling_hours: None,
        }
    }
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            endpointing_ms: 700,
            interruptions: true,
            silence_timeout_s: 20,
            voicemail: Voicemail::HangUp,
        }
    }
}

impl Default for Audio {
    fn default() -> Self {
        Self {
            ambient: None,
            speed: 1.0,
        }
    }
}
