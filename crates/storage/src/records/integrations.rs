//! What accounts have connected.

use diesel::prelude::*;
use offhook_domain::{AccountId, IntegrationStatus, Timestamp};

use crate::schema;

/// A toolkit that an account has connected, or tried to.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::integration_connections)]
pub struct Connection {
    /// Whose it is.
    pub account_id: AccountId,
    /// The toolkit's key in the catalog.
    pub toolkit: String,
    /// How it stands; never `available`, which is said of what has no row.
    pub status: IntegrationStatus,
    /// When it last became active; `None` if it never did.
    pub connected_at: Option<Timestamp>,
    /// What is wrong, where something is.
    pub last_error: Option<String>,
    /// When the row last changed.
    pub updated_at: Timestamp,
}
