//! Batch calls.

use std::time::Duration;

use offhook_domain::{AccountId, BatchId, RecipientStatus, Timestamp};
use offhook_failpoints as failpoints;

use super::{Answer, read, write};
use crate::dialect::dialect;
use crate::queries;
use crate::{
    Batch, BatchLook, BatchStep, BatchWrite, IdempotencyClaim, NewBatch, Recipient, Store, Verdict,
};

/// Makes the answer that a key will replay. By this name, as [`boxed`] would give the argument a lifetime of the method.
type MakeAnswer = fn(&Batch) -> Vec<u8>;

impl Store {
    /// Stores a batch with all its recipients, in one transaction with its Idempotency-Key.
    ///
    /// # Errors
    /// `StoreError::UnknownCommit` if the batch may have been stored, the others if it was not.
    pub fn create_batch(&self, new: NewBatch) -> Answer<'_, BatchWrite> {
        let offset = self.offset();
        write!(self, |conn| {
            let NewBatch {
                batch,
                recipients,
                idempotency,
            } = new;
            if let Some(claim) = &idempotency {
                use queries::idempotency::Take;
                match queries::idempotency::take(conn, batch.account_id, claim, offset).await? {
                    Take::Owned => {}
                    Take::Used(answer) => {
                        return Ok(Verdict::Rollback(BatchWrite::KeyUsed(answer)));
                    }
                    Take::InFlight => return Ok(Verdict::Rollback(BatchWrite::KeyInFlight)),
                }
            }
            queries::batches::insert(conn, &batch).await?;
            dialect!(conn, insert_recipients(batch.id, recipients))?;
            Ok(Verdict::Commit(BatchWrite::Done(batch)))
        })
    }

    /// A batch of the account.
    pub fn batch(&self, account: AccountId, id: BatchId) -> Answer<'_, Option<Batch>> {
        read!(self, |conn| queries::batches::find(conn, account, id).await)
    }

    /// A page of a batch's recipients behind place `after`, in order, with one more than `limit` if there is a next
    /// page; `None` if the account has no such batch.
    pub fn batch_recipients(
        &self,
        account: AccountId,
        id: BatchId,
        status: Option<RecipientStatus>,
        after: Option<i32>,
        limit: i64,
    ) -> Answer<'_, Option<Vec<Recipient>>> {
        read!(self, |conn| {
            if queries::batches::find(conn, account, id).await?.is_none() {
                return Ok(None);
            }
            let rows = queries::batches::recipients(conn, id, status, after, limit + 1).await?;
            Ok(Some(rows))
        })
    }

    /// Pauses, resumes or cancels a batch.
    pub fn step_batch(
        &self,
        account: AccountId,
        id: BatchId,
        step: BatchStep,
        at: Timestamp,
    ) -> Answer<'_, BatchWrite> {
        write!(self, |conn| {
            let Some(batch) = queries::batches::hold(conn, account, id).await? else {
                return Ok(Verdict::Rollback(BatchWrite::Absent));
            };
            Ok(
                match queries::batches::step(conn, &batch, step, at).await? {
                    Some(changed) => Verdict::Commit(BatchWrite::Done(changed)),
                    None => Verdict::Rollback(BatchWrite::Refused(batch)),
                },
            )
        })
    }

    /// Calls the recipients of an ended batch again that were not called well, in one transaction with the
    /// Idempotency-Key. `answer` makes what the key will replay.
    ///
    /// # Errors
    /// `StoreError::UnknownCommit` if it may have been done, the others if it was not.
    pub fn retry_batch(
        &self,
        account: AccountId,
        id: BatchId,
        claim: Option<IdempotencyClaim>,
        answer: MakeAnswer,
        at: Timestamp,
    ) -> Answer<'_, BatchWrite> {
        let offset = self.offset();
        write!(self, |conn| {
            let Some(batch) = queries::batches::hold(conn, account, id).await? else {
                return Ok(Verdict::Rollback(BatchWrite::Absent));
            };
            let changed = match batch.status.is_over() {
                true => queries::batches::retry(conn, &batch, at).await?,
                false => None,
            };
            if let Some(mut claim) = claim {
                use queries::idempotency::Take;
                if let Some(changed) = &changed {
                    claim.answer.body = answer(changed);
                }
                match queries::idempotency::take(conn, account, &claim, offset).await? {
                    Take::Owned => {}
                    Take::Used(answer) => {
                        return Ok(Verdict::Rollback(BatchWrite::KeyUsed(answer)));
                    }
                    Take::InFlight => return Ok(Verdict::Rollback(BatchWrite::KeyInFlight)),
                }
            }
            Ok(match changed {
                Some(changed) => Verdict::Commit(BatchWrite::Done(changed)),
                None => Verdict::Rollback(BatchWrite::Refused(batch)),
            })
        })
    }

    /// Takes up to `most` batches that are to be looked at; each is this caller's for `lease`.
    pub fn take_due_batches(
        &self,
        most: i64,
        lease: Duration,
        now: Timestamp,
    ) -> Answer<'_, Vec<(AccountId, BatchId)>> {
        write!(self, |conn| {
            let times = (now, now.plus(lease));
            let taken = queries::batch_looks::take_due(conn, most, times).await?;
            Ok(if taken.is_empty() {
                Verdict::Rollback(taken)
            } else {
                Verdict::Commit(taken)
            })
        })
    }

    /// Places what a batch may place now: each recipient's call, its reservation and the counts in one transaction.
    /// Returns how many calls were placed.
    pub fn look_at_batch(
        &self,
        account: AccountId,
        id: BatchId,
        look: BatchLook,
    ) -> Answer<'_, usize> {
        write!(self, |conn| {
            queries::locks::lock_account(conn, account).await?;
            let Some(batch) = queries::batches::hold(conn, account, id).await? else {
                return Ok(Verdict::Rollback(0));
            };
            let placed = queries::batch_looks::look(conn, batch, &look).await?;
            if placed > 0 {
                failpoints::hit(failpoints::BATCH_BEFORE_COMMIT);
            }
            Ok(Verdict::Commit(placed))
        })
    }
}
