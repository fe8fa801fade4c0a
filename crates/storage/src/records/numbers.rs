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
    /// Whether the account has shown that it is its own: by its credential at a carrier, or by the operator. Nobody but
    /// the account's legacy agents may use another one.
    pub is_proven: bool,
    /// Whether the provider of the account's legacy agents lists it.
    pub at_legacy: bool,
    /// Whether its calls go by the account's own credential at the carrier.
    pub by_credential: bool,
}

/// Which numbers calls can go out from. A number that a legacy agent has is one of that runtime's provider, and no other
/// carrier's.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lines {
    /// Whose numbers the engine's calls go out from; `None`: anybody's.
    pub carrier: Option<NumberProvider>,
    /// Whether the legacy agents' provider calls from any number, and not only from those that it has.
    pub legacy_any: bool,
}

/// A change of a number; `None` leaves a field as it is.
#[derive(Debug, Clone, Default)]
pub struct NumberChange {
    /// A new label.
    pub label: Option<String>,
    /// A new agent, or none.
    pub agent: Option<Option<AgentId>>,
}
