//! The body of a PATCH of an agent.

use offhook_domain::AgentStatus;
use offhook_domain::config::is_bcp47_shape;
use offhook_domain::json::{Fault, FieldError, Fields, Json};

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

pub(super) struct AgentPatch<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) language: Option<&'a str>,
    pub(super) status: Option<AgentStatus>,
    pub(super) config: Option<&'a Json>,
    pub(super) expected_version: Option<i64>,
}

impl<'a> AgentPatch<'a> {
    pub(super) fn read(body: &'a Json) -> Result<Self, FieldError> {
        for field in ["name", "language", "status", "config", "expected_version"] {
            if matches!(body.get(field), Some(Json::Null)) {
                return Err(FieldError::new(field, Fault::Null));
            }
        }
        let mut fields = Fields::of(body, "")?;
        let name = match fields.optional_string("name", 1..=120)? {
            Some(text) => Some(name(text, &fields)?),
            None => None,
        };
        let language = match fields.optional_string("language", 1..=35)? {
            Some(text) => Some(language(text, &fields)?),
            None => None,
        };
        let status = fields.optional_choice::<AgentStatus>("status", AgentStatus::choices)?;
        let config = fields.present("config");
        let expected_version =
            fields.optional_integer("expected_version", 0..=i64::from(i32::MAX))?;
        for field in READ_ONLY {
            if fields.take(field).is_some() {
                return Err(fields.fault(field, Fault::ReadOnly));
            }
        }
        fields.finish()?;
        Ok(Self {
            name,
            language,
            status,
            config,
            expected_version,
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

pub(super) fn name<'a>(text: &'a str, fields: &Fields<'_>) -> Result<&'a str, FieldError> {
    if text.trim().is_empty() {
        return Err(fields.fault("name", Fault::Blank));
    }
    Ok(text)
}

pub(super) fn language<'a>(text: &'a str, fields: &Fields<'_>) -> Result<&'a str, FieldError> {
    if is_bcp47_shape(text) {
        return Ok(text);
    }
    Err(fields.fault("language", Fault::Language))
}
