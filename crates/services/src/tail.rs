//! New rows of an account, as they are committed.

use std::collections::VecDeque;

use futures_util::{Stream, stream};
use uuid::Uuid;

use crate::Result;
use crate::prelude::*;

/// How far back a stream resumes. Events are found along the ids of all accounts, so that more would cost too much.
const RESUMED_WITHIN: Duration = Duration::from_secs(600);

/// Rows that one poll reads; older ones of a burst are left out.
pub(crate) const READ_AT_ONCE: i64 = 1_000;

struct Tail<T> {
    began: Timestamp,
    polled: Timestamp,
    /// How long after the time that it carries a row may be committed and still be found.
    committed_within: Duration,
    seen: HashMap<Uuid, Timestamp>,
    ready: VecDeque<T>,
}

/// Rows as they are committed, and the id behind which the stream begins.
pub struct Followed<S> {
    pub begins: Uuid,
    pub rows: S,
}

/// Streams each row that `read` finds behind `after`, or from now on, once. `read` gets the time from which on it is to find
/// rows; `key` is a row's time and id. The first poll is made before this returns.
pub(crate) async fn tail<T: Send, F>(
    ctx: Arc<Context>,
    after: Option<Uuid>,
    committed_within: Duration,
    key: fn(&T) -> (Timestamp, Uuid),
    read: impl Fn(Timestamp) -> F + Send,
) -> Result<Followed<impl Stream<Item = Result<T, StoreError>> + Send>, StoreError>
where
    F: Future<Output = Result<Vec<T>, StoreError>> + Send,
{
    let now = ctx.clock.now();
    let began = after
        .and_then(minted_at)
        .map_or(now, |at| at.clamp(now.minus(RESUMED_WITHIN), now));
    let mut tail = Tail {
        began: whole_millis(began),
        polled: now,
        committed_within,
        seen: after.map(|id| (id, began)).into_iter().collect(),
        ready: VecDeque::new(),
    };
    tail.take(read(tail.began).await?, key);
    let begins = after.unwrap_or_else(|| EventId::mint(began, [0; 10]).uuid());
    let rows = stream::unfold((ctx, tail, read), move |(ctx, mut tail, read)| async move {
        while tail.ready.is_empty() {
            tokio::time::sleep(ctx.calls.looks.streams).await;
            let now = ctx.clock.now();
            match read(tail.since(now)).await {
                Ok(rows) => tail.take(rows, key),
                Err(error) => return Some((Err(error), (ctx, tail, read))),
            }
            tail.polled = now;
        }
        let row = tail.ready.pop_front()?;
        Some((Ok(row), (ctx, tail, read)))
    });
    Ok(Followed { begins, rows })
}

impl<T> Tail<T> {
    /// From when on the next poll reads: some time before the last one, however long that was ago. What it does not find
    /// any more is forgotten. A clock that was set back takes the beginning with it.
    fn since(&mut self, now: Timestamp) -> Timestamp {
        self.began = whole_millis(self.began.min(now));
        let since = self.polled.min(now).minus(self.committed_within);
        let since = whole_millis(since).max(self.began);
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

/// As ids have it: rows are found and forgotten by the same time.
fn whole_millis(at: Timestamp) -> Timestamp {
    Timestamp::from_micros(at.micros().div_euclid(1_000) * 1_000)
}

/// The time of a UUIDv7.
fn minted_at(id: Uuid) -> Option<Timestamp> {
    let (seconds, nanos) = id.get_timestamp()?.to_unix();
    let micros = i64::try_from(seconds).ok()?.checked_mul(1_000_000)?;
    Some(Timestamp::from_micros(
        micros.checked_add(i64::from(nanos / 1_000))?,
    ))
}
