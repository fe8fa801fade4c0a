//! The sections of a configuration and their defaults.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use uuid::Uuid;

use super::definition::{SampleRate, Settings, Template, section};
use super::read::{self, MAX_DOCUMENTS, MAX_TOOLS, NAME, PROMPT_CHARS, TEXT_CHARS, URL};
use super::{pronunciation, write};
use crate::agent::{UnknownWord, vocabulary};
use crate::body::{Flag, Integer, Language, LongText, Nested, Number, Own, Text, Uuids, Word};
use crate::json::Json;

section! {
    /// An agent's configuration with all defaults filled in: every documented field except `version`.
    AgentConfig {
        system_prompt: String = String::new(), Template(PROMPT_CHARS), "The model's instructions. `{{name}}` inserts a dynamic variable. Required to publish.";
        first_message: String = String::new(), Template(TEXT_CHARS), "What the agent says first; `{{name}}` as in the prompt. Null: the customer speaks first.";
        language: String = String::new(), Language(usize::MAX), "A locale code (BCP 47), such as `es-MX`.";
        llm: Llm = Llm::default(), Nested::<Llm>::of(), "The language model.";
        stt: Stt = Stt::default(), Nested::<Stt>::of(), "Speech-to-text. Simulated calls are in writing and do not use it.";
        voice: Voice = Voice::default(), Nested::<Voice>::of(), "Text-to-speech. Simulated calls are in writing and do not use it.";
        knowledge_base: KnowledgeBase = KnowledgeBase::default(), Nested::<KnowledgeBase>::of(), "The documents that the agent consults. Needs the Engine module.";
        #[serde(serialize_with = "write::variables")]
        dynamic_variables: Vec<DynamicVariable> = Vec::new(), Own(read::dynamic_variables), "Variables by name, each `{\"default\": …}`: what `{{name}}` stands for where a call's metadata has no such name.";
        conversation: Conversation = Conversation::default(), Nested::<Conversation>::of(), "Settings of the conversation.";
        tool_ids: Vec<Uuid> = Vec::new(), Uuids(MAX_TOOLS), "Tools of the account that the agent may use, at most 64.";
    }
}

section! {
    /// `llm`.
    Llm {
        provider: Option<String> = None, Text(NAME), "A provider of GET /v1/models?kind=llm, or `custom` with an `endpoint`.";
        model: Option<String> = None, Text(NAME), "The model's name at that provider.";
        #[serde(serialize_with = "write::number")]
        temperature: f64 = 0.7, Number(0.0..=2.0), "0 (steady) to 2 (inventive).";
        routing: Routing = Routing::Fixed, Word::<Routing>::of(), "`fixed`: this model, then `fallback` in order; `fastest`: the model that has recently responded fastest.";
        fallback: Vec<ModelRef> = Vec::new(), Own(read::fallback), "At most 5 fallback models.";
        endpoint: Option<String> = None, Text(URL), "The base URL of an OpenAI-compatible server, public https; only with the provider `custom`.";
    }
}

/// A model of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelRef {
    /// A provider in the models catalog, or `custom`.
    pub provider: String,
    /// The provider's name of the model.
    pub model: String,
}

section! {
    /// `stt`.
    Stt {
        provider: Option<String> = None, Text(NAME), "A provider of GET /v1/models?kind=stt; null: the only one that is set up.";
        model: Option<String> = None, Text(NAME), "The model's name at that provider; null: its first in GET /v1/models.";
        language: Option<String> = None, Language(usize::MAX), "A language code; null: the agent's.";
        settings: Json = Json::Object(Vec::new()), Settings, "Further settings of the provider, checked on publish, and on save if the provider is set up: for `deepgram` such as `{\"keyterms\": [\"Offhook\"]}`.";
        sample_rate: Option<i64> = None, SampleRate, "The preferred maximum sample rate in Hz: 8000, 16000 or 24000. All channels currently use 8000, so a higher value has no effect yet.";
    }
}

section! {
    /// `voice`.
    Voice {
        provider: Option<String> = None, Text(NAME), "The voice's `provider`, as in GET /v1/voices, or another of GET /v1/models?kind=tts; null: `local`, if nothing else is set up.";
        model: Option<String> = None, Text(NAME), "The provider's model; null: its first in GET /v1/models?kind=tts.";
        voice_id: Option<String> = None, Text(NAME), "The voice's `voice_id`, as in GET /v1/voices.";
        language: Option<String> = None, Language(usize::MAX), "A language code; null: the agent's.";
        #[serde(serialize_with = "write::map")]
        fallback_voices: Vec<(String, String)> = Vec::new(), Own(read::fallback_voices), "Fallback voices: a `voice_id` by provider, used from the sentence in which a voice fails, in the order of GET /v1/models?kind=tts.";
        settings: Json = Json::Object(Vec::new()), Settings, "Further settings of the provider, checked on publish, and on save if the provider is set up: for `provider_a` such as `{\"stability\": 0.5}`.";
        sample_rate: Option<i64> = None, SampleRate, "The preferred maximum sample rate in Hz: 8000, 16000 or 24000. All channels currently use 8000, so a higher value has no effect yet.";
    }
}

section! {
    /// `knowledge_base`.
    KnowledgeBase {
        doc_ids: Vec<Uuid> = Vec::new(), Uuids(MAX_DOCUMENTS), "Documents of the account.";
        folder_ids: Vec<Uuid> = Vec::new(), Uuids(MAX_DOCUMENTS), "Folders of the account. Publishing pins the documents that are in them at that time.";
        mode: KnowledgeMode = KnowledgeMode::Off, Word::<KnowledgeMode>::of(), "`off`; `auto`: searched before each answer; `tool`: searched when the model asks.";
        top_k: i64 = 4, Integer(1..=20), "Passages per answer, 1 to 20 (default 4).";
    }
}

/// An entry of `dynamic_variables`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DynamicVariable {
    /// The name between the braces.
    pub name: String,
    /// A string, number, boolean or null, used if the call's metadata does not have the key.
    pub default: Json,
}

section! {
    /// `conversation`.
    Conversation {
        max_duration_s: i64 = 600, Integer(10..=7_200), "Seconds after which the agent says goodbye, 10 to 7200 (default 600).";
        recording: Recording = Recording::default(), Nested::<Recording>::of(), "Recording of spoken calls, from the answer on.";
        turns: Turns = Turns::default(), Nested::<Turns>::of(), "Turn-taking.";
        audio: Audio = Audio::default(), Nested::<Audio>::of(), "Audio settings of spoken calls.";
        pronunciation: Vec<Pronunciation> = Vec::new(), Own(pronunciation::pronunciation), "Pronunciations of at most 200 words; the transcript shows the written words.";
        calling_hours: Option<CallingHours> = None, Own(read::calling_hours), "When calls may be placed; null: always. Outside these hours POST /v1/calls is a 409 with `Retry-After`.";
    }
}

section! {
    /// `conversation.recording`.
    Recording {
        enabled: bool = false, Flag, "Whether the conversation is recorded.";
        consent_text: Option<String> = None, LongText(TEXT_CHARS), "What is said before the recording begins.";
    }
}

section! {
    /// `conversation.turns`.
    Turns {
        endpointing_ms: i64 = 700, Integer(200..=3_000), "Milliseconds of silence that end the customer's turn, 200 to 3000 (default 700).";
        interruptions: bool = true, Flag, "Whether the customer can interrupt the agent (default true).";
        silence_timeout_s: i64 = 20, Integer(5..=120), "Seconds of silence after which the call ends, 5 to 120 (default 20).";
        voicemail: Voicemail = Voicemail::HangUp, Word::<Voicemail>::of(), "What to do when an answering machine answers (default `hang_up`).";
    }
}

section! {
    /// `conversation.audio`.
    Audio {
        ambient: Option<String> = None, Text(NAME), "Background sound: `office`, `cafe` or `street`; null for none.";
        #[serde(serialize_with = "write::number")]
        speed: f64 = 1.0, Number(0.5..=2.0), "The speed of speech, 0.5 to 2 (default 1); some providers support a smaller range.";
    }
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
