//! How long conversations are kept.

use crate::prelude::*;

/// How far back an account could last see, and data kept although the account can no longer see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = retention_windows)]
pub struct RetentionWindow {
    pub account_id: AccountId,
    /// Days that it could last see; `None` means forever.
    pub days: Option<i32>,
    /// Days within which nothing is deleted until `held_until`; `None` means forever.
    pub held_days: Option<i32>,
    /// When the hold ends; `None` means that nothing is held.
    pub held_until: Option<Timestamp>,
}
