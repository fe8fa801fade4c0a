//! What clients send to create and to change an agent.

use offhook_domain::body::{Change, Integer, Language, Name, Optional, Own, Required, Word};

use crate::prelude::*;

/// Members of an agent that no write may name.
const READ_ONLY: [&str; 8] = [
    "id",
    "runtime",
    "created_at",
    "updated_at",
    "phone_numbers",
    "provider_agent_id",
    "current_version",
    "published_version",
];

body! {
    /// `POST /v1/agents`.
    #[derive(Debug)]
    pub CreateAgent {
        name: String, Required(Name(120)), "The name, 1 to 120 characters.";
        language: String, Required(Language(35)), "A locale code (BCP 47), such as `es-MX`.";
        config: Option<Json>, Optional(Own(config)), "The configuration of version 1; without it the agent has no version yet.";
    }
}

body! {
    /// `PATCH /v1/agents/{id}`.
    #[derive(Debug)]
    pub UpdateAgent {
        name: Option<String>, Change(Name(120)), "The name, 1 to 120 characters. The only field that can change on a legacy agent.";
        language: Option<String>, Change(Language(35)), "A locale code (BCP 47), such as `es-MX`.";
        status: Option<AgentStatus>, Change(Word::of()), "`active`, `paused` or `archived`. Any agent can be archived; an archived agent can only become `paused`.";
        config: Option<Json>, Change(Own(config)), "Merged into the latest version (RFC 7396; null resets a field to its default). A change saves the next version.";
        expected_version: Option<i64>, Change(Integer(0..=i64::from(i32::MAX))), "The version that the change is based on; 409 if it is not the latest.";
    }
}

/// The configuration as sent: it is read with the language, or merged into the latest.
fn config(fields: &mut Fields<'_>, name: &str) -> Result<Json, FieldError> {
    fields.required(name).cloned()
}

impl UpdateAgent {
    pub(super) fn read_from(body: &Json) -> Result<Self, FieldError> {
        Self::of(body, &()).map_err(|error| match READ_ONLY.contains(&error.path.as_str()) {
            true => FieldError::new(error.path, Fault::ReadOnly),
            false => error,
        })
    }

    /// Whether the body changes more than the status.
    pub(super) const fn is_more_than_status(&self) -> bool {
        self.name.is_some() || self.language.is_some() || self.config.is_some()
    }

    pub(super) const fn is_name_alone(&self) -> bool {
        self.language.is_none() && self.status.is_none() && self.config.is_none()
    }
}
