//! The server's description of itself, for the operator.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ErrorKind, RedisError, Value};
use tokio::time::{Instant, timeout};

use super::scripts::{SERVER, SERVER_CLOCK, Script, TEST_BUCKET};
use super::{RedisStore, link};
use crate::MAX_PER_MINUTE;
use crate::gcra::Quota;

/// How long the whole query may take.
const LIMIT: Duration = Duration::from_secs(3);

/// A working Redis, described for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AboutRedis {
    /// Its version, such as `7.4.1`; `None` if it does not say.
    pub version: Option<String>,
    /// Its behavior when its memory is full (`maxmemory-policy`); `None` if it does not say.
    pub eviction: Option<String>,
    /// How far its clock is ahead of the caller's, in microseconds; negative if it is behind.
    pub ahead_us: i64,
    /// How long a check with a test key took.
    pub took: Duration,
    /// See [`RedisStore::name`]; `None` if no process has counted there yet.
    pub name: Option<String>,
}

/// Why a Redis does not count, in the server's or the network's words. None of them holds a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RedisFault {
    /// The server did not answer, or not within 3 s.
    Unreachable(String),
    /// The user or the password is wrong, or one is missing.
    LoginRefused(String),
    /// The server answers but does not run the checks: a permission is missing, or it is a replica, loading or full.
    Unusable(String),
}

impl RedisStore {
    /// Queries the time, a check with a test key, and the description of the server at `url`. `now_us` is the
    /// caller's clock, in Unix microseconds.
    ///
    /// # Errors
    /// [`RedisFault`]: the server cannot count requests.
    pub async fn about(url: &str, now_us: fn() -> i64) -> Result<AboutRedis, RedisFault> {
        let client = link::client(url).map_err(RedisFault::Unreachable)?;
        let asking = async {
            let config = AsyncConnectionConfig::new()
                .set_connection_timeout(None)
                .set_response_timeout(None);
            let mut connection = client
                .get_multiplexed_async_connection_with_config(&config)
                .await?;
            ask(&mut connection, now_us).await
        };
        match timeout(LIMIT, asking).await {
            Ok(asked) => asked.map_err(|error| RedisFault::of(&error)),
            Err(_) => Err(RedisFault::Unreachable(format!(
                "no answer within {} s",
                LIMIT.as_secs()
            ))),
        }
    }
}

impl RedisFault {
    fn of(error: &RedisError) -> Self {
        let said = error.to_string();
        let is_login = matches!(error.code(), Some("NOAUTH" | "WRONGPASS"))
            || error.kind() == ErrorKind::AuthenticationFailed;
        if is_login {
            Self::LoginRefused(said)
        } else if error.is_io_error() || error.is_connection_dropped() {
            Self::Unreachable(said)
        } else {
            Self::Unusable(said)
        }
    }
}

async fn ask(
    connection: &mut MultiplexedConnection,
    now_us: fn() -> i64,
) -> Result<AboutRedis, RedisError> {
    let before = now_us();
    let (seconds, micros): (i64, i64) = redis::cmd("TIME").query_async(connection).await?;
    // Halfway between question and answer.
    let ours = before + (now_us() - before) / 2;
    let asked = Instant::now();
    let quota = Quota::per_minute(MAX_PER_MINUTE);
    let _: Value = redis::cmd("EVAL")
        .arg(Script::Take.source(SERVER_CLOCK))
        .arg(1)
        .arg(TEST_BUCKET)
        .arg(quota.interval_us())
        .arg(quota.refill_us())
        .query_async(connection)
        .await?;
    let took = asked.elapsed();
    let name: Option<String> = redis::cmd("GET")
        .arg(SERVER)
        .query_async(connection)
        .await?;
    // A user may lack the permission for the rest, and some services have no such command.
    let info: Option<String> = redis::cmd("INFO").query_async(connection).await.ok();
    let line = |name: &str| {
        let mut lines = info.as_deref()?.lines();
        lines.find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
    };
    Ok(AboutRedis {
        version: line("redis_version:"),
        eviction: line("maxmemory_policy:"),
        ahead_us: seconds * 1_000_000 + micros - ours,
        took,
        name,
    })
}
