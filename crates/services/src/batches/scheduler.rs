//! The scheduler: polls due batches and places their calls, a few at a time. Nodes share the work.

use std::time::Duration;

use offhook_domain::{AccountId, BatchId, Runtime};
use offhook_failpoints as failpoints;
use offhook_storage::BatchLook;
use tokio_util::sync::CancellationToken;

use crate::workers::{Turns, counted};
use crate::{Batches, Result};

/// Its name in the metrics: each poll is a run of it, and each batch handled.
const JOB: &str = "batches";

/// How often due batches are polled, and how soon a running one is polled again.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The pause of a batch that lacks credits, budget or an active agent.
const LATER: Duration = Duration::from_secs(30);

/// How long a node may take for a batch before another node may claim it.
const LEASE: Duration = Duration::from_secs(10);

/// Batches claimed at once.
const BATCH: i64 = 32;

/// Calls placed at most each time a batch is handled.
const CALLS: i64 = 50;

/// Places the calls of batches until `stop`.
pub(crate) async fn keep_calling(batches: Batches, stop: CancellationToken) {
    let mut turns = Turns::new(LOOK_EVERY, &stop);
    while turns.next_or(&batches.0.wakes.batches).await {
        if let Err(error) = counted(JOB, look_around(&batches).await) {
            tracing::warn!(%error, "due batches could not be looked at");
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

async fn look_around(batches: &Batches) -> Result<()> {
    let Batches(shared, _) = batches;
    let now = shared.clock.now();
    if !shared.store.has_due_batches(now).await? {
        return Ok(());
    }
    for (account, id) in shared.store.take_due_batches(BATCH, LEASE, now).await? {
        if let Err(error) = counted(JOB, look_at(batches, account, id).await) {
            // The lease expires, and the batch is due again.
            tracing::warn!(%error, batch = %id, "a batch could not be looked at");
        }
    }
    Ok(())
}

async fn look_at(batches: &Batches, account: AccountId, id: BatchId) -> Result<()> {
    let Batches(shared, providers) = batches;
    let Some(row) = shared.store.account(account).await? else {
        return Ok(());
    };
    let live_calls = shared.plans.terms(row.plan).live_calls;
    let (price, reserve) = providers.legacy_terms();
    let at = shared.clock.now();
    let look = BatchLook {
        at,
        steady: shared.clock.steady(),
        calls_at_most: share(live_calls),
        most: CALLS,
        price,
        reserve,
        shared_number: providers.shared_number(Runtime::Legacy),
        is_simulated: providers.legacy.is_simulated(),
        next: at.plus(LOOK_EVERY),
        later: at.plus(LATER),
    };
    if shared.store.look_at_batch(account, id, look).await? > 0 {
        failpoints::hit(failpoints::BATCH_AFTER_COMMIT);
        shared.wakes.dialer.notify_one();
    }
    Ok(())
}

/// How many of an account's calls batches may use. A tenth of the plan's live calls, at least one, stays free, so that
/// single calls never wait for a batch. If the plan has one live call, batches may use it.
fn share(live_calls: u32) -> i64 {
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
