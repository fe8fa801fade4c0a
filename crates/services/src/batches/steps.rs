//! What customers do with a batch: they pause, resume and cancel it, and call its failed recipients again.

use super::{Key, PrintBatch};
use crate::PlacedReply;
use crate::error::Result;
use crate::prelude::*;
use crate::transact::transact;

/// Pauses, resumes or cancels a batch. A batch whose key was revoked continues with the key that resumes it, or without
/// one.
pub(crate) async fn step_batch(
    store: &Store,
    (account, id): (AccountId, BatchId),
    step: (BatchStep, Option<KeyId>),
    at: Timestamp,
) -> Result<Batch> {
    transact!(store, |tx| {
        let found = tx.lock_batch(account, id).await?;
        let mut batch = found.ok_or(UseCaseError::NotFound)?;
        let round_at = make_step(&mut tx, &mut batch, step, at).await?;
        tx.save_batch(&batch, round_at).await?;
        Ok(batch)
    })
}

/// Calls those recipients of an ended batch again that were not called successfully.
pub(crate) async fn retry_batch(
    store: &Store,
    (account, id): (AccountId, BatchId),
    key: Key,
    print: PrintBatch,
    at: Timestamp,
) -> Result<PlacedReply> {
    transact!(store, |tx| {
        let found = tx.lock_batch(account, id).await?;
        let batch = found.ok_or(UseCaseError::NotFound)?;
        let retried = retried(&batch, at);
        let shown = retried.as_ref().unwrap_or(&batch);
        let reply = key.reply(&mut tx, shown, print).await?;
        if !reply.replayed {
            // A refusal leaves the key free.
            let batch = retried?;
            tx.reset_recipients(id).await?;
            tx.save_batch(&batch, Some(at)).await?;
        }
        Ok(reply)
    })
}

/// Changes a locked batch. Returns when its next round is, if any.
async fn make_step(
    tx: &mut Tx<'_>,
    batch: &mut Batch,
    (step, key): (BatchStep, Option<KeyId>),
    at: Timestamp,
) -> Result<Option<Timestamp>> {
    use BatchStatus::{Cancelled, Paused, Running, Scheduled};
    let reason = batch.paused_reason;
    match (step, batch.status) {
        (BatchStep::Cancel, Scheduled | Running | Paused) => {
            end(tx, batch, Cancelled, at).await?;
            Ok(None)
        }
        (BatchStep::Pause, Scheduled | Running | Paused)
            if reason != Some(PausedReason::Customer) =>
        {
            batch.status = Paused;
            batch.paused_reason = Some(PausedReason::Customer);
            Ok(None)
        }
        (BatchStep::Resume, Paused) => {
            batch.paused_reason = None;
            if reason == Some(PausedReason::KeyRevoked) {
                batch.key_id = key;
            }
            let begins = batch.scheduled_at.filter(|begins| *begins > at);
            if batch.started_at.is_none() && begins.is_some() {
                batch.status = Scheduled;
                return Ok(begins);
            }
            batch.status = Running;
            batch.started_at.get_or_insert(at);
            Ok(Some(at))
        }
        (_, now) => {
            let refusal = match step {
                BatchStep::Pause => Refusal::BatchNotPausable,
                BatchStep::Resume => Refusal::BatchNotResumable,
                BatchStep::Cancel => Refusal::BatchNotCancellable,
            };
            Err(UseCaseError::Conflict(refusal(now)))
        }
    }
}

/// Ends a locked batch. It places no new calls; calls in progress continue to their end and still count.
pub(super) async fn end(
    tx: &mut Tx<'_>,
    batch: &mut Batch,
    status: BatchStatus,
    at: Timestamp,
) -> Result<(), StoreError> {
    tx.cancel_recipients(batch.id).await?;
    batch.status = status;
    batch.paused_reason = None;
    batch.cancelled += batch.pending;
    batch.pending = 0;
    batch.ended_at = Some(at);
    Ok(())
}

/// An ended batch as it is when those recipients wait again that were not called successfully.
fn retried(batch: &Batch, at: Timestamp) -> Result<Batch> {
    if !batch.status.is_over() {
        return Err(UseCaseError::Conflict(Refusal::BatchUnderWay(batch.status)));
    }
    if batch.failed + batch.cancelled == 0 {
        return Err(UseCaseError::Conflict(Refusal::NobodyLeft));
    }
    Ok(Batch {
        status: BatchStatus::Running,
        pending: batch.pending + batch.failed + batch.cancelled,
        failed: 0,
        cancelled: 0,
        started_at: batch.started_at.or(Some(at)),
        ended_at: None,
        ..batch.clone()
    })
}
