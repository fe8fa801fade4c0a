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

use crate::body::{Body as _, Member, Shape};
use crate::json::{Fault, FieldError, Json, JsonError, Result, item_path, member_path};

pub use language::is_bcp47_shape;
pub(crate) use read::{days, time_of_day};
pub use sections::{
    AgentConfig, Audio, CallingHours, Conversation, DynamicVariable, KnowledgeBase, KnowledgeMode,
    Llm, ModelRef, Pronunciation, Recording, Routing, Stt, TimeOfDay, Turns, Voice, Voicemail,
};
pub use template::{BUILT_IN, Rendered, Variables, render, variables_in};

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
        self.publish_faults().into_iter().next().map_or(Ok(()), Err)
    }

    /// Returns every field that prevents a call, in the documented order.
    #[must_use]
    pub fn publish_faults(&self) -> Vec<FieldError> {
        let mut faults = Vec::new();
        let mut missing = |is_missing: bool, path: &str| {
            if is_missing {
                faults.push(FieldError::new(path, Fault::ToPublish));
            }
        };
        missing(self.system_prompt.trim().is_empty(), "config.system_prompt");
        missing(self.llm.provider.is_none(), "config.llm.provider");
        missing(self.llm.model.is_none(), "config.llm.model");
        let Some(provider) = &self.llm.provider else {
            return faults;
        };
        let is_custom = provider == CUSTOM_PROVIDER;
        let fallback = &self.llm.fallback;
        if let (false, Some(at)) = (
            is_custom,
            fallback.iter().position(|m| m.provider == CUSTOM_PROVIDER),
        ) {
            let path = item_path("config.llm.fallback", at);
            let path = member_path(&path, "provider");
            faults.push(FieldError::new(path, Fault::SharesEndpoint));
        }
        let fault = match (is_custom, self.llm.endpoint.is_some()) {
            (true, false) => Fault::RequiredByCustom,
            (false, true) => Fault::OfCustom,
            _ => return faults,
        };
        faults.push(FieldError::new("config.llm.endpoint", fault));
        faults
    }

    /// Parses like [`AgentConfig::from_json`] and returns every error, with the default in place of each member that has
    /// one. Of the errors within a list it returns the first.
    #[must_use]
    pub fn with_faults(json: &Json, path: &str, default_language: &str) -> (Self, Vec<FieldError>) {
        let (mut json, mut faults) = (json.clone(), Vec::new());
        loop {
            let error = match Self::from_json(&json, path, default_language) {
                Ok(config) => return (config, faults),
                Err(error) => error,
            };
            let within = error.path.strip_prefix(path);
            let within = within.map(|rest| rest.trim_start_matches('.').to_owned());
            faults.push(error);
            let is_removed = within.is_some_and(|at| remove(&mut json, &at, &Self::members()));
            if !is_removed {
                return (Self::new(default_language), faults);
            }
        }
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

/// Removes the member of a section at a path, with everything in it. Returns whether there was one.
fn remove(json: &mut Json, path: &str, known: &[Member]) -> bool {
    let Json::Object(members) = json else {
        return false;
    };
    // A member that no section has may have any name.
    let is_at = |name: &str| {
        let rest = path.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let Some(place) = members.iter().position(|(name, _)| is_at(name)) else {
        return false;
    };
    let (name, value) = &mut members[place];
    let section = known.iter().find(|member| member.name == *name);
    if let Some(Member {
        shape: Shape::Section(inner),
        ..
    }) = section
        && let Some(rest) = path[name.len()..].strip_prefix('.')
        && remove(value, rest, inner)
    {
        return true;
    }
    members.remove(place);
    true
}
