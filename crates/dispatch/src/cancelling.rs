//! Cancels the open deliveries of disabled and deleted endpoints. The change itself cancels them only if they are few.

use std::sync::Arc;
use std::time::Duration;

use offhook_storage::StoreError;
use tokio::time::sleep;

use crate::dispatcher::Shared;

const POLL_EVERY: Duration = Duration::from_millis(500);

/// Runs until the dispatcher stops. The next dispatcher cancels the rest; several dispatchers share the work.
pub(crate) async fn run(shared: Arc<Shared>) {
    while !shared.stop.is_cancelled() {
        let cancelled = round(&shared).await.unwrap_or_else(|error| {
            tracing::debug!(%error, "deliveries of disabled endpoints wait to be cancelled");
            0
        });
        if cancelled == 0 {
            tokio::select! {
                () = shared.stop.cancelled() => {}
                () = sleep(POLL_EVERY) => {}
            }
        }
    }
}

/// Cancels a limited number per endpoint, so that no endpoint waits for another's million deliveries.
async fn round(shared: &Shared) -> Result<usize, StoreError> {
    let mut cancelled = 0;
    for endpoint in shared.store.endpoints_to_cancel().await? {
        if shared.stop.is_cancelled() {
            break;
        }
        cancelled += shared.store.cancel_open_deliveries(endpoint).await?;
    }
    Ok(cancelled)
}
