//! Batch calls and their recipients.

use diesel::prelude::*;
use offhook_domain::{
    AccountId, AgentId, BatchId, BatchStatus, ConversationId, Credits, E164, FailureReason, KeyId,
    PausedReason, PhoneNumberId, Price, RecipientId, RecipientStatus, Timestamp,
};

use crate::schema;
use crate::{IdempotencyClaim, StoredAnswer};

#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::batch_calls)]
pub struct Batch {
    pub id: BatchId,
    pub account_id: AccountId,
    pub name: String,
    pub agent_id: AgentId,
    /// The number to call from. `None` uses the agent's or the account's.
    pub phone_number_id: Option<PhoneNumberId>,
    /// The key that made it, whose budget its calls use. `None` if a member made it in the portal.
    pub key_id: Option<KeyId>,
    pub status: BatchStatus,
    pub paused_reason: Option<PausedReason>,
    /// When it was scheduled to start.
    pub scheduled_at: Option<Timestamp>,
    /// The number of recipients. The counts below add up to it.
    pub total: i32,
    /// Not called yet.
    pub pending: i32,
    /// Being called.
    pub dialing: i32,
    /// Called successfully.
    pub completed: i32,
    /// Failed.
    pub failed: i32,
    /// No longer to be called.
    pub cancelled: i32,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

/// One recipient of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::batch_recipients)]
pub struct Recipient {
    pub id: RecipientId,
    /// Its position in the batch, from 0.
    pub place: i32,
    pub to_number: E164,
    /// The call's variables, as JSON text.
    pub metadata: String,
    pub status: RecipientStatus,
    /// The number of the latest attempt, from 1.
    pub attempt: i32,
    /// The call of the latest attempt.
    pub conversation_id: Option<ConversationId>,
    /// Why the latest attempt failed.
    pub failure_reason: Option<FailureReason>,
}

#[derive(Debug, Clone)]
pub struct NewRecipient {
    pub id: RecipientId,
    pub to: E164,
    /// The call's variables, as JSON text.
    pub metadata: String,
}

/// Which batches a list shows.
#[derive(Debug, Clone, Copy, Default)]
pub struct BatchFilter {
    pub status: Option<BatchStatus>,
    pub agent: Option<AgentId>,
}

#[derive(Debug, Clone)]
pub struct NewBatch {
    pub batch: Batch,
    pub recipients: Vec<NewRecipient>,
    pub idempotency: Option<IdempotencyClaim>,
}

/// The result of a write under an Idempotency-Key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchWrite {
    /// The batch was written.
    Done(Batch),
    /// The key was used before, with the same value or another: compare the fingerprints.
    KeyUsed(StoredAnswer),
    /// The first request with the key is still running.
    KeyInFlight,
    /// The account has no such batch.
    Absent,
    /// The batch's state forbids it.
    Refused(Batch),
}

/// A customer's action on a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchStep {
    /// Start no new calls.
    Pause,
    /// Continue calling.
    Resume,
    Cancel,
}

/// What the scheduler may do with a batch in one round.
#[derive(Debug, Clone)]
pub struct BatchLook {
    pub at: Timestamp,
    /// `at` by the process's steady clock: the placed calls wait from then on.
    pub steady: Timestamp,
    /// Batches may bring the account up to this many calls.
    pub calls_at_most: i64,
    /// The most calls to place in this round.
    pub most: i64,
    /// Price per minute.
    pub price: Price,
    /// Credits to reserve per call.
    pub reserve: Credits,
    /// The number that every account may call from.
    pub shared_number: Option<E164>,
    /// Whether the legacy provider is simulated. Then it calls from any number, not only from its own.
    pub is_simulated: bool,
    /// When the next round of a running batch is.
    pub next: Timestamp,
    /// When the next round is for a batch that waits for credits, budget or its agent.
    pub later: Timestamp,
}
