//! Work that one process at a time does now and then.

use std::time::Duration;

use offhook_domain::{NodeId, Timestamp};

use super::{Answer, keep, lease, write};
use crate::dialect::dialect;
use crate::queries;
use crate::{Store, Verdict};

impl Store {
    /// Takes a job that is due for the time of a lease, or renews the lease of one that this process has; `false` if it
    /// is not due or another process is at it. A job that nobody has done yet is due.
    pub fn take_job(&self, name: &'static str, node: NodeId, now: Timestamp) -> Answer<'_, bool> {
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
    pub fn finish_job(
        &self,
        name: &'static str,
        node: NodeId,
        now: Timestamp,
        pause: Duration,
    ) -> Answer<'_, ()> {
        let offset = self.offset();
        keep!(self, |conn| {
            let now = dialect!(conn, key_clock(now, offset))?;
            queries::jobs::finish(conn, name, node, now.plus(pause)).await
        })
    }
}
