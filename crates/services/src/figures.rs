//! What the figures of the process say of the whole deployment and of its queues.

use offhook_boxed::boxed;
use offhook_metrics::metrics;

use crate::{Result, Services, housekeeping};

#[boxed]
impl Services {
    /// Looks at what waits, and notes it in the figures of the process. It asks the database a few cheap questions, so it
    /// is for every few seconds, whoever reads the figures how often.
    ///
    /// # Errors
    /// `StoreError` if the store fails; what needs no database is noted all the same.
    pub async fn note_figures(&self) -> Result<()> {
        let shared = &self.shared;
        let metrics = metrics();
        metrics.calls.held(shared.registry.len());
        metrics.logs.waiting(self.request_logs().waiting());
        shared.store.note_load();
        metrics.jobs.ready(self.health().ready().await.is_ok());
        let backlog = shared.store.backlog(shared.clock.steady()).await;
        let backlog = housekeeping::counted("figures", backlog)?;
        metrics
            .calls
            .sampled(backlog.calls_queued, backlog.calls_live);
        metrics.deliveries.sampled(
            backlog.deliveries_pending,
            backlog.deliveries_retrying,
            backlog.oldest_due,
        );
        metrics.jobs.batches(backlog.batches_waiting);
        metrics
            .knowledge
            .sampled(backlog.documents_waiting, backlog.documents_to_embed);
        Ok(())
    }
}
