//! The scheduler's rounds over batches, and the effect of a call's end on its batch.

use std::time::Duration;

use crate::database::RunQueryDsl;
use crate::store::{Answer, mint, read, write};
use diesel::prelude::*;
use offhook_domain::{
    AccountId, AgentStatus, BatchId, BatchStatus, CallState, ConversationId, Credits, E164,
    FailureReason, PausedReason, RecipientId, RecipientStatus, Runtime, Timestamp,
};
use offhook_failpoints as failpoints;

use super::batches::{NEVER, end, hold as hold_batch};
use super::wallets::{Draw, Reserve, hold, insert_reservation};
use super::{agents, calls, claims, locks, numbers};
use crate::database::Conn;
use crate::schema::{
    api_keys, batch_calls as batches, batch_recipients as recipients, batch_tries as tries,
    conversations,
};
use crate::sql::V;
use crate::{AgentRef, Batch, BatchLook, Lines, NewCall, Recipient, Result, Store, Verdict};

/// Places the calls that a batch may place now, and returns how many. The batch is locked, and so is the account's row,
/// so that no two rounds use the same capacity.
async fn look(conn: &mut Conn, batch: Batch, look: &BatchLook) -> Result<usize> {
    let waits = match (batch.status, batch.paused_reason) {
        (BatchStatus::Scheduled | BatchStatus::Running, _) => true,
        (BatchStatus::Paused, reason) => reason != Some(PausedReason::Customer),
        _ => false,
    };
    if !waits || batch.pending == 0 {
        look_again(conn, batch.id, NEVER).await?;
        return Ok(0);
    }
    let reference = AgentRef::Id(batch.agent_id);
    let lines = Lines {
        carrier: None,
        legacy_any: look.is_simulated,
    };
    let found = agents::to_call(conn, batch.account_id, &reference, lines).await?;
    let found = found.filter(|(agent, ..)| agent.status != AgentStatus::Archived);
    let Some((agent, _, usual)) = found else {
        end(conn, &batch, BatchStatus::Failed, look.at).await?;
        return Ok(0);
    };
    if agent.status != AgentStatus::Active {
        look_again(conn, batch.id, look.later).await?;
        return Ok(0);
    }
    // The number that the customer chose, if it still exists; else the number that all calls of the agent use.
    let from = match batch.phone_number_id {
        Some(id) => {
            let number = numbers::find(conn, batch.account_id, id).await?;
            number.map(|number| number.phone_number)
        }
        None => usual.or_else(|| look.shared_number.clone()),
    };
    let Some(from) = from else {
        end(conn, &batch, BatchStatus::Failed, look.at).await?;
        return Ok(0);
    };
    // Calls that are dialing, live or closing, and queued calls.
    let live = claims::live_calls(conn, batch.account_id).await?;
    let waiting: i64 = conversations::table
        .filter(conversations::account_id.eq(V(batch.account_id)))
        .filter(claims::is_queued())
        .count()
        .get_result(conn)
        .await?;
    let most = (look.calls_at_most - live - waiting).min(look.most);
    if most <= 0 {
        goes_on(conn, &batch, 0, look).await?;
        return Ok(0);
    }
    let next: Vec<Recipient> = recipients::table
        .filter(recipients::batch_id.eq(V(batch.id)))
        .filter(recipients::status.eq(V(RecipientStatus::Pending)))
        .order(recipients::place)
        .limit(most)
        .select(Recipient::as_select())
        .load(conn)
        .await?;
    let (budget, revoked_at): (Option<Credits>, Option<Timestamp>) = match batch.key_id {
        Some(key) => {
            let key = api_keys::table.find(V(key));
            let bounds = (api_keys::monthly_credit_budget, api_keys::revoked_at);
            key.select(bounds).first(conn).await?
        }
        None => (None, None),
    };
    if revoked_at.is_some() {
        pause(conn, &batch, PausedReason::KeyRevoked, NEVER).await?;
        return Ok(0);
    }
    let draw = Draw {
        account: batch.account_id,
        key: batch.key_id,
        budget,
        month: look.at.utc_month(),
        at: look.at,
    };
    let mut placed = 0;
    for recipient in next {
        let lacks = match reserve(conn, &draw, look.reserve).await? {
            Reserve::Held => None,
            Reserve::WalletTooLow => Some(PausedReason::NoCredits),
            Reserve::BudgetTooLow => Some(PausedReason::KeyBudget),
        };
        if let Some(reason) = lacks {
            goes_on(conn, &batch, placed, look).await?;
            pause(conn, &batch, reason, look.later).await?;
            return Ok(placed);
        }
        place(conn, &batch, recipient, (&draw, &from), look).await?;
        placed += 1;
    }
    goes_on(conn, &batch, placed, look).await?;
    Ok(placed)
}

/// Reserves credits for one more call, or leaves everything unchanged.
async fn reserve(conn: &mut Conn, draw: &Draw, credits: Credits) -> Result<Reserve> {
    if credits == 0 || draw.budget.is_none() {
        return hold(conn, draw, credits).await;
    }
    // The wallet comes before the budget, and may have bought credits by then. A refusal by the budget undoes both, but
    // must keep the calls placed before this one.
    diesel::sql_query("SAVEPOINT reserve").execute(conn).await?;
    let held = hold(conn, draw, credits).await?;
    if held == Reserve::BudgetTooLow {
        diesel::sql_query("ROLLBACK TO SAVEPOINT reserve")
            .execute(conn)
            .await?;
    }
    diesel::sql_query("RELEASE SAVEPOINT reserve")
        .execute(conn)
        .await?;
    Ok(held)
}

async fn place(
    conn: &mut Conn,
    batch: &Batch,
    recipient: Recipient,
    (draw, from): (&Draw, &E164),
    look: &BatchLook,
) -> Result<()> {
    let id: ConversationId = mint(look.at);
    let call = NewCall {
        id,
        account_id: batch.account_id,
        agent_id: batch.agent_id,
        agent_ref: batch.agent_id.to_string(),
        agent_version: 0,
        runtime: Runtime::Legacy,
        key_id: batch.key_id,
        key_budget: draw.budget,
        from: from.clone(),
        to: recipient.to_number,
        metadata: recipient.metadata,
        price: look.price,
        reserve: look.reserve,
        at: look.at,
        steady: look.steady,
        // `call.initiated` is only for POST /v1/calls.
        event: None,
        simulated: look.is_simulated,
        idempotency: None,
    };
    calls::insert(conn, &call).await?;
    insert_reservation(conn, id, draw, look.reserve).await?;
    diesel::insert_into(tries::table)
        .values((
            tries::recipient_id.eq(V(recipient.id)),
            tries::attempt.eq(recipient.attempt),
            tries::conversation_id.eq(V(id)),
        ))
        .execute(conn)
        .await?;
    diesel::update(recipients::table.find(V(recipient.id)))
        .set((
            recipients::status.eq(V(RecipientStatus::Dialing)),
            recipients::conversation_id.eq(V(id)),
        ))
        .run(conn)
        .await
}

/// Records that the batch runs, with `placed` more calls. While recipients wait, another round follows.
async fn goes_on(conn: &mut Conn, batch: &Batch, placed: usize, look: &BatchLook) -> Result<()> {
    let placed = i32::try_from(placed).unwrap_or(i32::MAX);
    // A batch that is paused for lack of credits runs again once a call could be placed.
    let status = match batch.status {
        BatchStatus::Paused if placed == 0 => BatchStatus::Paused,
        _ => BatchStatus::Running,
    };
    let reason = batch
        .paused_reason
        .filter(|_| status == BatchStatus::Paused);
    let next = if batch.pending > placed {
        look.next
    } else {
        NEVER
    };
    diesel::update(batches::table.find(V(batch.id)))
        .set((
            batches::status.eq(V(status)),
            batches::paused_reason.eq(reason),
            batches::pending.eq(batches::pending - placed),
            batches::dialing.eq(batches::dialing + placed),
            batches::started_at.eq(V(batch.started_at.unwrap_or(look.at))),
            batches::look_at.eq(V(next)),
        ))
        .run(conn)
        .await
}

async fn pause(
    conn: &mut Conn,
    batch: &Batch,
    reason: PausedReason,
    until: Timestamp,
) -> Result<()> {
    diesel::update(batches::table.find(V(batch.id)))
        .set((
            batches::status.eq(V(BatchStatus::Paused)),
            batches::paused_reason.eq(V(reason)),
            batches::look_at.eq(V(until)),
        ))
        .run(conn)
        .await
}

async fn look_again(conn: &mut Conn, id: BatchId, at: Timestamp) -> Result<()> {
    diesel::update(batches::table.find(V(id)))
        .set(batches::look_at.eq(V(at)))
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
    let Some(recipient) = recipient else {
        return Ok(());
    };
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
    let counted: Batch = diesel::update(batches::table.find(V(batch)))
        .set((
            batches::dialing.eq(batches::dialing - 1),
            batches::completed.eq(batches::completed + i32::from(completed)),
            batches::failed.eq(batches::failed + i32::from(!completed)),
        ))
        .returning(Batch::as_returning())
        .get_result(conn)
        .await?;
    diesel::update(recipients::table.find(V(recipient)))
        .set((
            recipients::status.eq(V(status)),
            recipients::failure_reason.eq(reason),
        ))
        .execute(conn)
        .await?;
    if counted.pending == 0 && counted.dialing == 0 && !counted.status.is_over() {
        diesel::update(batches::table.find(V(batch)))
            .set((
                batches::status.eq(V(BatchStatus::Completed)),
                batches::paused_reason.eq(None::<PausedReason>),
                batches::ended_at.eq(V(at)),
                batches::look_at.eq(V(NEVER)),
            ))
            .execute(conn)
            .await?;
    }
    Ok(())
}

impl Store {
    /// Claims up to `most` batches that are due for a round. Each belongs to the caller for `lease`.
    pub fn take_due_batches(
        &self,
        most: i64,
        lease: Duration,
        now: Timestamp,
    ) -> Answer<'_, Vec<(AccountId, BatchId)>> {
        write!(self, |conn| {
            let due: Vec<BatchId> = batches::table
                .filter(batches::look_at.le(V(now)))
                .order(batches::look_at)
                .limit(most)
                .select(batches::id)
                .load(conn)
                .await?;
            let mut taken = Vec::with_capacity(due.len());
            for id in due {
                // Another node may have claimed it first; then it is no longer due.
                let batch: Option<(AccountId, BatchId)> =
                    diesel::update(batches::table.find(V(id)))
                        .filter(batches::look_at.le(V(now)))
                        .set(batches::look_at.eq(V(now.plus(lease))))
                        .returning((batches::account_id, batches::id))
                        .returned(conn)
                        .await?;
                taken.extend(batch);
            }
            Ok(Verdict::keep_if(!taken.is_empty(), taken))
        })
    }

    /// Places the calls that a batch may place now: each recipient's call, its reservation and the counts, in one
    /// transaction. Returns how many calls were placed.
    pub fn look_at_batch(
        &self,
        account: AccountId,
        id: BatchId,
        at: BatchLook,
    ) -> Answer<'_, usize> {
        write!(self, |conn| {
            locks::lock_account(conn, account).await?;
            let Some(batch) = hold_batch(conn, account, id).await? else {
                return Ok(Verdict::Rollback(0));
            };
            let placed = look(conn, batch, &at).await?;
            if placed > 0 {
                failpoints::hit(failpoints::BATCH_BEFORE_COMMIT);
            }
            Ok(Verdict::Commit(placed))
        })
    }

    /// Whether any batch is due. A read, so that an idle scheduler does not block writes.
    pub fn has_due_batches(&self, now: Timestamp) -> Answer<'_, bool> {
        read!(self, |conn| {
            let due: Option<BatchId> = batches::table
                .filter(batches::look_at.le(V(now)))
                .order(batches::look_at)
                .select(batches::id)
                .found(conn)
                .await?;
            Ok(due.is_some())
        })
    }
}
