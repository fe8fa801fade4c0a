//! The scheduler: polls due batches and places their calls, a few at a time. Nodes share the work.

use super::round::{CALLS, ROUND_EVERY, Round};
use crate::prelude::*;
use crate::workers::{Turns, counted};
use crate::{Batches, Result};

/// Its name in the metrics: each poll is a run of it, and each batch handled.
const JOB: &str = "batches";

/// How long a node may take for a batch before another node may claim it.
const LEASE: Duration = Duration::from_secs(10);

/// Batches claimed at once.
const BATCH: i64 = 32;

/// Places the calls of batches until `stop`.
pub(crate) async fn keep_calling(batches: Batches, stop: CancellationToken) {
    let mut turns = Turns::new(ROUND_EVERY, &stop);
    while turns.next_or(&batches.0.wakes.batches).await {
        if let Err(error) = counted(JOB, due_rounds(&batches).await) {
            tracing::warn!(%error, "the rounds of due batches failed");
            tokio::time::sleep(ROUND_EVERY).await;
        }
    }
}

async fn due_rounds(batches: &Batches) -> Result<()> {
    let Batches(ctx, _) = batches;
    let now = ctx.clock.now();
    if !ctx.store.has_due_batches(now).await? {
        return Ok(());
    }
    for (account, id) in ctx.store.claim_due_batches(BATCH, LEASE, now).await? {
        if let Err(error) = counted(JOB, round(batches, account, id).await) {
            // The lease expires, and the batch is due again.
            tracing::warn!(%error, batch = %id, "a batch's round failed");
        }
    }
    Ok(())
}

async fn round(batches: &Batches, account: AccountId, id: BatchId) -> Result<()> {
    let Batches(ctx, providers) = batches;
    let row = some_or!(ctx.store.account(account).await?, ());
    let live_calls = ctx.plans.terms(row.plan).live_calls;
    let (price, reserve) = providers.legacy_terms();
    let round = Round {
        at: ctx.clock.now(),
        steady: ctx.clock.steady(),
        calls_at_most: share(live_calls),
        most: CALLS,
        price,
        reserve,
        shared_number: providers.shared_number(Runtime::Legacy),
        is_simulated: providers.legacy.is_simulated(),
    };
    if round.run(&ctx.store, (account, id)).await? > 0 {
        failpoints::hit(failpoints::BATCH_AFTER_COMMIT);
        ctx.wakes.dialer.notify_one();
    }
    Ok(())
}

/// How many of an account's calls batches may use. A tenth of the plan's live calls, at least one, stays free, so that
/// single calls never wait for a batch. If the plan has one live call, batches may use it.
pub(crate) fn share(live_calls: u32) -> i64 {
    let live = i64::from(live_calls);
    (live - (live / 10).max(1)).max(live.min(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_the_live_calls_is_left_to_single_calls() {
        let shares = [(0, 0), (1, 1), (2, 1), (5, 4), (20, 18), (100, 90)];
        for (live, most) in shares {
            assert_eq!(share(live), most, "{live}");
        }
    }
}
