//! Batch calls and their recipients.

use diesel::prelude::*;
use offhook_domain::{
    AccountId, AgentId, BatchId, BatchStatus, ConversationId, Credits, E164, FailureReason, KeyId,
    PausedReason, PhoneNumberId, Price, RecipientId, RecipientStatus, Timestamp,
};

use crate::schema;
use crate::{IdempotencyClaim, StoredAnswer};

/// A batch of calls.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::batch_calls)]
pub struct Batch {
    /// Its id.
    pub id: BatchId,
    /// Whose it is.
    pub account_id: AccountId,
    /// Its name.
    pub name: String,
    /// Who calls.
    pub agent_id: AgentId,
    /// The number to call from; else the agent's or the account's.
    pub phone_number_id: Option<PhoneNumberId>,
    /// The key that made it, whose budget its calls draw on; none if a member made it, in the portal.
    pub key_id: Option<KeyId>,
    /// Where it is in its life.
    pub status: BatchStatus,
    /// Why it is paused.
    pub paused_reason: Option<PausedReason>,
    /// When it was to begin.
    pub scheduled_at: Option<Timestamp>,
    /// Recipients.
    pub total: i32,
    /// Of these, not called yet.
    pub pending: i32,
    /// Of these, being called.
    pub dialing: i32,
    /// Of these, called well.
    pub completed: i32,
    /// Of these, failed.
    pub failed: i32,
    /// Of these, not to be called any more.
    pub cancelled: i32,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

/// Somebody to be called.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::batch_recipients)]
pub struct Recipient {
    /// Its id.
    pub id: RecipientId,
    /// Its place in the batch, from 0.
    pub place: i32,
    /// The number.
    pub to_number: E164,
    /// The call's variables, as JSON text.
    pub metadata: String,
    /// What became of it.
    pub status: RecipientStatus,
    /// How often it has been tried, this time included; 1 at first.
    pub attempt: i32,
    /// The call of the latest try.
    pub conversation_id: Option<ConversationId>,
    /// Why the latest try failed.
    pub failure_reason: Option<FailureReason>,
}

/// A recipient that is about to be stored.
#[derive(Debug, Clone)]
pub struct NewRecipient {
    /// Its id.
    pub id: RecipientId,
    /// The number.
    pub to: E164,
    /// The call's variables, as JSON text.
    pub metadata: String,
}

/// What batches a list shows.
#[derive(Debug, Clone, Copy, Default)]
pub struct BatchFilter {
    /// Only in this status.
    pub status: Option<BatchStatus>,
    /// Only of this agent.
    pub agent: Option<AgentId>,
}

/// A batch that is about to be stored.
#[derive(Debug, Clone)]
pub struct NewBatch {
    /// The batch.
    pub batch: Batch,
    /// Its recipients, in order.
    pub recipients: Vec<NewRecipient>,
    /// The Idempotency-Key, if one was sent.
    pub idempotency: Option<IdempotencyClaim>,
}

/// What became of a write under an Idempotency-Key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchWrite {
    /// It is written.
    Done(Batch),
    /// The key was used before, with the same value or another: compare the fingerprints.
    KeyUsed(StoredAnswer),
    /// The key's first request is still being written.
    KeyInFlight,
    /// The account has no such batch.
    Absent,
    /// The batch's state forbids it.
    Refused(Batch),
}

/// What a customer asks of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchStep {
    /// Call nobody new.
    Pause,
    /// Go on.
    Resume,
    /// End it.
    Cancel,
}

/// What the scheduler may do with a batch at a look.
#[derive(Debug, Clone)]
pub struct BatchLook {
    /// The present.
    pub at: Timestamp,
    /// The same by the process's steady clock: when the calls that are placed begin to wait.
    pub steady: Timestamp,
    /// Calls of the account that batches may bring it up to.
    pub calls_at_most: i64,
    /// Calls placed at once.
    pub most: i64,
    /// Price per minute.
    pub price: Price,
    /// Credits that a call holds.
    pub reserve: Credits,
    /// The number that every account may call from.
    pub shared_number: Option<E164>,
    /// Whether the legacy agents' provider is simulated: it calls from any number, and not only from those that it has.
    pub is_simulated: bool,
    /// When a running batch is looked at again.
    pub next: Timestamp,
    /// When one that waits for credits, budget or its agent is.
    pub later: Timestamp,
}
