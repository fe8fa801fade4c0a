//! Metrics of the whole deployment and of its queues.

use offhook_boxed::boxed;
use offhook_metrics::metrics;

use crate::workers::counted;
use crate::{Result, Services};

#[boxed]
impl Services {
    /// Samples the queues and records them in this process's metrics. It runs a few cheap queries, so run it every few
    /// seconds, however often the metrics are read. If the store fails, metrics without a query are recorded all the
    /// same.
    pub async fn note_figures(&self) -> Result<()> {
        let runner = &self.runner;
        let metrics = metrics();
        metrics.calls.held(runner.live.registry.len());
        metrics.logs.waiting(self.request_logs().waiting());
        runner.store.note_load();
        metrics.jobs.ready(self.health().ready().await.is_ok());
        let backlog = runner.store.backlog(runner.clock.steady()).await;
        let backlog = counted("figures", backlog)?;
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
