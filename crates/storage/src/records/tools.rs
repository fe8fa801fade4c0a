//! Tools, and those that published versions have pinned.

use diesel::prelude::*;
use offhook_domain::{AccountId, Timestamp, ToolId};

use crate::schema;

/// A tool of an account, without the values of its headers.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = schema::tools)]
pub struct ToolRow {
    /// Its id.
    pub id: ToolId,
    /// Whose it is.
    pub account_id: AccountId,
    /// Its name, unique in the account.
    pub name: String,
    /// Everything but the values of its headers, as JSON text.
    pub definition: String,
    /// How often it was changed.
    pub revision: i32,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// A change of a tool, guarded by the revision that it was made on.
pub struct ToolChange {
    /// The revision.
    pub revision: i32,
    /// The name.
    pub name: String,
    /// Everything but the values of its headers, as JSON text.
    pub definition: String,
    /// The values of its headers, in any form; `None` without headers. Sealed before they are written.
    pub headers: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// A tool as a version pinned it.
pub struct PinnedTool {
    /// The tool that it was; it may be gone.
    pub id: ToolId,
    /// Everything but the values of its headers, as JSON text.
    pub definition: String,
    /// The values of its headers, in the form in which they were given.
    pub headers: Option<String>,
}
