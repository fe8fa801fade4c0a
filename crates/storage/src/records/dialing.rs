//! Suppressed numbers, and what a dial is judged by.

use crate::prelude::*;

/// A number that an account does not call.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = suppressions)]
pub struct Suppression {
    pub id: SuppressionId,
    pub account_id: AccountId,
    pub number: E164,
    pub reason: String,
    pub source: SuppressionSource,
    /// From then on it may be called again.
    pub until: Option<Timestamp>,
    /// The conversation in which the customer said so.
    pub conversation_id: Option<ConversationId>,
    pub created_at: Timestamp,
}

/// Which suppressed numbers a list shows.
#[derive(Debug, Clone, Default)]
pub struct SuppressionFilter {
    pub number: Option<E164>,
    pub source: Option<SuppressionSource>,
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
}

/// What is known about numbers that an account is about to call.
#[derive(Debug, Clone, Default)]
pub struct DialFacts {
    /// Those that are suppressed, and until when.
    pub suppressed: HashMap<E164, Option<Timestamp>>,
    /// When each was called in the last seven days, oldest first. Known only of accounts with rules, as is the rest.
    pub attempts: HashMap<E164, Vec<Timestamp>>,
    /// Credits that ended calls of this UTC day have cost.
    pub spent: Credits,
    /// Credits that are reserved for calls that are dialing, live or closing.
    pub reserved: Credits,
}

/// A queued call that is about to be claimed.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub id: ConversationId,
    pub to: E164,
    pub has_consent: bool,
    /// When it may be dialed ([`CallWindow::to_stored`]).
    pub window: Option<String>,
    /// Credits that are reserved for it.
    pub reserved: Credits,
}

/// Judges queued calls when they are claimed: returns for each, in this order, the rule that refuses it. Those that pass
/// count as attempts for those after them. What a customer's rules mean is not known here.
pub type DialJudge =
    fn(&Dialing, DialFacts, &[Candidate], Timestamp) -> Result<Vec<Option<DialRule>>>;

/// What a look at the queue of an account did.
#[derive(Debug, Default)]
pub struct Claimed {
    pub calls: Vec<Conversation>,
    /// Calls that stay queued because a rule refuses them.
    pub refused: Vec<(ConversationId, DialRule)>,
}

/// What an opt-out changed.
#[derive(Debug, Clone, Default)]
pub struct Suppressed {
    /// Calls to the number that were being dialed, and are to be hung up.
    pub dialing: Vec<ConversationId>,
    /// Endpoints with deliveries of the event.
    pub endpoints: Vec<EndpointId>,
}
