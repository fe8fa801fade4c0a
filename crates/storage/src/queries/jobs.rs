//! Work that one process at a time does now and then.

use crate::database::RunQueryDsl;
use diesel::prelude::*;
use offhook_domain::{NodeId, Timestamp};

use crate::Result;
use crate::database::Conn;
use crate::schema::jobs;
use crate::sql::V;

/// Makes sure that the job has a row; a new one is due at once.
pub(crate) async fn know(conn: &mut Conn, name: &str, now: Timestamp) -> Result<()> {
    let known = jobs::table
        .find(name.to_owned())
        .select(jobs::name)
        .found::<String, _>(conn)
        .await?;
    if known.is_none() {
        diesel::insert_into(jobs::table)
            .values((jobs::name.eq(name.to_owned()), jobs::due_at.eq(V(now))))
            .on_conflict_do_nothing()
            .execute(conn)
            .await?;
    }
    Ok(())
}

/// Takes the job, or keeps it, until `expires_at`; `false` if it is not due or another process is at it.
pub(crate) async fn take(
    conn: &mut Conn,
    name: &str,
    node: NodeId,
    (now, expires_at): (Timestamp, Timestamp),
) -> Result<bool> {
    let free = jobs::holder
        .is_null()
        .or(jobs::holder.eq(V(node)))
        .or(jobs::lease_expires_at.lt(V(now)));
    diesel::update(jobs::table.find(name.to_owned()))
        .filter(jobs::due_at.le(V(now)))
        .filter(free)
        .set((
            jobs::holder.eq(V(node)),
            jobs::lease_expires_at.eq(V(expires_at)),
        ))
        .changes(conn)
        .await
}

/// Gives the job back, due again at `due_at`, if this process still has it.
pub(crate) async fn finish(
    conn: &mut Conn,
    name: &str,
    node: NodeId,
    due_at: Timestamp,
) -> Result<()> {
    diesel::update(jobs::table.find(name.to_owned()))
        .filter(jobs::holder.eq(V(node)))
        .set((
            jobs::holder.eq(None::<NodeId>),
            jobs::lease_expires_at.eq(None::<Timestamp>),
            jobs::due_at.eq(V(due_at)),
        ))
        .run(conn)
        .await
}
