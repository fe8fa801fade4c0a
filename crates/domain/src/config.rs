//! Agent configuration.

mod language;
mod pronunciation;
mod read;
mod sections;
mod template;
mod write;

#[cfg(test)]
mod tests;

use serde::Serialize;
use uuid::Uuid;

use crate::json::{FieldError, Json, JsonError, Result, Rule, item_path, member_path};

pub use language::is_bcp47_shape;
pub use sections::{
    Audio, CallingHours, Conversation, DynamicVariable, KnowledgeBase, KnowledgeMode, Llm,
    ModelRef, Pronunciation, Recording, Routing, Stt, TimeOfDay, Turns, Voice, Voicemail,
};
pub use template::{Rendered, render};

/// The provider that stands for an OpenAI-compatible server at `llm.endpoint`.
pub const CUSTOM_PROVIDER: &str = "custom";

/// What an agent says and how it behaves: every field of the interface's table but `version`, defaults filled in.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentConfig {
    /// Instructions for the model, with `{{variables}}`; empty until written.
    pub system_prompt: String,
    /// What the agent says first, with `{{variables}}`; empty: the other side begins.
    pub first_message: String,
    /// The language of the conversation (BCP 47).
    pub language: String,
    /// The model that answers.
    pub llm: Llm,
    /// Speech to text.
    pub stt: Stt,
    /// Text to speech.
    pub voice: Voice,
    /// What the agent may look up.
    pub knowledge_base: KnowledgeBase,
    /// The variables of the prompt, in the client's order.
    #[serde(serialize_with = "write::variables")]
    pub dynamic_variables: Vec<DynamicVariable>,
    /// How a conversation goes.
    pub conversation: Conversation,
    /// The tools that the agent may use.
    pub tool_ids: Vec<Uuid>,
}

/// A configuration as a client sent it.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigWrite {
    /// The configuration.
    pub config: AgentConfig,
    /// `config.version`: the head that the client meant to change (another head is a 409).
    pub version: Option<i64>,
}

impl ConfigWrite {
    /// Reads a whole configuration that a client sent as the field at `path`; what is absent or null gets its default.
    ///
    /// # Errors
    /// The first fault in the table's order, then the first unknown field.
    pub fn from_json(json: &Json, path: &str, default_language: &str) -> Result<Self> {
        read::config(json, path, default_language)
    }
}

impl AgentConfig {
    /// [`ConfigWrite::from_json`] without the version.
    ///
    /// # Errors
    /// As there.
    pub fn from_json(json: &Json, path: &str, default_language: &str) -> Result<Self> {
        Ok(ConfigWrite::from_json(json, path, default_language)?.config)
    }

    /// Reads the text that [`AgentConfig::to_stored`] gave to storage.
    ///
    /// # Errors
    /// The text is no configuration.
    pub fn from_stored(text: &str) -> Result<Self, JsonError> {
        // A stored text names its language; "und" is BCP 47 for none.
        Ok(Self::from_json(
            &Json::parse(text.as_bytes())?,
            "config",
            "und",
        )?)
    }

    /// The text to store.
    #[must_use]
    pub fn to_stored(&self) -> String {
        // Serialising plain structs of texts and numbers does not fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Every field of the table but `version`, in the table's order, nulls included.
    #[must_use]
    pub fn to_json(&self) -> Json {
        Json::parse(self.to_stored().as_bytes()).unwrap_or(Json::Null)
    }

    /// The head changed by a merge patch (RFC 7396), read as a whole; a null puts a field back to its default.
    ///
    /// # Errors
    /// As [`ConfigWrite::from_json`]. An unknown field is one also when it is null.
    pub fn merge(head: &Self, patch: &Json, path: &str) -> Result<ConfigWrite> {
        if patch.as_object().is_none() {
            return Err(FieldError::new(path, "must be an object"));
        }
        let old = head.to_json();
        // A patch removes what it sets to null, known or not: with the nulls left in, the unknown ones show.
        read::config(
            &old.clone().merge_patch_keeping_nulls(patch),
            path,
            &head.language,
        )?;
        read::config(&old.merge_patch(patch), path, &head.language)
    }

    /// Whether the configuration can hold a call; whether its models exist is the catalog's to say.
    ///
    /// # Errors
    /// The first field, in the table's order, that stands in the way.
    pub fn publishable(&self) -> Result<()> {
        let missing = |path: &str| Err(FieldError::new(path, Rule::ToPublish));
        if self.system_prompt.trim().is_empty() {
            return missing("config.system_prompt");
        }
        let Some(provider) = &self.llm.provider else {
            return missing("config.llm.provider");
        };
        if self.llm.model.is_none() {
            return missing("config.llm.model");
        }
        let is_custom = provider == CUSTOM_PROVIDER;
        let fallback = &self.llm.fallback;
        if let (false, Some(at)) = (
            is_custom,
            fallback.iter().position(|m| m.provider == CUSTOM_PROVIDER),
        ) {
            let path = item_path("config.llm.fallback", at);
            let message = "`custom` needs `llm.provider` to be `custom`, whose endpoint it shares";
            return Err(FieldError::new(member_path(&path, "provider"), message));
        }
        let message = match (is_custom, self.llm.endpoint.is_some()) {
            (true, false) => "is required with the provider `custom`",
            (false, true) => "goes with the provider `custom` alone",
            _ => return Ok(()),
        };
        Err(FieldError::new("config.llm.endpoint", message))
    }

    /// A configuration of defaults.
    #[must_use]
    pub fn new(language: &str) -> Self {
        Self {
            system_prompt: String::new(),
            first_message: String::new(),
            language: language.to_owned(),
            llm: Llm::default(),
            stt: Stt::default(),
            voice: Voice::default(),
            knowledge_base: KnowledgeBase::default(),
            dynamic_variables: Vec::new(),
            conversation: Conversation::default(),
            tool_ids: Vec::new(),
        }
    }
}
