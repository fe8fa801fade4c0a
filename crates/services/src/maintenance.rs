//! Periodic writes and deletions, off every request's path.

use tokio::time::Instant;

use crate::prelude::*;
use crate::workers::{Turns, counted};
use crate::{Keys, Result, billing, people};

/// How often keys' last uses are written and expired Idempotency-Keys deleted.
const EVERY: Duration = Duration::from_secs(5);

/// How often expired deliveries are polled.
const RETENTION_EVERY: Duration = Duration::from_secs(60);

/// Transactions per run at most, so that nothing else waits for long.
const BATCHES: usize = 100;

/// Runs maintenance until `stop`, and once more then.
pub(crate) async fn keep((ctx, keys): (Arc<Context>, Keys), stop: CancellationToken) {
    let mut turns = Turns::new(EVERY, &stop);
    let mut looked_at: Option<Instant> = None;
    let store = &ctx.store;
    loop {
        let stopping = !turns.next().await;
        if let Err(error) = counted("key_uses", keys.write_last_uses().await) {
            tracing::warn!(%error, "the last uses of keys could not be written");
        }
        if stopping {
            return;
        }
        let purged = store.purge_keys(ctx.clock.steady()).await;
        if let Err(error) = counted("idempotency_keys", purged) {
            tracing::warn!(%error, "expired Idempotency-Keys could not be deleted");
        }
        if looked_at.is_some_and(|at| at.elapsed() < RETENTION_EVERY) {
            continue;
        }
        looked_at = Some(Instant::now());
        let now = ctx.clock.now();
        let ended = in_batches(&stop, || async {
            Ok(store.delete_old_deliveries(now).await? | store.clear_old_bodies(now).await?)
        });
        if let Err(error) = counted("old_deliveries", ended.await) {
            tracing::warn!(%error, "old deliveries could not be deleted");
        }
        let ended = in_batches(&stop, || store.delete_old_legacy_reports(now));
        if let Err(error) = counted("legacy_reports", ended.await) {
            tracing::warn!(%error, "old reports of the legacy provider could not be deleted");
        }
        let ended = in_batches(&stop, || store.delete_old_test_runs(now));
        if let Err(error) = counted("test_runs", ended.await) {
            tracing::warn!(%error, "old runs of scenarios could not be deleted");
        }
        let ended = in_batches(&stop, || people::delete_ended(&ctx));
        if let Err(error) = counted("sessions", ended.await) {
            tracing::warn!(%error, "ended sessions could not be deleted");
        }
        let entered = billing::enter_months(&ctx).await;
        if let Err(error) = counted("months", entered) {
            tracing::warn!(%error, "accounts could not enter the month");
        }
        let noted = billing::keep_noting_thresholds(&ctx).await;
        if let Err(error) = counted("thresholds", noted) {
            tracing::warn!(%error, "billing thresholds could not be checked");
        }
    }
}

/// Deletes batches until none is left or the worker must stop.
async fn in_batches<F: Future<Output = Result<bool>>>(
    stop: &CancellationToken,
    delete: impl Fn() -> F,
) -> Result<()> {
    for _ in 0..BATCHES {
        if !delete().await? || stop.is_cancelled() {
            break;
        }
    }
    Ok(())
}
