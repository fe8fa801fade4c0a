//! How long conversations are kept.

use diesel::prelude::*;
use offhook_domain::{AccountId, Timestamp};

use crate::schema;

/// How far back an account could last see, and what is held although it cannot see it any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::retention_windows)]
pub struct RetentionWindow {
    /// The account.
    pub account_id: AccountId,
    /// Days that it could last see; `None`: for ever.
    pub days: Option<i32>,
    /// Days within which nothing is deleted until `held_until`; `None`: for ever.
    pub held_days: Option<i32>,
    /// Until when; `None`: nothing is held.
    pub held_until: Option<Timestamp>,
}
