//! Batch calls and their recipients.

use diesel::prelude::*;
use offhook_domain::{
    AccountId, AgentId, BatchId, BatchStatus, ConversationId, E164, FailureReason, KeyId,
    PausedReason, PhoneNumberId, RecipientId, RecipientStatus, Timestamp,
};

use crate::schema;
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

/// A customer's action on a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchStep {
    /// Start no new calls.
    Pause,
    /// Continue calling.
    Resume,
    Cancel,
}
