//! Agent configuration.

mod definition;
mod language;
mod pronunciation;
mod read;
mod sections;
mod template;
mod write;

#[cfg(test)]
mod tests;

use crate::json::{Fault, FieldError, Json, JsonError, Result, item_path, member_path};

pub use language::is_bcp47_shape;
pub use sections::{
    AgentConfig, Audio, CallingHours, Conversation, DynamicVariable, KnowledgeBase, KnowledgeMode,
    Llm, ModelRef, Pronunciation, Recording, Routing, Stt, TimeOfDay, Turns, Voice, Voicemail,
};
pub use template::{Rendered, render};

/// The provider name for an OpenAI-compatible server at `llm.endpoint`.
pub const CUSTOM_PROVIDER: &str = "custom";

/// A configuration sent by a client.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigWrite {
    /// The configuration.
    pub config: AgentConfig,
    /// `config.version`: the version that the client intends to change; the API returns 409 if it is not the latest.
    pub version: Option<i64>,
}

impl ConfigWrite {
    /// Parses a complete configuration from the client's field at `path`; absent or null fields get their defaults.
    /// Returns the first error in the documented field order, then the first unknown field.
    pub fn from_json(json: &Json, path: &str, default_language: &str) -> Result<Self> {
        read::config(json, path, default_language)
    }
}

impl AgentConfig {
    /// Parses like [`ConfigWrite::from_json`], without the version.
    pub fn from_json(json: &Json, path: &str, default_language: &str) -> Result<Self> {
        Ok(ConfigWrite::from_json(json, path, default_language)?.config)
    }

    /// Parses the text from [`AgentConfig::to_stored`]. Fails if the text is no configuration.
    pub fn from_stored(text: &str) -> Result<Self, JsonError> {
        // A stored text contains its language; "und" is BCP 47 for an undetermined one.
        Ok(Self::from_json(
            &Json::parse(text.as_bytes())?,
            "config",
            "und",
        )?)
    }

    /// Returns the text to store.
    #[must_use]
    pub fn to_stored(&self) -> String {
        // Serializing plain structs of texts and numbers cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns every documented field except `version`, in the documented order, including nulls.
    #[must_use]
    pub fn to_json(&self) -> Json {
        Json::parse(self.to_stored().as_bytes()).unwrap_or(Json::Null)
    }

    /// Applies a merge patch (RFC 7396) to the latest configuration and parses the result; a null resets a field to its
    /// default. Returns errors like [`ConfigWrite::from_json`]; an unknown field is an error even if it is null.
    pub fn merge(head: &Self, patch: &Json, path: &str) -> Result<ConfigWrite> {
        if patch.as_object().is_none() {
            return Err(FieldError::new(path, Fault::NotObject));
        }
        let old = head.to_json();
        // A patch removes what it sets to null. With the nulls kept, unknown fields are detected.
        read::config(
            &old.clone().merge_patch_keeping_nulls(patch),
            path,
            &head.language,
        )?;
        read::config(&old.merge_patch(patch), path, &head.language)
    }

    /// Checks that the configuration can run a call; the catalog checks whether its models exist. Returns the first
    /// field, in the documented order, that prevents it.
    pub fn publishable(&self) -> Result<()> {
        let missing = |path: &str| Err(FieldError::new(path, Fault::ToPublish));
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
            return Err(FieldError::new(
                member_path(&path, "provider"),
                Fault::SharesEndpoint,
            ));
        }
        let fault = match (is_custom, self.llm.endpoint.is_some()) {
            (true, false) => Fault::RequiredByCustom,
            (false, true) => Fault::OfCustom,
            _ => return Ok(()),
        };
        Err(FieldError::new("config.llm.endpoint", fault))
    }

    /// Creates a configuration of defaults.
    #[must_use]
    pub fn new(language: &str) -> Self {
        Self {
            language: language.to_owned(),
            ..Self::default()
        }
    }
}
