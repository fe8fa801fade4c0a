//! How much work waits, for the figures of the process.

use std::time::Duration;

use offhook_domain::Timestamp;
use offhook_metrics::metrics;

use super::{Answer, Inner, read};
use crate::dialect::dialect;
use crate::queries;
use crate::{Backlog, Store};

impl Store {
    /// How much work of the whole deployment waits; `steady` judges on the embedded database what is due. Costs a few
    /// walks over indexes of open work, so it is for every few seconds and not for every request.
    pub fn backlog(&self, steady: Timestamp) -> Answer<'_, Backlog> {
        let offset = self.offset();
        read!(self, |conn| {
            let clocks = dialect!(conn, delivery_clocks(steady, offset))?;
            let oldest_due = queries::dispatch::oldest_due(conn, clocks).await?;
            let batches_waiting = queries::figures::batches(conn).await?;
            let waits = queries::figures::waits(conn).await?;
            let [
                calls_queued,
                calls_live,
                deliveries_pending,
                deliveries_retrying,
                rest @ ..,
            ] = waits;
            let [documents_waiting, documents_to_embed] = rest;
            Ok(Backlog {
                calls_queued,
                calls_live,
                deliveries_pending,
                deliveries_retrying,
                oldest_due: oldest_due.unwrap_or(Duration::ZERO),
                batches_waiting,
                documents_waiting,
                documents_to_embed,
            })
        })
    }

    /// Notes in the figures of the process how busy the connections or threads to the database are.
    pub fn note_load(&self) {
        let database = &metrics().database;
        match &self.inner {
            Inner::Sqlite(db) => {
                let (writes, reads) = db.waiting();
                database.writer_queue(writes);
                database.waiting(reads);
            }
            Inner::Postgres(db) => {
                let (in_use, idle, waiting) = db.connections();
                database.connections(in_use, idle);
                database.waiting(waiting);
            }
        }
    }
}
