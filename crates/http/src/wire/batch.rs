//! Batch calls.

use offhook_domain::{
    AgentId, BatchId, BatchStatus, CallHandle, E164, FailureReason, PausedReason, PhoneNumberId,
    RecipientId, RecipientStatus, Timestamp,
};
use offhook_services::store::{Batch, Recipient};
use serde::Serialize;
use serde_json::value::RawValue;

use super::raw;
use crate::ApiError;

#[derive(Serialize)]
pub(crate) struct BatchView<'a> {
    id: BatchId,
    name: &'a str,
    agent_id: AgentId,
    phone_number_id: Option<PhoneNumberId>,
    status: BatchStatus,
    paused_reason: Option<PausedReason>,
    scheduled_at: Option<Timestamp>,
    counts: Counts,
    created_at: Timestamp,
    started_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
}

#[derive(Serialize)]
struct Counts {
    total: i32,
    pending: i32,
    dialing: i32,
    completed: i32,
    failed: i32,
    cancelled: i32,
}

impl<'a> From<&'a Batch> for BatchView<'a> {
    fn from(batch: &'a Batch) -> Self {
        Self {
            id: batch.id,
            name: &batch.name,
            agent_id: batch.agent_id,
            phone_number_id: batch.phone_number_id,
            status: batch.status,
            paused_reason: batch.paused_reason,
            scheduled_at: batch.scheduled_at,
            counts: Counts {
                total: batch.total,
                pending: batch.pending,
                dialing: batch.dialing,
                completed: batch.completed,
                failed: batch.failed,
                cancelled: batch.cancelled,
            },
            created_at: batch.created_at,
            started_at: batch.started_at,
            ended_at: batch.ended_at,
        }
    }
}

/// A batch as an Idempotency-Key replays it.
pub(crate) fn printed(batch: &Batch) -> Vec<u8> {
    // Serialising a plain struct of strings and numbers does not fail.
    serde_json::to_vec(&BatchView::from(batch)).unwrap_or_default()
}

#[derive(Serialize)]
pub(crate) struct RecipientView<'a> {
    id: RecipientId,
    to: &'a E164,
    status: RecipientStatus,
    call_id: Option<CallHandle>,
    failure_reason: Option<FailureReason>,
    metadata: Option<&'a RawValue>,
}

impl<'a> RecipientView<'a> {
    /// A recipient with its metadata as the client wrote it.
    pub(crate) fn of(recipient: &'a Recipient) -> Self {
        Self {
            id: recipient.id,
            to: &recipient.to_number,
            status: recipient.status,
            call_id: recipient.conversation_id.map(CallHandle),
            failure_reason: recipient.failure_reason,
            metadata: raw(&recipient.metadata).ok(),
        }
    }

    /// Whether every row of a page can be printed.
    pub(crate) fn check(recipients: &[Recipient]) -> Result<(), ApiError> {
        recipients
            .iter()
            .try_for_each(|recipient| raw(&recipient.metadata).map(drop))
    }
}
