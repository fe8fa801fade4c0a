//! What becomes of a database that was restored from a backup: it is the past, and nobody is called twice for that.

use offhook_boxed::boxed;
use std::sync::Arc;
use std::time::Duration;

use crate::{Result, Shared};

/// What was held in a restored database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// Queued calls that ended as `expired`: they may have been dialed after the backup.
    pub expired_calls: usize,
    /// Batches that were paused: recipients that wait in them may have been called after the backup.
    pub paused_batches: usize,
}

/// A database that was restored from a backup.
#[derive(Clone)]
pub struct Restored(pub(crate) Arc<Shared>);

#[boxed]
impl Restored {
    /// Ends every queued call as `expired` and pauses every batch, before anything serves the database.
    ///
    /// # Errors
    /// `StoreError` if the store fails; it can be done again.
    pub async fn hold(&self) -> Result<Held> {
        let Shared { store, clock, .. } = &*self.0;
        let paused_batches = store.hold_restored(clock.now()).await?;
        let mut expired_calls = 0;
        loop {
            let queued = store.overdue_calls(Duration::ZERO, clock.now()).await?;
            if queued.is_empty() {
                return Ok(Held {
                    expired_calls,
                    paused_batches,
                });
            }
            for (account, id) in queued {
                crate::calls::expire_queued(&self.0, account, id).await?;
                expired_calls += 1;
            }
        }
    }
}
