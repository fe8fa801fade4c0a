//! Running processes, and settings of the whole service.

use crate::migrate;
use crate::prelude::*;
use crate::schema::open_streams as streams;
use crate::store::Inner;
use std::sync::Arc;

/// The setting with the oldest schema that the database still supports.
const OLDEST_SCHEMA: &str = "oldest_schema";

/// How many nodes have a valid lease.
pub(crate) async fn living(conn: &mut Conn, now: Timestamp) -> Result<i64> {
    Ok(nodes::table
        .filter(nodes::lease_expires_at.gt(V(now)))
        .counted(conn)
        .await?)
}

pub(crate) async fn forget_all(conn: &mut Conn) -> Result<()> {
    diesel::delete(nodes::table).run(conn).await
}

/// Writes a setting if it was never written. Returns the value in force.
pub(crate) async fn settle_setting(conn: &mut Conn, name: &str, value: &str) -> Result<String> {
    insert_new! { conn, settings: name, value }?;
    Ok(settings::table
        .find(name)
        .select(settings::value)
        .first(conn)
        .await?)
}

pub(crate) async fn setting(conn: &mut Conn, name: &str) -> Result<Option<String>> {
    Ok(settings::table
        .find(name)
        .select(settings::value)
        .found(conn)
        .await?)
}

#[boxed]
impl Store {
    /// Checks that the database answers.
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

    pub fn leave_node(&self, node: NodeId) -> Answer<'_, ()> {
        diesel::delete(nodes::table.find(V(node))).commit(self)
    }

    /// Returns a sentence if a newer version has changed the database in a way that this one cannot work with. Mere
    /// additions by a newer version do no harm: this one continues, and may even be started.
    ///
    /// A migration that removes something must say so: it sets `oldest_schema` to the first migration whose version did
    /// not need it.
    pub async fn outgrown(&self) -> Result<Option<String>> {
        let oldest = read!(self, |conn| setting(conn, OLDEST_SCHEMA).await).await?;
        let newest = migrate::newest();
        Ok(oldest.filter(|oldest| *oldest > newest).map(|oldest| {
            format!(
                "this database was changed for versions that know migration {oldest}, and this one knows none after \
                 {newest}: start a newer version of Offhook"
            )
        }))
    }

    /// Registers this process or renews its lease. A registration also deletes the processes that have been gone for an
    /// hour. `shares` means that it counts requests in Redis and keeps its files where other processes see them.
    /// `redis` names its Redis, if currently known. Returns whether an older process counts in another Redis. Processes
    /// that do not know theirs are ignored.
    pub fn register_node(
        &self,
        node: NodeId,
        shares: bool,
        redis: Option<Arc<str>>,
        now: Timestamp,
    ) -> Answer<'_, bool> {
        let offset = self.offset();
        keep!(self, |conn| {
            let now = dialect!(conn, key_clock(now, offset))?;
            let (redis, until) = (redis.as_deref(), now.plus(lease()));
            let is_renewed = diesel::update(nodes::table.find(V(node)))
                .set(row! { nodes: lease_expires_at = until, redis_id = redis })
                .changes(conn)
                .await?;
            if !is_renewed {
                insert! {
                    conn, nodes: id = node, has_redis = shares, redis_id = redis, started_at = now,
                    lease_expires_at = until
                }?;
                let gone = now.minus(Duration::from_secs(3600));
                diesel::delete(nodes::table.filter(nodes::lease_expires_at.lt(V(gone))))
                    .execute(conn)
                    .await?;
            }
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
                .counted(conn)
                .await?;
            Ok(apart > 0)
        })
    }

    /// The names of the Redis servers in which living processes count; one, if all is well.
    pub fn redis_of_living_nodes(&self, now: Timestamp) -> Answer<'_, Vec<String>> {
        let offset = self.offset();
        read!(self, |conn| {
            let now = dialect!(conn, key_clock(now, offset))?;
            let named: Vec<Option<String>> = nodes::table
                .filter(nodes::lease_expires_at.gt(V(now)))
                .select(nodes::redis_id)
                .distinct()
                .load(conn)
                .await?;
            Ok(named.into_iter().flatten().collect())
        })
    }

    /// Records how many event streams of an account's key a registered process has open. With `most`, returns `false`
    /// and records nothing if the total with other living processes would exceed it. The embedded database has only one
    /// process.
    pub async fn note_streams(
        &self,
        (account, key): (AccountId, KeyId),
        node: NodeId,
        (open, most): (i32, Option<i32>),
        now: Timestamp,
    ) -> Result<bool> {
        ensure!(!matches!(self.inner, Inner::Sqlite(_)), true);
        let offset = self.offset();
        transact!(self, |conn| {
            locks::lock_account(conn, account).await?;
            let now = dialect!(conn, key_clock(now, offset))?;
            let elsewhere: Option<i64> = streams::table
                .inner_join(nodes::table)
                .filter(streams::key_id.eq(V(key)))
                .filter(streams::node_id.ne(V(node)))
                .filter(nodes::lease_expires_at.gt(V(now)))
                .select(diesel::dsl::sum(streams::streams))
                .get_result(conn)
                .await?;
            let together = elsewhere.unwrap_or(0) + i64::from(open);
            if most.is_some_and(|most| together > i64::from(most)) {
                return Ok(Rollback(false));
            }
            let here = streams::table.find((V(key), V(node)));
            if open == 0 {
                diesel::delete(here).execute(conn).await?;
            } else if !diesel::update(here)
                .set(streams::streams.eq(open))
                .changes(conn)
                .await?
            {
                insert! { conn, streams: key_id = key, node_id = node, streams = open }?;
            }
            Ok(Commit(true))
        })
        .await
    }

    /// Whether this process shares nothing (see [`Store::register_node`]) while another one is older, or does share.
    /// `None` while it is not registered.
    pub fn is_second_node_without_redis(
        &self,
        node: NodeId,
        shares: bool,
        now: Timestamp,
    ) -> Answer<'_, Option<bool>> {
        let offset = self.offset();
        read!(self, |conn| {
            let now = dialect!(conn, key_clock(now, offset))?;
            let started: Option<Timestamp> = nodes::table
                .find(V(node))
                .select(nodes::started_at)
                .found(conn)
                .await?;
            let started = some_or!(started, None);
            if shares {
                // A process without Redis gives way, so that processes can be restarted with it one after the other.
                return Ok(Some(false));
            }
            let is_older = nodes::started_at
                .lt(V(started))
                .or(nodes::started_at.eq(V(started)).and(nodes::id.lt(V(node))));
            let others: i64 = nodes::table
                .filter(nodes::id.ne(V(node)))
                .filter(nodes::lease_expires_at.gt(V(now)))
                .filter(is_older.or(nodes::has_redis))
                .counted(conn)
                .await?;
            Ok(Some(others > 0))
        })
    }
}
