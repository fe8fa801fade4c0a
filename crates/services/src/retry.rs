//! Retries what the database does not answer now.

use crate::Result;
use crate::prelude::*;

/// How long to wait before the database is queried again.
pub(crate) const RETRY_EVERY: Duration = Duration::from_millis(500);

/// Retries a step while the store is unavailable.
pub(crate) async fn retried<T, F>(mut step: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    loop {
        match step().await {
            Err(error) if error.may_pass() => tokio::time::sleep(RETRY_EVERY).await,
            done => return done,
        }
    }
}
