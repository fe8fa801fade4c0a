//! Tools, and those that published versions have pinned.

use crate::prelude::*;

/// A tool of an account, without the values of its headers.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = tools)]
pub struct ToolRow {
    pub id: ToolId,
    pub account_id: AccountId,
    /// Its name, unique in the account.
    pub name: String,
    /// Everything except the values of its headers, as JSON text.
    pub definition: String,
    /// How often it was changed.
    pub revision: i32,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A change of a tool, guarded by the revision that it is based on.
pub struct ToolChange {
    pub revision: i32,
    pub name: String,
    /// Everything except the values of its headers, as JSON text.
    pub definition: String,
    /// The values of its headers, in any form; `None` without headers. Sealed before they are written.
    pub headers: Option<String>,
    pub at: Timestamp,
}

/// A tool that a version is to pin.
#[derive(Debug, Clone)]
pub struct ToolToPin {
    pub id: ToolId,
    /// The tool's revision that the definition is of.
    pub revision: i32,
    /// Everything except the values of its headers, as JSON text.
    pub definition: String,
}

impl ToolToPin {
    /// The tool once it is pinned, with the values of its headers.
    #[must_use]
    pub fn pinned(self, headers: Option<String>) -> PinnedTool {
        PinnedTool {
            id: self.id,
            definition: self.definition,
            headers,
        }
    }
}

/// A tool as a version pinned it.
#[derive(Clone)]
pub struct PinnedTool {
    /// The original tool, which may have been deleted.
    pub id: ToolId,
    /// Everything except the values of its headers, as JSON text.
    pub definition: String,
    /// The values of its headers, in the form in which they were given.
    pub headers: Option<String>,
}
