//! Waiting for conditions, and failing loudly.

use std::fmt::Debug;
use std::future::Future;
use std::time::{Duration, Instant};

use serde_json::Value;

/// How often a condition is looked at.
const EVERY: Duration = Duration::from_millis(25);

/// The value of a step that must not fail.
///
/// # Panics
/// If it failed.
#[track_caller]
pub fn must<T, E: Debug>(what: &str, result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{what}: {error:?}"),
    }
}

/// The text of a JSON string.
///
/// # Panics
/// If it is none.
#[track_caller]
#[must_use]
pub fn text(value: &Value) -> &str {
    match value.as_str() {
        Some(text) => text,
        None => panic!("no string: {value}"),
    }
}

/// Asks until there is an answer.
///
/// # Panics
/// If there is none in time.
pub async fn eventually<T, F>(what: &str, limit: Duration, mut ask: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let began = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(began.elapsed() < limit, "not within {limit:?}: {what}");
        tokio::time::sleep(EVERY).await;
    }
}

/// The result of a step that must end in time.
///
/// # Panics
/// If it does not.
pub async fn within<T>(what: &str, limit: Duration, step: impl Future<Output = T>) -> T {
    match tokio::time::timeout(limit, step).await {
        Ok(value) => value,
        Err(_) => panic!("not within {limit:?}: {what}"),
    }
}

/// The present, as receivers of webhooks compare it.
#[expect(
    clippy::disallowed_methods,
    reason = "the service under test runs by the real clock"
)]
#[must_use]
pub fn unix_seconds() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    must("the time", i64::try_from(must("the time", now).as_secs()))
}
