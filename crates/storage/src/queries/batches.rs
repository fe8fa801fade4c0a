//! Batch calls and their recipients, as customers read and control them.

use crate::database::RunQueryDsl;
use crate::dialect::dialect;
use crate::store::{Answer, read, write};
use diesel::prelude::*;
use offhook_domain::{
    AccountId, BatchId, BatchStatus, ConversationId, FailureReason, KeyId, PausedReason,
    RecipientStatus, Timestamp,
};

use super::idempotency::{self, Take};
use super::pages::behind;
use crate::database::{Conn, Db};
use crate::schema::{batch_calls as batches, batch_recipients as recipients};
use crate::sql::V;
use crate::{
    Batch, BatchFilter, BatchStep, BatchWrite, IdempotencyClaim, NewBatch, PageKey, Recipient,
    Result, Store, Verdict,
};

/// The next round of a batch that waits for nothing: never.
pub(crate) const NEVER: Timestamp = Timestamp::from_micros(253_402_300_799_000_000);

async fn find(conn: &mut Conn, account: AccountId, id: BatchId) -> Result<Option<Batch>> {
    Ok(batches::table
        .filter(batches::id.eq(V(id)))
        .filter(batches::account_id.eq(V(account)))
        .select(Batch::as_select())
        .found(conn)
        .await?)
}

/// Makes the response that a key will replay. A named type, so that its argument's lifetime is not one of the method's.
type MakeAnswer = fn(&Batch) -> Vec<u8>;

/// Takes an Idempotency-Key. Returns the result for the caller if this transaction does not own the key.
async fn refused(
    conn: &mut Conn,
    account: AccountId,
    claim: &IdempotencyClaim,
    offset: i64,
) -> Result<Option<BatchWrite>> {
    let taken = idempotency::take(conn, account, claim, offset).await?;
    Ok(match taken {
        Take::Owned => None,
        Take::Used(answer) => Some(BatchWrite::KeyUsed(answer)),
        Take::InFlight => Some(BatchWrite::KeyInFlight),
    })
}

impl Store {
    /// Stores a batch with all its recipients, in one transaction with its Idempotency-Key. After
    /// `StoreError::UnknownCommit` the batch may have been stored; after other errors it was not.
    pub fn create_batch(&self, new: NewBatch) -> Answer<'_, BatchWrite> {
        let offset = self.offset();
        write!(self, |conn| {
            let batch = new.batch;
            if let Some(claim) = &new.idempotency
                && let Some(refused) = refused(conn, batch.account_id, claim, offset).await?
            {
                return Ok(Verdict::Rollback(refused));
            }
            diesel::insert_into(batches::table)
                .values((
                    (
                        batches::id.eq(V(batch.id)),
                        batches::account_id.eq(V(batch.account_id)),
                        batches::name.eq(batch.name.clone()),
                        batches::agent_id.eq(V(batch.agent_id)),
                        batches::phone_number_id.eq(batch.phone_number_id),
                        batches::key_id.eq(batch.key_id),
                        batches::status.eq(V(batch.status)),
                        batches::paused_reason.eq(batch.paused_reason),
                        batches::scheduled_at.eq(batch.scheduled_at),
                    ),
                    (
                        batches::total.eq(batch.total),
                        batches::pending.eq(batch.pending),
                        batches::dialing.eq(batch.dialing),
                        batches::completed.eq(batch.completed),
                        batches::failed.eq(batch.failed),
                        batches::cancelled.eq(batch.cancelled),
                        batches::created_at.eq(V(batch.created_at)),
                        batches::started_at.eq(batch.started_at),
                        batches::look_at.eq(V(batch.scheduled_at.unwrap_or(batch.created_at))),
                    ),
                ))
                .execute(conn)
                .await?;
            dialect!(conn, insert_recipients(batch.id, new.recipients))?;
            Ok(Verdict::Commit(BatchWrite::Done(batch)))
        })
    }

    pub fn batch(&self, account: AccountId, id: BatchId) -> Answer<'_, Option<Batch>> {
        read!(self, |conn| find(conn, account, id).await)
    }

    /// A page of a batch's recipients after place `after`, in order, with one more than `limit` if there is a next
    /// page. `None` if the account has no such batch.
    pub fn batch_recipients(
        &self,
        account: AccountId,
        id: BatchId,
        status: Option<RecipientStatus>,
        after: Option<i32>,
        limit: i64,
    ) -> Answer<'_, Option<Vec<Recipient>>> {
        read!(self, |conn| {
            if find(conn, account, id).await?.is_none() {
                return Ok(None);
            }
            let mut query = recipients::table
                .filter(recipients::batch_id.eq(V(id)))
                .order(recipients::place)
                .limit(limit + 1)
                .select(Recipient::as_select())
                .into_boxed::<Db>();
            if let Some(status) = status {
                query = query.filter(recipients::status.eq(V(status)));
            }
            if let Some(after) = after {
                query = query.filter(recipients::place.gt(after));
            }
            Ok(Some(query.load(conn).await?))
        })
    }

    /// Pauses, resumes or cancels a batch. A batch whose key was revoked continues with the key that resumes it, or
    /// without one.
    pub fn step_batch(
        &self,
        account: AccountId,
        id: BatchId,
        (step, key): (BatchStep, Option<KeyId>),
        at: Timestamp,
    ) -> Answer<'_, BatchWrite> {
        use BatchStatus::{Cancelled, Paused, Running, Scheduled};
        write!(self, |conn| {
            let Some(batch) = hold(conn, account, id).await? else {
                return Ok(Verdict::Rollback(BatchWrite::Absent));
            };
            let by_customer = batch.paused_reason == Some(PausedReason::Customer);
            let begins = batch.scheduled_at.filter(|begins| *begins > at);
            let (status, reason, look_at) = match (step, batch.status) {
                (BatchStep::Cancel, Scheduled | Running | Paused) => {
                    let ended = end(conn, &batch, Cancelled, at).await?;
                    return Ok(Verdict::Commit(BatchWrite::Done(ended)));
                }
                (BatchStep::Pause, Paused) if by_customer => {
                    return Ok(Verdict::Rollback(BatchWrite::Refused(batch)));
                }
                (BatchStep::Pause, Scheduled | Running | Paused) => {
                    (Paused, Some(PausedReason::Customer), NEVER)
                }
                (BatchStep::Resume, Paused) => match (batch.started_at, begins) {
                    (None, Some(begins)) => (Scheduled, None, begins),
                    _ => (Running, None, at),
                },
                _ => return Ok(Verdict::Rollback(BatchWrite::Refused(batch))),
            };
            let key = match batch.paused_reason {
                Some(PausedReason::KeyRevoked) if reason.is_none() => key,
                _ => batch.key_id,
            };
            let started_at = match status {
                Running => batch.started_at.or(Some(at)),
                _ => batch.started_at,
            };
            let changed = diesel::update(batches::table.find(V(id)))
                .set((
                    batches::key_id.eq(key),
                    batches::started_at.eq(started_at),
                    batches::status.eq(V(status)),
                    batches::paused_reason.eq(reason),
                    batches::look_at.eq(V(look_at)),
                ))
                .returning(Batch::as_returning())
                .get_result(conn)
                .await?;
            Ok(Verdict::Commit(BatchWrite::Done(changed)))
        })
    }

    /// Retries the recipients of an ended batch that were not called successfully, in one transaction with the
    /// Idempotency-Key. `answer` makes the response that the key will replay. After `StoreError::UnknownCommit` the
    /// retry may have been written; after other errors it was not.
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
            let Some(batch) = hold(conn, account, id).await? else {
                return Ok(Verdict::Rollback(BatchWrite::Absent));
            };
            let changed = match batch.status.is_over() {
                true => retry(conn, &batch, at).await?,
                false => None,
            };
            if let Some(mut claim) = claim {
                if let Some(changed) = &changed {
                    claim.answer.body = answer(changed);
                }
                if let Some(refused) = refused(conn, account, &claim, offset).await? {
                    return Ok(Verdict::Rollback(refused));
                }
            }
            Ok(match changed {
                Some(changed) => Verdict::Commit(BatchWrite::Done(changed)),
                None => Verdict::Rollback(BatchWrite::Refused(batch)),
            })
        })
    }

    /// A page of the account's batches, newest first, with one more than `limit` if there is a next page.
    pub fn batches(
        &self,
        account: AccountId,
        filter: BatchFilter,
        after: Option<PageKey<BatchId>>,
        limit: i64,
    ) -> Answer<'_, Vec<Batch>> {
        read!(self, |conn| {
            let mut query = batches::table
                .filter(batches::account_id.eq(V(account)))
                .order((batches::created_at.desc(), batches::id.desc()))
                .limit(limit + 1)
                .select(Batch::as_select())
                .into_boxed::<Db>();
            if let Some(status) = filter.status {
                query = query.filter(batches::status.eq(V(status)));
            }
            if let Some(agent) = filter.agent {
                query = query.filter(batches::agent_id.eq(V(agent)));
            }
            Ok(behind!(query, batches, after).load(conn).await?)
        })
    }
}

/// Locks the batch's row until the transaction ends. Lock order: batch before wallet.
pub(crate) async fn hold(
    conn: &mut Conn,
    account: AccountId,
    id: BatchId,
) -> Result<Option<Batch>> {
    // An UPDATE that changes nothing locks the row on both databases.
    diesel::update(batches::table.find(V(id)))
        .filter(batches::account_id.eq(V(account)))
        .set(batches::total.eq(batches::total))
        .returning(Batch::as_returning())
        .returned(conn)
        .await
}

/// Pauses every batch that would place calls, now or later, until its customer resumes it.
pub(crate) async fn pause_all(conn: &mut Conn) -> Result<usize> {
    use BatchStatus::{Paused, Running, Scheduled};
    let going_on = [Scheduled, Running, Paused].map(V);
    Ok(diesel::update(batches::table)
        .filter(batches::status.eq_any(going_on))
        .set((
            batches::status.eq(V(Paused)),
            batches::paused_reason.eq(Some(PausedReason::Customer)),
            batches::look_at.eq(V(NEVER)),
        ))
        .execute(conn)
        .await?)
}

/// Ends a locked batch. It places no new calls; calls in progress continue to their end and still count.
pub(crate) async fn end(
    conn: &mut Conn,
    batch: &Batch,
    status: BatchStatus,
    at: Timestamp,
) -> Result<Batch> {
    diesel::update(recipients::table)
        .filter(recipients::batch_id.eq(V(batch.id)))
        .filter(recipients::status.eq(V(RecipientStatus::Pending)))
        .set(recipients::status.eq(V(RecipientStatus::Cancelled)))
        .execute(conn)
        .await?;
    Ok(diesel::update(batches::table.find(V(batch.id)))
        .set((
            batches::status.eq(V(status)),
            batches::paused_reason.eq(None::<PausedReason>),
            batches::pending.eq(0),
            batches::cancelled.eq(batches::cancelled + batches::pending),
            batches::ended_at.eq(V(at)),
            batches::look_at.eq(V(NEVER)),
        ))
        .returning(Batch::as_returning())
        .get_result(conn)
        .await?)
}

/// Resets the unsuccessful recipients of a locked, ended batch to pending. `None` if there are none.
async fn retry(conn: &mut Conn, batch: &Batch, at: Timestamp) -> Result<Option<Batch>> {
    use RecipientStatus::{Cancelled, Failed, Pending};
    // Failed recipients get a new attempt; those that were never called still have their first.
    let again = diesel::update(recipients::table)
        .filter(recipients::batch_id.eq(V(batch.id)))
        .filter(recipients::status.eq(V(Failed)))
        .set((
            recipients::status.eq(V(Pending)),
            recipients::attempt.eq(recipients::attempt + 1),
            recipients::conversation_id.eq(None::<ConversationId>),
            recipients::failure_reason.eq(None::<FailureReason>),
        ))
        .execute(conn)
        .await?;
    let first = diesel::update(recipients::table)
        .filter(recipients::batch_id.eq(V(batch.id)))
        .filter(recipients::status.eq(V(Cancelled)))
        .set(recipients::status.eq(V(Pending)))
        .execute(conn)
        .await?;
    if again + first == 0 {
        return Ok(None);
    }
    Ok(Some(
        diesel::update(batches::table.find(V(batch.id)))
            .set((
                batches::status.eq(V(BatchStatus::Running)),
                batches::pending.eq(batches::pending + batches::failed + batches::cancelled),
                batches::failed.eq(0),
                batches::cancelled.eq(0),
                batches::started_at.eq(V(batch.started_at.unwrap_or(at))),
                batches::ended_at.eq(None::<Timestamp>),
                batches::look_at.eq(V(at)),
            ))
            .returning(Batch::as_returning())
            .get_result(conn)
            .await?,
    ))
}
