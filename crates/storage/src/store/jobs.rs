//! Work that one process at a time does now and then.

use async_recursion::async_recursion as boxed;
use std::time::Duration;

use offhook_domain::{NodeId, Timestamp};

use super::{lease, write};
use crate::dialect::dialect;
use crate::queries;
use crate::{Result, Store, Verdict};

impl Store {
    /// Takes a job that is due for the time of a lease, or renews the lease of one that this process has; `false` if it
    /// is not due or another process is at it. A job that nobody has done yet is due.
    #[boxed]
    pub async fn take_job(&self, name: &'static str, node: NodeId, now: Timestamp) -> Result<bool> {
        let offset = self.offset();
        write!(self, |conn| {
            let now = dialect!(conn, key_clock(now, offset))?;
            queries::jobs::know(conn, name, now).await?;
            let until = now.plus(lease());
            Ok(
                match queries::jobs::take(conn, name, node, (now, until)).await? {
                    true => Verdict::Commit(true),
                    false => Verdict::Rollback(false),
                },
            )
        })
    }

    /// Gives a job back; it is due again after `pause`.
    #[boxed]
    pub async fn finish_job(
        &self,
        name: &'static str,
        node: NodeId,
        now: Timestamp,
        pause: Duration,
    ) -> Result<()> {
        let offset = self.offset();
        write!(self, |conn| {
            let now = dialect!(conn, key_clock(now, offset))?;
            queries::jobs::finish(conn, name, node, now.plus(pause)).await?;
            Ok(Verdict::Commit(()))
        })
    }
}
