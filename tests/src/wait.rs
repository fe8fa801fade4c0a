//! Waits for conditions, and fails with a message.

use std::fmt::Debug;
use std::future::Future;
use std::time::{Duration, Instant};

use serde_json::Value;

/// The first pause between two checks of a condition. Later it is a fiftieth of the time waited, so that the checks
/// leave the processor to the awaited work.
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
/// If it is not a string.
#[track_caller]
#[must_use]
pub fn text(value: &Value) -> &str {
    match value.as_str() {
        Some(text) => text,
        None => panic!("no string: {value}"),
    }
}

/// Retries until there is a value.
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
        tokio::time::sleep(EVERY.max(began.elapsed() / 50)).await;
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

/// The current Unix time in milliseconds.
#[expect(
    clippy::disallowed_methods,
    reason = "the service under test runs by the real clock"
)]
#[must_use]
pub fn unix_millis() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    must("the time", i64::try_from(must("the time", now).as_millis()))
}

/// The current Unix time in seconds, as webhook receivers compare it.
#[must_use]
pub fn unix_seconds() -> i64 {
    unix_millis().div_euclid(1_000)
}

/// The Unix time in milliseconds of a timestamp of the API.
///
/// # Panics
/// If it is not a timestamp.
#[must_use]
pub fn millis_of(timestamp: &str) -> i64 {
    let part = |range: std::ops::Range<usize>| -> i64 {
        let digits = timestamp.get(range).unwrap_or_default();
        must(timestamp, digits.parse())
    };
    let (year, month, day) = (part(0..4), part(5..7), part(8..10));
    // Days from the civil calendar, with years that begin in March.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days =
        365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    let seconds = days * 86_400 + part(11..13) * 3_600 + part(14..16) * 60 + part(17..19);
    seconds * 1_000 + part(20..23)
}
