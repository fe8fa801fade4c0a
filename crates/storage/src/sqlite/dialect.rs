//! The few statements that differ, for SQLite.

mod about;
mod calls;
mod deliveries;
mod idempotency;
mod knowledge;

use crate::prelude::*;
use std::sync::LazyLock;
use std::time::Instant;

pub(crate) use crate::queries::recipients::insert_recipients;
pub(crate) use about::*;
pub(crate) use calls::*;
pub(crate) use deliveries::*;
pub(crate) use idempotency::*;
pub(crate) use knowledge::*;

/// The clock for leases and keys: the process's own, because one process owns the file.
pub(crate) async fn key_clock(_conn: &mut Conn, now: Timestamp, _offset: i64) -> Result<Timestamp> {
    Ok(now)
}

/// The clock for the leases of calls and deliveries: the time since this process began, which no clock change affects.
/// Leases of an earlier process mean nothing here: at its start a process takes over all old claims.
pub(crate) async fn lease_clock(_conn: &mut Conn, offset: i64) -> Result<Timestamp> {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let micros = i64::try_from(BEGAN.elapsed().as_micros()).unwrap_or(i64::MAX);
    Ok(Timestamp::from_micros(micros.saturating_add(offset)))
}

/// The clock that decides what is due, and the one for leases. A change of the machine's clock affects neither.
pub(crate) async fn clocks(
    conn: &mut Conn,
    steady: Timestamp,
    offset: i64,
) -> Result<(Timestamp, Timestamp)> {
    Ok((steady, lease_clock(conn, offset).await?))
}

/// Limits the waits for locks. The only writer waits for none.
pub(crate) async fn limit_lock_wait(_conn: &mut Conn, _most: Option<Duration>) -> Result<()> {
    Ok(())
}

/// The durability of a commit: the writer's `synchronous`. With one file, nothing else matters.
pub(crate) async fn durability(conn: &mut Conn) -> Result<String> {
    let level: i32 = sql::<Integer>("PRAGMA synchronous")
        .get_result(conn)
        .await?;
    Ok(match level {
        2 => "FULL".to_owned(),
        other => other.to_string(),
    })
}
