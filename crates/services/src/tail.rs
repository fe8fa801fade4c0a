//! New rows of an account, as they are committed.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, stream};
use offhook_domain::Timestamp;
use offhook_storage::StoreError;
use uuid::Uuid;

use crate::{Result, Shared};

/// How long after the time that it carries a row may be committed and still be found.
const COMMITTED_WITHIN: Duration = Duration::from_secs(10);

/// Rows that one poll reads; older ones of a burst are left out.
pub(crate) const READ_AT_ONCE: i64 = 500;

struct Tail<T> {
    began: Timestamp,
    seen: HashMap<Uuid, Timestamp>,
    ready: VecDeque<T>,
}

/// Streams each row that `read` finds from the time of `after`, or from now on, once. `read` gets the time from which on it
/// is to find rows; `key` is a row's time and id. The first poll is made before this returns.
pub(crate) async fn tail<T: Send, F>(
    shared: Arc<Shared>,
    after: Option<Uuid>,
    key: fn(&T) -> (Timestamp, Uuid),
    read: impl Fn(Timestamp) -> F + Send,
) -> Result<impl Stream<Item = Result<T, StoreError>> + Send, StoreError>
where
    F: Future<Output = Result<Vec<T>, StoreError>> + Send,
{
    let began = after.and_then(minted_at);
    let began = began.unwrap_or_else(|| shared.clock.now());
    let mut tail = Tail {
        began,
        seen: after.map(|id| (id, began)).into_iter().collect(),
        ready: VecDeque::new(),
    };
    tail.take(read(began).await?, key);
    Ok(stream::unfold(
        (shared, tail, read),
        move |(shared, mut tail, read)| async move {
            while tail.ready.is_empty() {
                tokio::time::sleep(shared.calls.looks.streams).await;
                let since = tail.forget(shared.clock.now());
                match read(since).await {
                    Ok(rows) => tail.take(rows, key),
                    Err(error) => return Some((Err(error), (shared, tail, read))),
                }
            }
            let row = tail.ready.pop_front()?;
            Some((Ok(row), (shared, tail, read)))
        },
    ))
}

impl<T> Tail<T> {
    /// Forgets what no poll finds any more; from when on the next one reads.
    fn forget(&mut self, now: Timestamp) -> Timestamp {
        let since = self.began.max(now.minus(COMMITTED_WITHIN));
        self.seen.retain(|_, at| *at >= since);
        since
    }

    fn take(&mut self, mut rows: Vec<T>, key: fn(&T) -> (Timestamp, Uuid)) {
        rows.sort_by_key(key);
        for row in rows {
            let (at, id) = key(&row);
            if self.seen.insert(id, at).is_none() {
                self.ready.push_back(row);
            }
        }
    }
}

/// The time of a UUIDv7.
fn minted_at(id: Uuid) -> Option<Timestamp> {
    let (seconds, nanos) = id.get_timestamp()?.to_unix();
    let micros = i64::try_from(seconds).ok()?.checked_mul(1_000_000)?;
    Some(Timestamp::from_micros(
        micros.checked_add(i64::from(nanos / 1_000))?,
    ))
}
