//! The sections of a configuration and their defaults.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use uuid::Uuid;

use super::definition::{
    Flag, Integer, Language, Line, Nested, Number, Own, OwnLanguage, SampleRate, Settings,
    Template, Text, Uuids, Word, section,
};
use super::read::{self, MAX_DOCUMENTS, MAX_TOOLS, NAME, PROMPT_CHARS, TEXT_CHARS, URL};
use super::{pronunciation, write};
use crate::agent::{UnknownWord, vocabulary};
use crate::json::Json;

section! {
    /// An agent's configuration with all defaults filled in: every documented field except `version`.
    AgentConfig {
        system_prompt: String = String::new(), Template: PROMPT_CHARS, "What the agent is told before every conversation. `{{name}}` stands for a dynamic variable. Needed to publish.";
        first_message: String = String::new(), Template: TEXT_CHARS, "What the agent says first; `{{name}}` as in the prompt. Null: the customer speaks first.";
        language: String = String::new(), OwnLanguage: (), "A locale code (BCP 47), such as `es-MX`.";
        llm: Llm = Llm::default(), Nested: (), "The language model.";
        stt: Stt = Stt::default(), Nested: (), "How the agent hears. The people of the simulated network write, so that there it waits for calls that are heard.";
        voice: Voice = Voice::default(), Nested: (), "How the agent speaks. The people of the simulated network read, so that there it waits for calls that are heard.";
        knowledge_base: KnowledgeBase = KnowledgeBase::default(), Nested: (), "The documents that the agent consults. Needs the Engine module.";
        #[serde(serialize_with = "write::variables")]
        dynamic_variables: Vec<DynamicVariable> = Vec::new(), Own: read::dynamic_variables, "Variables by name, each `{\"default\": …}`: what `{{name}}` stands for where a call's metadata has no such name.";
        conversation: Conversation = Conversation::default(), Nested: (), "How a conversation is held.";
        tool_ids: Vec<Uuid> = Vec::new(), Uuids: MAX_TOOLS, "Tools of the account that the agent may use, at most 64.";
    }
}

section! {
    /// `llm`.
    Llm {
        provider: Option<String> = None, Line: NAME, "A provider of GET /v1/models?kind=llm, or `custom` with an `endpoint`.";
        model: Option<String> = None, Line: NAME, "The model's name at that provider.";
        #[serde(serialize_with = "write::number")]
        temperature: f64 = 0.7, Number: 0.0..=2.0, "0 (steady) to 2 (inventive).";
        routing: Routing = Routing::Fixed, Word: (), "`fixed`: this model, then `fallback` in order; `fastest`: whichever has answered soonest of late.";
        fallback: Vec<ModelRef> = Vec::new(), Own: read::fallback, "At most 5 models to turn to.";
        endpoint: Option<String> = None, Line: URL, "The base URL of an OpenAI-compatible server, public https; only with the provider `custom`.";
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
        provider: Option<String> = None, Line: NAME, "A provider of GET /v1/models?kind=stt; null: the only one that the service has set up.";
        model: Option<String> = None, Line: NAME, "The model's name at that provider; null: its first in GET /v1/models.";
        language: Option<String> = None, Language: (), "A language code; null: the agent's.";
        settings: Json = Json::Object(Vec::new()), Settings: (), "What the provider takes besides, checked when it is saved where the provider is set up, and when it is published: for `deepgram` such as `{\"keyterms\": [\"Offhook\"]}`.";
        sample_rate: Option<i64> = None, SampleRate: (), "The highest rate of sound that is wanted, in Hz: 8000, 16000 or 24000. Every channel carries 8000 today, so more has no effect yet.";
    }
}

section! {
    /// `voice`.
    Voice {
        provider: Option<String> = None, Line: NAME, "The voice's `provider`, as GET /v1/voices lists it, or another of GET /v1/models?kind=tts; null: `local`, where nothing else is set up to speak.";
        model: Option<String> = None, Line: NAME, "The provider's model to speak with; null: its first in GET /v1/models?kind=tts.";
        voice_id: Option<String> = None, Line: NAME, "The voice's `voice_id`, as GET /v1/voices lists it.";
        language: Option<String> = None, Language: (), "A language code; null: the agent's.";
        #[serde(serialize_with = "write::map")]
        fallback_voices: Vec<(String, String)> = Vec::new(), Own: read::fallback_voices, "A `voice_id` by provider, to turn to within the sentence in which the voice fails, in the order of GET /v1/models?kind=tts.";
        settings: Json = Json::Object(Vec::new()), Settings: (), "What the provider takes besides, checked when it is saved where the provider is set up, and when it is published: for `provider_a` such as `{\"stability\": 0.5}`.";
        sample_rate: Option<i64> = None, SampleRate: (), "The highest rate of sound that is wanted, in Hz: 8000, 16000 or 24000. Every channel carries 8000 today, so more has no effect yet.";
    }
}

section! {
    /// `knowledge_base`.
    KnowledgeBase {
        doc_ids: Vec<Uuid> = Vec::new(), Uuids: MAX_DOCUMENTS, "Documents of the account.";
        folder_ids: Vec<Uuid> = Vec::new(), Uuids: MAX_DOCUMENTS, "Folders of the account: publishing takes the documents that are in them then.";
        mode: KnowledgeMode = KnowledgeMode::Off, Word: (), "`off`; `auto`: looked up before each answer; `tool`: when the model asks.";
        top_k: i64 = 4, Integer: 1..=20, "Passages for an answer, 1 to 20 (4).";
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
        max_duration_s: i64 = 600, Integer: 10..=7_200, "Seconds after which the agent says goodbye, 10 to 7200 (600).";
        recording: Recording = Recording::default(), Nested: (), "Recording of spoken calls, from the answer on.";
        turns: Turns = Turns::default(), Nested: (), "Who speaks when.";
        audio: Audio = Audio::default(), Nested: (), "How a call sounds.";
        pronunciation: Vec<Pronunciation> = Vec::new(), Own: pronunciation::pronunciation, "Words to say otherwise, at most 200; the transcript shows them as they are written.";
        calling_hours: Option<CallingHours> = None, Own: read::calling_hours, "When calls may be placed; null: always. Outside of it POST /v1/calls is a 409 with `Retry-After`.";
    }
}

section! {
    /// `conversation.recording`.
    Recording {
        enabled: bool = false, Flag: (), "Whether the conversation is recorded.";
        consent_text: Option<String> = None, Text: 0..=TEXT_CHARS, "What is said before a recording begins.";
    }
}

section! {
    /// `conversation.turns`.
    Turns {
        endpointing_ms: i64 = 700, Integer: 200..=3_000, "Milliseconds of silence after which the customer is taken to have finished, 200 to 3000 (700).";
        interruptions: bool = true, Flag: (), "Whether the agent stops when the customer speaks (true).";
        silence_timeout_s: i64 = 20, Integer: 5..=120, "Seconds of silence after which the call ends, 5 to 120 (20).";
        voicemail: Voicemail = Voicemail::HangUp, Word: (), "What to do when a machine answers (`hang_up`).";
    }
}

section! {
    /// `conversation.audio`.
    Audio {
        ambient: Option<String> = None, Line: NAME, "What sounds beneath the agent's words: `office`, `cafe` or `street`; null for nothing.";
        #[serde(serialize_with = "write::number")]
        speed: f64 = 1.0, Number: 0.5..=2.0, "The speed of speech, 0.5 to 2 (1); not every voice's provider has all of it.";
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
