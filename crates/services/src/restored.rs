//! Makes a database that was restored from a backup safe to serve. It is a past state, and its recipients must not be
//! called twice.

use crate::Result;
use crate::prelude::*;

/// What was stopped in a restored database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// Queued calls that ended as `expired`: they may have been dialed after the backup.
    pub expired_calls: usize,
    /// Batches that were paused: their waiting recipients may have been called after the backup.
    pub paused_batches: usize,
}

#[derive(Clone)]
pub struct Restored(pub(crate) Arc<Context>, pub(crate) Arc<Live>);

#[boxed]
impl Restored {
    /// Ends every queued call as `expired` and pauses every batch, before any process serves the database. After an
    /// error it can be repeated.
    pub async fn hold(&self) -> Result<Held> {
        let Context { store, clock, .. } = &*self.0;
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
                let why = (FailureReason::Expired, None);
                crate::calls::end_undialed(&self.0, &self.1, (account, id), why).await?;
                expired_calls += 1;
            }
        }
    }
}
