//! A round of the scheduler over a batch: the calls that it may place now, and when its next round is.

use super::steps::end;
use crate::Result;
use crate::prelude::*;
use crate::transact::transact;

/// How soon a running batch has its next round.
pub(super) const ROUND_EVERY: Duration = Duration::from_millis(250);

/// The pause of a batch that lacks credits, budget or an active agent.
const LATER: Duration = Duration::from_secs(30);

/// Calls placed at most in a round.
pub(super) const CALLS: i64 = 50;

/// What the account and the process allow in one round.
pub(crate) struct Round {
    pub(crate) at: Timestamp,
    /// `at` by the process's steady clock: the placed calls wait from then on.
    pub(crate) steady: Timestamp,
    /// Batches may bring the account up to this many calls.
    pub(crate) calls_at_most: i64,
    /// The most calls to place in this round.
    pub(crate) most: i64,
    pub(crate) price: Price,
    /// Credits to reserve per call.
    pub(crate) reserve: Credits,
    /// The number that every account may call from.
    pub(crate) shared_number: Option<E164>,
    /// Whether the legacy provider is simulated. Then it calls from any number, not only from its own.
    pub(crate) is_simulated: bool,
}

impl Round {
    /// Returns how many calls it placed. The batch is locked, and so is the account's row, so that no two rounds use the
    /// same capacity.
    pub(crate) async fn run(
        self,
        store: &Store,
        (account, id): (AccountId, BatchId),
    ) -> Result<i32> {
        transact!(store, |tx| {
            tx.lock_account(account).await?;
            let mut batch = some_or!(tx.lock_batch(account, id).await?, 0);
            let before = batch.dialing;
            let next = self.place_calls(&mut tx, &mut batch).await?;
            tx.save_batch(&batch, next).await?;
            let placed = batch.dialing - before;
            if placed > 0 {
                failpoints::hit(failpoints::BATCH_BEFORE_COMMIT);
            }
            Ok(placed)
        })
    }

    /// Places the calls that the batch may place now: each recipient's call, its reservation and the counts. Returns
    /// when the next round is, if any.
    async fn place_calls(&self, tx: &mut Tx<'_>, batch: &mut Batch) -> Result<Option<Timestamp>> {
        let account = batch.account_id;
        let waits = match batch.status {
            BatchStatus::Scheduled | BatchStatus::Running => true,
            BatchStatus::Paused => batch.paused_reason != Some(PausedReason::Customer),
            BatchStatus::Completed | BatchStatus::Cancelled | BatchStatus::Failed => false,
        };
        if !waits || batch.pending == 0 {
            return Ok(None);
        }
        let lines = Lines {
            carrier: None,
            legacy_any: self.is_simulated,
        };
        let agent = AgentRef::Id(batch.agent_id);
        let found = tx.agent_to_call(account, agent, lines).await?;
        let found = found.filter(|(agent, _)| agent.status != AgentStatus::Archived);
        let Some((agent, usual)) = found else {
            return self.fail(tx, batch).await;
        };
        if agent.status != AgentStatus::Active {
            return Ok(Some(self.at.plus(LATER)));
        }
        // The number that the customer chose, if it still exists; else the number that all calls of the agent use.
        let from = match batch.phone_number_id {
            Some(id) => tx.number_of(account, id).await?,
            None => usual.or_else(|| self.shared_number.clone()),
        };
        let Some(from) = from else {
            return self.fail(tx, batch).await;
        };
        let most = (self.calls_at_most - tx.open_calls(account).await?).min(self.most);
        if most <= 0 {
            return Ok(self.goes_on(batch, 0));
        }
        let recipients = tx.next_recipients(batch.id, most).await?;
        let (budget, revoked_at) = match batch.key_id {
            Some(key) => tx.key_bounds(key).await?,
            None => (None, None),
        };
        if revoked_at.is_some() {
            pause(batch, PausedReason::KeyRevoked);
            return Ok(None);
        }
        let mut placed = 0;
        for recipient in recipients {
            let call = self.call(batch, &recipient, budget, &from);
            let lacks = match tx.try_reserve(&call).await? {
                Reserve::Held => None,
                Reserve::WalletTooLow => Some(PausedReason::NoCredits),
                Reserve::BudgetTooLow => Some(PausedReason::KeyBudget),
            };
            if let Some(reason) = lacks {
                self.goes_on(batch, placed);
                pause(batch, reason);
                return Ok(Some(self.at.plus(LATER)));
            }
            tx.place_batch_call(&recipient, &call).await?;
            placed += 1;
        }
        Ok(self.goes_on(batch, placed))
    }

    async fn fail(&self, tx: &mut Tx<'_>, batch: &mut Batch) -> Result<Option<Timestamp>> {
        end(tx, batch, BatchStatus::Failed, self.at).await?;
        Ok(None)
    }

    /// The batch runs, with `placed` more calls. While recipients wait, another round follows.
    fn goes_on(&self, batch: &mut Batch, placed: i32) -> Option<Timestamp> {
        // A batch that is paused for lack of credits runs again once a call could be placed.
        if batch.status != BatchStatus::Paused || placed > 0 {
            batch.status = BatchStatus::Running;
            batch.paused_reason = None;
        }
        batch.pending -= placed;
        batch.dialing += placed;
        batch.started_at.get_or_insert(self.at);
        (batch.pending > 0).then(|| self.at.plus(ROUND_EVERY))
    }

    fn call(
        &self,
        batch: &Batch,
        recipient: &Recipient,
        key_budget: Option<Credits>,
        from: &E164,
    ) -> NewCall {
        NewCall {
            id: mint(self.at),
            account_id: batch.account_id,
            agent_id: batch.agent_id,
            agent_ref: batch.agent_id.to_string(),
            agent_version: 0,
            runtime: Runtime::Legacy,
            key_id: batch.key_id,
            key_budget,
            from: from.clone(),
            to: recipient.to_number.clone(),
            metadata: recipient.metadata.clone(),
            price: self.price,
            reserve: self.reserve,
            at: self.at,
            steady: self.steady,
            event: None,
            simulated: self.is_simulated,
            consent: None,
            campaign: None,
            idempotency: None,
        }
    }
}

fn pause(batch: &mut Batch, reason: PausedReason) {
    batch.status = BatchStatus::Paused;
    batch.paused_reason = Some(reason);
}
