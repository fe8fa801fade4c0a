//! Phone numbers.

use super::{Account, Agent};
use crate::prelude::*;

/// A number that an account calls from.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = phone_numbers)]
pub struct PhoneNumber {
    pub id: PhoneNumberId,
    pub account_id: AccountId,
    pub phone_number: E164,
    /// The account's own label; may be empty.
    pub label: String,
    /// The carrier of its calls.
    pub provider: NumberProvider,
    /// The agent that calls from it.
    pub agent_id: Option<AgentId>,
    /// When the account got it.
    pub created_at: Timestamp,
    /// When its row last changed.
    pub updated_at: Timestamp,
    /// Whether the account has proved that it owns the number: with its credential at a carrier, or through the
    /// operator. Only the account's legacy agents may use an unproved number.
    pub is_proven: bool,
    /// Whether the provider of the account's legacy agents lists it.
    pub at_legacy: bool,
    /// Whether its calls use the account's own credential at the carrier.
    pub by_credential: bool,
}

/// Which numbers calls can go out from. A legacy agent's number belongs to that runtime's provider and to no other
/// carrier.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Lines {
    /// The carrier whose numbers the engine's calls go out from; `None` allows any.
    pub carrier: Option<NumberProvider>,
    /// Whether the legacy provider calls from any number, not only from its own.
    pub legacy_any: bool,
}

/// A change of a number. `None` leaves a field as it is.
#[derive(Debug, Clone, Default)]
pub struct NumberChange {
    pub label: Option<String>,
    /// A new agent, or none.
    pub agent: Option<Option<AgentId>>,
}

/// The owner of a called number.
#[derive(Debug, Clone, Queryable)]
pub struct CalledNumber {
    /// The account that has the number.
    pub account: Account,
    /// The agent that it is assigned to.
    pub agent: Option<Agent>,
    /// The configuration that serves that agent's calls, as JSON text. `None` if none was ever published.
    pub config: Option<String>,
}
