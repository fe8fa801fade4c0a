//! Periodic jobs that one process at a time runs.

use crate::prelude::*;

impl Store {
    /// Claims a due job for the time of a lease, or renews the lease of one that this process holds. `false` if it is
    /// not due or another process holds it. A job that was never run is due.
    pub fn take_job(&self, name: &'static str, node: NodeId, now: Timestamp) -> Answer<'_, bool> {
        let offset = self.offset();
        transact!(self, |conn| {
            let now = dialect!(conn, key_clock(now, offset))?;
            let known: Option<String> = jobs::table
                .find(name)
                .select(jobs::name)
                .found(conn)
                .await?;
            if known.is_none() {
                insert_new! { conn, jobs: name, due_at = now }?;
            }
            let is_free = jobs::holder
                .is_null()
                .or(jobs::holder.eq(Some(node)))
                .or(jobs::lease_expires_at.lt(Some(now)));
            let is_taken = diesel::update(jobs::table.find(name))
                .filter(jobs::due_at.le(V(now)))
                .filter(is_free)
                .set(row! { jobs: holder = node, lease_expires_at = now.plus(lease()) })
                .changes(conn)
                .await?;
            Ok(Verdict::keep_if(is_taken, is_taken))
        })
    }

    /// Releases a job, if this process still holds it. It is due again after `pause`.
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
            diesel::update(jobs::table.find(name))
                .filter(jobs::holder.eq(Some(node)))
                .set(row! {
                    jobs: holder = NULL, lease_expires_at = NULL, due_at = now.plus(pause)
                })
                .run(conn)
                .await
        })
    }
}
