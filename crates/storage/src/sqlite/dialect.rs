//! The few statements that differ, for SQLite.

mod about;
mod accounts;
mod batches;
mod calls;
mod deliveries;
mod idempotency;
mod knowledge;
mod logs;
mod voices;

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crate::database::RunQueryDsl;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Integer;
use offhook_domain::Timestamp;

use crate::Result;
use crate::database::Conn;
use crate::schema::service_settings;

pub(crate) use about::*;
pub(crate) use accounts::*;
pub(crate) use batches::*;
pub(crate) use calls::*;
pub(crate) use deliveries::*;
pub(crate) use idempotency::*;
pub(crate) use knowledge::*;
pub(crate) use logs::*;
pub(crate) use voices::*;

/// The clock that leases and keys are judged by: here the process's own, as one process owns the file.
pub(crate) async fn key_clock(_conn: &mut Conn, now: Timestamp, _offset: i64) -> Result<Timestamp> {
    Ok(now)
}

/// The clock that the leases of calls and deliveries are judged by: the time since this process began, which nobody can turn.
/// Leases of an earlier process mean nothing here: at its start a process takes over whatever others have claimed.
pub(crate) async fn lease_clock(_conn: &mut Conn, offset: i64) -> Result<Timestamp> {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let micros = i64::try_from(BEGAN.elapsed().as_micros()).unwrap_or(i64::MAX);
    Ok(Timestamp::from_micros(micros.saturating_add(offset)))
}

/// The clocks of deliveries: what says that one is due, and what leases are judged by. Neither is turned with the
/// machine's.
pub(crate) async fn delivery_clocks(
    conn: &mut Conn,
    steady: Timestamp,
    offset: i64,
) -> Result<(Timestamp, Timestamp)> {
    Ok((steady, lease_clock(conn, offset).await?))
}

/// Bounds the waits for locks; the one writer waits for none.
pub(crate) async fn limit_lock_wait(_conn: &mut Conn, _most: Option<Duration>) -> Result<()> {
    Ok(())
}

/// How durable a commit is: the writer's `synchronous` and, as there is one file, nothing else.
pub(crate) async fn durability(conn: &mut Conn) -> Result<String> {
    let level: i32 = sql::<Integer>("PRAGMA synchronous")
        .get_result(conn)
        .await?;
    Ok(match level {
        2 => "FULL".to_owned(),
        other => other.to_string(),
    })
}

/// A setting of the whole service, for the duration of the transaction; `None` if there is none.
pub(crate) async fn lock_setting(conn: &mut Conn, name: &str) -> Result<Option<String>> {
    Ok(service_settings::table
        .find(name)
        .select(service_settings::value)
        .found(conn)
        .await?)
}
