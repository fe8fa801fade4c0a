//! Tools.

use offhook_domain::{Json, Timestamp, ToolId};
use offhook_services::ToolView;
use serde::Serialize;

/// A tool, with hidden header values.
#[derive(Serialize)]
pub(crate) struct ToolBody<'a> {
    id: ToolId,
    /// `name` to `transfer`, in the documented order.
    #[serde(flatten)]
    definition: &'a Json,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl<'a> From<&'a ToolView> for ToolBody<'a> {
    fn from(view: &'a ToolView) -> Self {
        Self {
            id: view.row.id,
            definition: &view.definition,
            created_at: view.row.created_at,
            updated_at: view.row.updated_at,
        }
    }
}
