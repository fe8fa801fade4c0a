//! Phone numbers.

use diesel::prelude::*;
use offhook_domain::{AccountId, AgentId, E164, NumberProvider, PhoneNumberId, Timestamp};

use crate::schema;

/// A number that an account calls from.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::phone_numbers)]
pub struct PhoneNumber {
    /// Its id.
    pub id: PhoneNumberId,
    /// Whose it is.
    pub account_id: AccountId,
    /// The number.
    pub phone_number: E164,
    /// The account's own words for it; empty without any.
    pub label: String,
    /// Who carries its calls.
    pub provider: NumberProvider,
    /// The agent that calls from it.
    pub agent_id: Option<AgentId>,
    /// When it came to the account.
    pub created_at: Timestamp,
    /// When its row last changed.
    pub updated_at: Timestamp,
}

/// A change of a number; `None` leaves a field as it is.
#[derive(Debug, Clone, Default)]
pub struct NumberChange {
    /// A new label.
    pub label: Option<String>,
    /// A new agent, or none.
    pub agent: Option<Option<AgentId>>,
}
