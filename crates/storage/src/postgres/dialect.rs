//! The few statements that differ, for PostgreSQL.

mod about;
mod accounts;
mod calls;
mod deliveries;
mod delivery_claims;
mod idempotency;
mod knowledge;
mod outbox;

use crate::prelude::*;

pub(crate) use crate::queries::recipients::insert_recipients;
pub(crate) use about::*;
pub(crate) use accounts::*;
pub(crate) use calls::*;
pub(crate) use deliveries::*;
pub(crate) use delivery_claims::*;
pub(crate) use idempotency::*;
pub(crate) use knowledge::*;
pub(crate) use outbox::*;

diesel::define_sql_function! {
    /// The current time by the database's clock, which also advances within a transaction.
    fn clock_timestamp() -> crate::sql::Instant;
}

/// The clock for keys, patience and nodes, the same on every node: the database's, plus the offset of tests.
pub(crate) async fn key_clock(conn: &mut Conn, _now: Timestamp, offset: i64) -> Result<Timestamp> {
    let now: Timestamp = diesel::select(clock_timestamp()).get_result(conn).await?;
    Ok(Timestamp::from_micros(now.micros().saturating_add(offset)))
}

/// The clock for the leases of calls and deliveries: the database's.
pub(crate) async fn lease_clock(conn: &mut Conn, offset: i64) -> Result<Timestamp> {
    key_clock(conn, Timestamp::from_micros(0), offset).await
}

/// The clock that decides what is due, and the one for leases. Both are the database's, whatever a node's own clock
/// shows.
pub(crate) async fn clocks(
    conn: &mut Conn,
    steady: Timestamp,
    offset: i64,
) -> Result<(Timestamp, Timestamp)> {
    let now = key_clock(conn, steady, offset).await?;
    Ok((now, now))
}

/// Limits the lock waits of this transaction's next statements; `None` restores the session's limit.
pub(crate) async fn limit_lock_wait(conn: &mut Conn, most: Option<Duration>) -> Result<()> {
    let bound = match most {
        // 0 would mean no limit.
        Some(most) => most.as_millis().max(1).to_string(),
        None => "DEFAULT".to_owned(),
    };
    conn.batch_execute(&format!("SET LOCAL lock_timeout TO {bound}"))
        .await?;
    Ok(())
}

/// The durability of a commit: the session's `synchronous_commit`.
pub(crate) async fn durability(conn: &mut Conn) -> Result<String> {
    Ok(sql::<Text>("SHOW synchronous_commit")
        .get_result(conn)
        .await?)
}

pub(crate) fn column<R, T>(reports: &[R], value: impl Fn(&R) -> T) -> Vec<T> {
    reports.iter().map(value).collect()
}
