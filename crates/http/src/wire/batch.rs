//! Batch calls.

use offhook_services::store::{Batch, Recipient};

use super::{raw, shown};
use crate::prelude::*;

shown! {
    BatchView(batch: Batch) {
        id,
        name,
        agent_id,
        phone_number_id,
        status,
        paused_reason,
        scheduled_at,
        counts = Counts(batch),
        created_at,
        started_at,
        ended_at,
    }
}

shown! {
    Counts(batch: Batch) {
        total,
        pending,
        dialing,
        completed,
        failed,
        cancelled,
    }
}

/// A batch as an Idempotency-Key replays it.
pub(crate) fn printed(batch: &Batch) -> Vec<u8> {
    // Serializing a plain struct of strings and numbers does not fail.
    serde_json::to_vec(&BatchView(batch)).unwrap_or_default()
}

shown! {
    /// A recipient with its metadata as the client wrote it.
    RecipientView(recipient: Recipient) {
        id,
        to = &recipient.to_number,
        status,
        call_id = recipient.conversation_id.map(CallHandle),
        failure_reason,
        metadata = raw(&recipient.metadata).ok(),
    }
}

impl RecipientView<'_> {
    /// Fails unless every row of a page can be printed.
    pub(crate) fn check(recipients: &[Recipient]) -> Result<(), ApiError> {
        recipients
            .iter()
            .try_for_each(|recipient| raw(&recipient.metadata).map(drop))
    }
}
