//! What is counted of every unit of work.

use std::time::Instant;

use offhook_metrics::metrics;

use crate::StoreError;

/// What a unit of work does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// One read.
    Read,
    /// One transaction.
    Write,
}

/// A unit of work that somebody waits for. One whose asker goes away is not counted.
pub(crate) struct Unit {
    kind: Kind,
    began: Instant,
}

impl Unit {
    pub(crate) fn begin(kind: Kind) -> Self {
        Self {
            kind,
            began: Instant::now(),
        }
    }

    /// Counts what came of it, and hands that on.
    pub(crate) fn end<T>(self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        let kind = match self.kind {
            Kind::Read => "read",
            Kind::Write => "write",
        };
        let database = &metrics().database;
        database.worked(kind, self.began.elapsed());
        if let Err(error) = &done {
            database.failed(error.kind());
        }
        done
    }
}
