//! Running processes, and what the whole service remembers of itself.

use crate::database::RunQueryDsl;
use crate::store::{Answer, keep, read};
use diesel::prelude::*;
use offhook_domain::{NodeId, Timestamp};

use crate::database::Conn;
use crate::schema::{nodes, service_settings as settings};
use crate::sql::V;
use crate::{Result, Store, StoreError};

/// Registers this node or renews its lease; forgets the ones that have been gone for an hour.
pub(crate) async fn register(
    conn: &mut Conn,
    node: NodeId,
    (shares, redis): (bool, Option<&str>),
    (now, lease): (Timestamp, Timestamp),
) -> Result<()> {
    let renewed = diesel::update(nodes::table.find(V(node)))
        .set((
            nodes::lease_expires_at.eq(V(lease)),
            nodes::redis_id.eq(redis),
        ))
        .execute(conn)
        .await?;
    if renewed == 0 {
        diesel::insert_into(nodes::table)
            .values((
                nodes::id.eq(V(node)),
                nodes::has_redis.eq(shares),
                nodes::redis_id.eq(redis),
                nodes::started_at.eq(V(now)),
                nodes::lease_expires_at.eq(V(lease)),
            ))
            .execute(conn)
            .await?;
        let gone = now.minus(std::time::Duration::from_secs(3600));
        diesel::delete(nodes::table.filter(nodes::lease_expires_at.lt(V(gone))))
            .execute(conn)
            .await?;
    }
    Ok(())
}

/// Whether an older node that lives counts requests in another Redis than this one. Where either does not know its own at
/// present, nothing is said.
pub(crate) async fn counts_apart(conn: &mut Conn, node: NodeId, now: Timestamp) -> Result<bool> {
    let mine: Option<(Timestamp, Option<String>)> = nodes::table
        .find(V(node))
        .select((nodes::started_at, nodes::redis_id))
        .found(conn)
        .await?;
    let Some((started, Some(redis))) = mine else {
        return Ok(false);
    };
    let is_older = nodes::started_at
        .lt(V(started))
        .or(nodes::started_at.eq(V(started)).and(nodes::id.lt(V(node))));
    let apart: i64 = nodes::table
        .filter(nodes::lease_expires_at.gt(V(now)))
        .filter(is_older)
        .filter(nodes::redis_id.ne(redis))
        .count()
        .get_result(conn)
        .await?;
    Ok(apart > 0)
}

/// The names of the Redises that living nodes count in.
pub(crate) async fn redis_of_living(conn: &mut Conn, now: Timestamp) -> Result<Vec<String>> {
    let named: Vec<Option<String>> = nodes::table
        .filter(nodes::lease_expires_at.gt(V(now)))
        .select(nodes::redis_id)
        .distinct()
        .load(conn)
        .await?;
    Ok(named.into_iter().flatten().collect())
}

/// Whether this node has no shared limits and others live that it would have to share them with: an older one, or one
/// that has them. `None` while this one is not registered.
pub(crate) async fn is_second_without_redis(
    conn: &mut Conn,
    node: NodeId,
    has_redis: bool,
    now: Timestamp,
) -> Result<Option<bool>> {
    let started: Option<Timestamp> = nodes::table
        .find(V(node))
        .select(nodes::started_at)
        .found(conn)
        .await?;
    let Some(started) = started else {
        return Ok(None);
    };
    if has_redis {
        // Whoever has none gives way, so that one after the other can be started with it.
        return Ok(Some(false));
    }
    let is_older = nodes::started_at
        .lt(V(started))
        .or(nodes::started_at.eq(V(started)).and(nodes::id.lt(V(node))));
    let others: i64 = nodes::table
        .filter(nodes::id.ne(V(node)))
        .filter(nodes::lease_expires_at.gt(V(now)))
        .filter(is_older.or(nodes::has_redis))
        .count()
        .get_result(conn)
        .await?;
    Ok(Some(others > 0))
}

/// How many nodes have a lease.
pub(crate) async fn living(conn: &mut Conn, now: Timestamp) -> Result<i64> {
    Ok(nodes::table
        .filter(nodes::lease_expires_at.gt(V(now)))
        .count()
        .get_result(conn)
        .await?)
}

/// Forgets every node.
pub(crate) async fn forget_all(conn: &mut Conn) -> Result<()> {
    diesel::delete(nodes::table).run(conn).await
}

/// Writes a setting if it has never been written; returns what is in force.
pub(crate) async fn settle_setting(conn: &mut Conn, name: &str, value: &str) -> Result<String> {
    diesel::insert_into(settings::table)
        .values((settings::name.eq(name), settings::value.eq(value)))
        .on_conflict_do_nothing()
        .execute(conn)
        .await?;
    Ok(settings::table
        .find(name)
        .select(settings::value)
        .first(conn)
        .await?)
}

/// A setting of the whole service.
pub(crate) async fn setting(conn: &mut Conn, name: &str) -> Result<Option<String>> {
    Ok(settings::table
        .find(name)
        .select(settings::value)
        .found(conn)
        .await?)
}

impl Store {
    /// Asks the database for a sign of life.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] without one.
    pub fn ping(&self) -> Answer<'_, ()> {
        read!(self, |conn| {
            let one: i32 = diesel::select(diesel::dsl::sql::<diesel::sql_types::Integer>("1"))
                .get_result(conn)
                .await?;
            if one == 1 {
                Ok(())
            } else {
                Err(StoreError::Internal("1 is not 1".into()))
            }
        })
    }

    /// Forgets this process.
    pub fn leave_node(&self, node: NodeId) -> Answer<'_, ()> {
        keep!(self, |conn| {
            diesel::delete(nodes::table.find(V(node))).run(conn).await
        })
    }
}
