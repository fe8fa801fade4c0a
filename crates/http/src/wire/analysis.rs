//! Analyses of conversations, and the agents' schemas for them.

use offhook_services::AnalysisSchemaView;
use offhook_services::store::Analysis;
use serde_json::value::RawValue;

use super::{raw, shown};
use crate::prelude::*;

shown! {
    /// The data to extract from an agent's conversations.
    AnalysisSchemaBody(view: AnalysisSchemaView) {
        schema,
        updated_at,
    }
}

/// The data extracted from a conversation.
#[derive(Serialize)]
pub(crate) struct AnalysisBody<'a> {
    status: AnalysisStatus,
    data: Option<&'a RawValue>,
    error: Option<&'a str>,
    completed_at: Option<Timestamp>,
}

impl<'a> AnalysisBody<'a> {
    pub(crate) fn new(analysis: &'a Analysis) -> Result<Self, ApiError> {
        Ok(Self {
            status: analysis.status,
            data: analysis.data.as_deref().map(raw).transpose()?,
            error: analysis.error.as_deref(),
            completed_at: analysis.completed_at,
        })
    }
}
