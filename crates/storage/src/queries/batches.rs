//! Batch calls and their recipients.

use crate::prelude::*;
use crate::schema::batch_calls as batches;

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

#[boxed]
impl Tx<'_> {
    /// Stores a batch with all its recipients.
    pub async fn insert_batch(
        &mut self,
        batch: &Batch,
        recipients: Vec<NewRecipient>,
    ) -> Result<()> {
        let round_at = batch.scheduled_at.unwrap_or(batch.created_at);
        insert! {
            self.0, batches of batch: id, account_id, name, agent_id, phone_number_id, key_id, status,
            paused_reason, scheduled_at, total, pending, dialing, completed, failed, cancelled,
            created_at, started_at, look_at = round_at
        }?;
        dialect!(self.0, insert_recipients(batch.id, recipients))
    }

    /// Locks the batch's row until the transaction ends. Lock order: batch before wallet.
    pub async fn lock_batch(&mut self, account: AccountId, id: BatchId) -> Result<Option<Batch>> {
        // An UPDATE that changes nothing locks the row on both databases.
        diesel::update(batches::table.find(V(id)))
            .filter(batches::account_id.eq(V(account)))
            .set(batches::total.eq(batches::total))
            .returning(Batch::as_returning())
            .returned(self.0)
            .await
    }

    /// Writes the state of a locked batch, and when its next round is, if any.
    pub async fn save_batch(&mut self, batch: &Batch, round_at: Option<Timestamp>) -> Result<()> {
        save(self.0, batch, round_at).await
    }

    /// Cancels the recipients that wait for a call.
    pub async fn cancel_recipients(&mut self, batch: BatchId) -> Result<()> {
        diesel::update(recipients::table)
            .filter(recipients::batch_id.eq(V(batch)))
            .filter(recipients::status.eq(V(RecipientStatus::Pending)))
            .set(recipients::status.eq(V(RecipientStatus::Cancelled)))
            .run(self.0)
            .await
    }

    /// Makes the failed and the cancelled recipients wait for a call again. Failed ones get a new attempt; those that
    /// were never called still have their first.
    pub async fn reset_recipients(&mut self, batch: BatchId) -> Result<()> {
        use RecipientStatus::{Cancelled, Failed, Pending};
        diesel::update(recipients::table)
            .filter(recipients::batch_id.eq(V(batch)))
            .filter(recipients::status.eq(V(Failed)))
            .set(row! {
                recipients: status = Pending, attempt += 1, conversation_id = NULL, failure_reason = NULL
            })
            .execute(self.0)
            .await?;
        diesel::update(recipients::table)
            .filter(recipients::batch_id.eq(V(batch)))
            .filter(recipients::status.eq(V(Cancelled)))
            .set(recipients::status.eq(V(Pending)))
            .run(self.0)
            .await
    }
}

impl Store {
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
            ensure!(find(conn, account, id).await?.is_some(), None);
            let mut query = recipients::table
                .filter(recipients::batch_id.eq(V(id)))
                .order(recipients::place)
                .limit(limit + 1)
                .select(Recipient::as_select())
                .into_boxed::<Db>();
            query = query
                .when(status, |status| recipients::status.eq(V(status)))
                .when(after, |after| recipients::place.gt(after));
            Ok(Some(query.load(conn).await?))
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
        let mut query = page!(batches as Batch, account, after, limit);
        query = query
            .when(filter.status, |status| batches::status.eq(V(status)))
            .when(filter.agent, |agent| batches::agent_id.eq(V(agent)));
        query.read_all(self)
    }
}

/// Pauses every batch that would place calls, now or later, until its customer resumes it.
pub(crate) async fn pause_all(conn: &mut Conn) -> Result<usize> {
    use BatchStatus::{Paused, Running, Scheduled};
    let going_on = [Scheduled, Running, Paused].map(V);
    Ok(diesel::update(batches::table)
        .filter(batches::status.eq_any(going_on))
        .set(row! {
            batches: status = Paused, paused_reason = PausedReason::Customer, look_at = NEVER
        })
        .execute(conn)
        .await?)
}

async fn save(conn: &mut Conn, batch: &Batch, round_at: Option<Timestamp>) -> Result<()> {
    diesel::update(batches::table.find(V(batch.id)))
        .set(row! {
            batches of batch: key_id, status, paused_reason, pending, dialing, failed, cancelled,
            started_at, ended_at, look_at = round_at.unwrap_or(NEVER)
        })
        .run(conn)
        .await
}

/// Updates a call's batch when the call has ended: in the closing transaction, before the wallet. Does nothing for a
/// call that no batch placed. The batch completes with its last recipient.
pub(crate) async fn call_ended(
    conn: &mut Conn,
    conversation: ConversationId,
    (state, reason): (CallState, Option<FailureReason>),
    at: Timestamp,
) -> Result<()> {
    let recipient: Option<RecipientId> = tries::table
        .filter(tries::conversation_id.eq(V(conversation)))
        .select(tries::recipient_id)
        .found(conn)
        .await?;
    let recipient = some_or!(recipient, ());
    let batch: BatchId = recipients::table
        .find(V(recipient))
        .select(recipients::batch_id)
        .first(conn)
        .await?;
    let completed = state == CallState::Completed;
    let status = if completed {
        RecipientStatus::Completed
    } else {
        RecipientStatus::Failed
    };
    let mut counted: Batch = diesel::update(batches::table.find(V(batch)))
        .set((
            batches::dialing.eq(batches::dialing - 1),
            batches::completed.eq(batches::completed + i32::from(completed)),
            batches::failed.eq(batches::failed + i32::from(!completed)),
        ))
        .returning(Batch::as_returning())
        .get_result(conn)
        .await?;
    diesel::update(recipients::table.find(V(recipient)))
        .set(row! { recipients: status, failure_reason = reason })
        .execute(conn)
        .await?;
    if counted.pending == 0 && counted.dialing == 0 && !counted.status.is_over() {
        counted.status = BatchStatus::Completed;
        counted.paused_reason = None;
        counted.ended_at = Some(at);
        save(conn, &counted, None).await?;
    }
    Ok(())
}
