//! Cancels what disabled and deleted endpoints leave open: their change waits for little of it.

use std::sync::Arc;
use std::time::Duration;

use offhook_storage::StoreError;
use tokio::time::sleep;

use crate::dispatcher::Shared;

/// How often endpoints are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Cancels until the dispatcher stops. What is left then is for the next one; several share it.
pub(crate) async fn run(shared: Arc<Shared>) {
    while !shared.stop.is_cancelled() {
        let cancelled = round(&shared).await.unwrap_or_else(|error| {
            tracing::debug!(%error, "deliveries of disabled endpoints wait to be cancelled");
            0
        });
        if cancelled == 0 {
            tokio::select! {
                () = shared.stop.cancelled() => {}
                () = sleep(LOOK_EVERY) => {}
            }
        }
    }
}

/// Some deliveries of each endpoint, so that none waits for another's million.
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
