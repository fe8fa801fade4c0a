//! What is written or deleted now and then, off every request's path.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::{Keys, Shared};

/// How often keys' last uses are written and expired Idempotency-Keys deleted.
const EVERY: Duration = Duration::from_secs(5);

/// Keeps house until `stop`, and once more then.
pub(crate) async fn keep(shared: Arc<Shared>, keys: Keys, stop: CancellationToken) {
    let mut tick = interval(EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let stopping = tokio::select! {
            () = stop.cancelled() => true,
            _ = tick.tick() => false,
        };
        if let Err(error) = keys.write_last_uses().await {
            tracing::warn!(%error, "the last uses of keys could not be written");
        }
        if stopping {
            return;
        }
        if let Err(error) = shared.store.purge_keys(shared.clock.now()).await {
            tracing::warn!(%error, "expired Idempotency-Keys could not be deleted");
        }
    }
}
