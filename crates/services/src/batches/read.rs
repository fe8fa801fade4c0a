//! The body of a batch request: JSON, or fields with a CSV file.

use super::recipients::{Row, from_csv, from_json};
use crate::prelude::*;

#[derive(Debug, Clone)]
pub enum BatchBody {
    Json(Json),
    /// The fields as an object, and the recipients as a CSV file.
    Csv {
        /// Without `recipients`.
        fields: Json,
        file: Vec<u8>,
    },
}

/// A valid body.
pub(super) struct Request {
    pub(super) name: String,
    pub(super) agent: AgentRef,
    pub(super) phone_number_id: Option<PhoneNumberId>,
    pub(super) scheduled_at: Option<Timestamp>,
    pub(super) rows: Vec<Row>,
}

/// The canonical text of a batch. A recipient's metadata that is absent, null or `{}` counts as the same.
fn same(batch: &Json) -> String {
    let Some(recipients) = batch.get("recipients").and_then(Json::as_array) else {
        return batch.canonical();
    };
    let members = batch.as_object().unwrap_or_default().iter();
    let others = members.filter(|(name, _)| name != "recipients").cloned();
    let mut text = Json::Object(others.collect()).canonical();
    for recipient in recipients {
        text.push('\0');
        text.push_str(&recipient.canonical_without_empty("metadata"));
    }
    text
}

impl BatchBody {
    /// Equal for two bodies that mean the same.
    pub(super) fn fingerprint(&self) -> Vec<u8> {
        match self {
            Self::Json(json) => same(json).into_bytes(),
            Self::Csv { fields, file } => {
                let fields = fields.canonical();
                [fields.as_bytes(), b"\0", file].concat()
            }
        }
    }

    pub(super) fn read(&self, prefixes: &[String]) -> Result<Request, FieldError> {
        let (Self::Json(json) | Self::Csv { fields: json, .. }) = self;
        let mut fields = Fields::of(json, "")?;
        let name = fields.required_string("name", 1..=120)?.to_owned();
        if name.trim().is_empty() {
            return Err(fields.fault("name", Fault::Blank));
        }
        let agent = fields.required_string("agent_id", 1..=255)?;
        let agent = match agent.parse::<AgentId>() {
            Ok(id) => AgentRef::Id(id),
            Err(_) => AgentRef::Provider(agent.to_owned()),
        };
        let phone_number_id = fields
            .optional_string("phone_number_id", 0..=64)?
            .map(|text| {
                text.parse()
                    .map_err(|_| fields.fault("phone_number_id", Fault::Uuid))
            })
            .transpose()?;
        let scheduled_at = fields
            .optional_string("scheduled_at", 0..=64)?
            .map(|text| {
                Timestamp::parse_from(text).map_err(|error| fields.fault("scheduled_at", error))
            })
            .transpose()?;
        let rows = match self {
            Self::Json(_) => from_json(&mut fields, prefixes)?,
            Self::Csv { file, .. } => from_csv(file, prefixes)?,
        };
        fields.finish()?;
        Ok(Request {
            name,
            agent,
            phone_number_id,
            scheduled_at,
            rows,
        })
    }
}
