//! Calls whose owner process is gone.

use futures_util::FutureExt as _;

use offhook_engine::EndRequest;
use offhook_metrics::metrics;
use tokio::time::Instant;

use super::closing::{Lasted, MediaEnd, end_unsaid, retry_hang_up, settle};
use super::{SWEEP_EVERY, expire, legacy};
use crate::Result;
use crate::prelude::*;
use crate::workers::Turns;

/// Orphans claimed at once.
const BATCH: i64 = 64;

/// Takes over calls that lost their owner, and expires calls that were not dialed.
pub(crate) async fn sweep(runner: Arc<Runner>, stop: CancellationToken) {
    let mut turns = Turns::new(SWEEP_EVERY, &stop);
    // The embedded database has one owner: any other claim holder is gone.
    let mut all = runner.store.is_embedded();
    while turns.next().await {
        if let Err(error) = expire(&runner).await {
            tracing::warn!(%error, "overdue calls could not be ended");
        }
        let may_judge = runner.live.registry.renewals.may_judge(Instant::now());
        if !runner.store.is_embedded() && !may_judge {
            continue;
        }
        match take(&runner, all).await {
            // Nothing of the dead process is left.
            Ok(0) => all = false,
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "orphaned calls could not be taken over"),
        }
    }
}

async fn take(runner: &Arc<Runner>, all: bool) -> Result<usize> {
    let now = runner.clock.now();
    let store = &runner.store;
    let orphans = store.take_orphans(all, BATCH, runner.node, now).await?;
    let count = orphans.len();
    metrics().calls.orphans_taken(count);
    for call in orphans {
        let Some(claim) = call.claim_id else { continue };
        // The call may be this process's own: the process stalled, or a carrier never reported back.
        if runner.live.registry.end(call.id, EndRequest::ClaimLost) {
            tracing::warn!(call = %call.id, "the lease of a call that is held here had run out");
        }
        let owner = runner.clone();
        runner.live.held.spawn(async move {
            let runner = owner;
            if let Err(error) = report(&runner, &call, claim).await {
                tracing::error!(%error, call = %call.id, "an orphaned call could not be reported");
            }
        }.boxed());
    }
    Ok(count)
}

/// Reports an orphan. A `closing` call keeps its outcome; a dialing or live one is hung up at the carrier and counts as
/// interrupted.
async fn report(runner: &Arc<Runner>, call: &Conversation, claim: ClaimId) -> Result<()> {
    if call.state == CallState::Closing {
        let outcome = match (call.termination_reason, call.failure_reason) {
            (Some(reason), _) => CallOutcome::Completed(reason),
            (None, Some(reason)) => CallOutcome::Failed(reason),
            (None, None) => CallOutcome::Failed(FailureReason::Interrupted),
        };
        let ended_at = call.ended_at.unwrap_or(call.started_at);
        let lasted = Lasted::at_most(call, ended_at, call.duration_seconds.unwrap_or(0));
        return settle(runner, call, claim, outcome, lasted, String::new()).await;
    }
    if call.runtime == Runtime::Legacy {
        // Its media lives at the provider, which may continue the call.
        if legacy::adopt(runner, call, claim).await? {
            return Ok(());
        }
    } else if !call.is_of_a_page() {
        // A page's connection died with its process.
        let (handle, dialog) = (CallHandle(call.id), call.line.dialog.as_deref());
        let network = runner.providers.network_of(&runner.store, call).await?;
        retry_hang_up(call, "carrier", || network.hang_up_orphan(handle, dialog)).await;
    }
    let outcome = CallOutcome::Failed(FailureReason::Interrupted);
    let ended_at = last_sign(runner, call).await;
    let media = MediaEnd {
        outcome,
        answered_at: call.answered_at,
        ended_at,
        latencies_ms: Vec::new(),
        signaled: call.line.signaled,
    };
    end_unsaid(runner, call, claim, media).await
}

/// When the call counts as ended: after its last recorded moment. Nothing later is charged.
async fn last_sign(runner: &Runner, call: &Conversation) -> Timestamp {
    let last = runner.store.turns(call.id, call.last_seq - 1, 1).await;
    let last = last.ok().and_then(|turns| {
        turns.last().map(|turn| {
            let spoken = u64::try_from(turn.duration_ms.unwrap_or(0)).unwrap_or(0);
            turn.at.plus(Duration::from_millis(spoken))
        })
    });
    // By the owner's clock, which may differ from this process's.
    last.or(call.answered_at)
        .unwrap_or_else(|| runner.clock.now())
}
