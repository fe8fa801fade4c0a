//! The request log: a request leaves its entry in a bounded buffer, and a worker writes it.

use futures_util::Stream;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use offhook_metrics::metrics;
use tokio::sync::{Mutex, mpsc};
use tokio::time::Instant;
use uuid::Uuid;

use crate::Result;
use crate::prelude::*;
use crate::tail::{Followed, READ_AT_ONCE, tail};
use crate::workers::Turns;

/// Entries that wait to be written at most; further ones are dropped, never the request.
pub(crate) const BUFFER: usize = 8_192;

/// Entries per transaction: few enough that other writes wait only a moment.
const BATCH: usize = 256;

/// The most requests that [`RequestLogs::by_hour`] counts.
pub const MOST_COUNTED: i64 = 20_000;

/// How often a batch is written. With [`BATCH`] that sustains 2,560 entries a second and process. Entries that arrive
/// faster for longer than the buffer lasts are dropped, so that logging never starves requests.
const WRITE_EVERY: Duration = Duration::from_millis(100);

/// How often drops are reported at most.
const REPORT_EVERY: Duration = Duration::from_secs(60);

/// A request that takes longer is not followed: its entry carries the time at which it came.
const REQUESTS_TAKE: Duration = Duration::from_secs(60);

/// How long entries are kept.
pub(crate) const KEPT: Duration = Duration::from_secs(30 * 86_400);

/// How long the shape of a refused request's body is kept.
pub(crate) const BODIES_KEPT: Duration = Duration::from_secs(7 * 86_400);

/// An authenticated request and its response, as the REST adapter sees them.
#[derive(Debug)]
pub struct Logged {
    /// The account of its key.
    pub account: AccountId,
    pub key: KeyId,
    /// The key's prefix.
    pub key_prefix: String,
    pub request: RequestId,
    pub method: String,
    /// Its path, without the query string.
    pub path: String,
    /// The status of the response.
    pub status: u16,
    /// The code of an error response.
    pub error: Option<&'static str>,
    /// The IP address that rate limits count.
    pub ip: Option<IpAddr>,
    pub took: Duration,
    /// When it arrived.
    pub at: Timestamp,
    /// The resource that it created or concerned.
    pub about: Option<Resource>,
    pub told: Option<Told>,
}

/// What a refused request was told.
#[derive(Debug)]
pub struct Told {
    /// The message of the response, without anything that the client wrote.
    pub message: String,
    /// The shape of the request's body: types and lengths. It is kept for accounts that have asked for it.
    pub body: Option<String>,
}

#[derive(Clone)]
pub struct RequestLogs {
    ctx: Arc<Context>,
    sender: mpsc::Sender<Logged>,
    waiting: Arc<Mutex<Waiting>>,
    dropped: Arc<AtomicU64>,
}

/// The entries to write: the batch whose writing failed, and those that came since.
struct Waiting {
    batch: Vec<LogEntry>,
    faults: Vec<LogFault>,
    receiver: mpsc::Receiver<Logged>,
}

#[boxed]
impl RequestLogs {
    pub(crate) fn new(ctx: Arc<Context>) -> Self {
        let (sender, receiver) = mpsc::channel(BUFFER);
        let waiting = Waiting {
            batch: Vec::new(),
            faults: Vec::new(),
            receiver,
        };
        Self {
            ctx,
            sender,
            waiting: Arc::new(Mutex::new(waiting)),
            dropped: Arc::default(),
        }
    }

    /// Queues an entry to be written. A slow database does not slow it down; if the buffer is full, the entry is
    /// dropped and counted.
    pub fn push(&self, logged: Logged) {
        if self.sender.try_send(logged).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            metrics().logs.drop_one();
        }
    }

    /// Entries that this process has dropped since its start.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Entries that wait in the buffer.
    pub(crate) fn waiting(&self) -> usize {
        self.sender.max_capacity() - self.sender.capacity()
    }

    /// Writes all waiting entries, in batches. If the store fails, the unwritten batch is kept for the next run.
    pub async fn flush(&self) -> Result<()> {
        let mut waiting = self.waiting.lock().await;
        while self.write_batch(&mut waiting).await? {}
        Ok(())
    }

    /// Writes until `stop`, and then the rest.
    pub async fn run(self, stop: CancellationToken) {
        let mut turns = Turns::new(WRITE_EVERY, &stop);
        let (mut reported, mut reported_at) = (0, Instant::now());
        loop {
            let stopping = !turns.next().await;
            let written = if stopping {
                self.flush().await
            } else {
                let mut waiting = self.waiting.lock().await;
                self.write_batch(&mut waiting).await.map(drop)
            };
            let dropped = self.dropped();
            let due = stopping || reported_at.elapsed() >= REPORT_EVERY;
            if dropped > reported && due {
                let since = dropped - reported;
                tracing::warn!(
                    dropped = since,
                    "entries of the request log were dropped: more came than are written, or the database was away"
                );
                (reported, reported_at) = (dropped, Instant::now());
            }
            if let Err(error) = written {
                tracing::warn!(%error, "entries of the request log could not be written");
                if !stopping {
                    turns.tick.reset_after(Duration::from_secs(1));
                }
            }
            if stopping {
                return;
            }
        }
    }

    /// Writes one batch; `true` if another may wait.
    async fn write_batch(&self, waiting: &mut Waiting) -> Result<bool> {
        let Waiting {
            batch,
            faults,
            receiver,
        } = waiting;
        while batch.len() < BATCH {
            match receiver.try_recv() {
                Ok(mut logged) => {
                    let told = logged.told.take();
                    let entry = entry(logged);
                    faults.extend(told.map(|told| fault(&entry, told)));
                    batch.push(entry);
                }
                Err(_) => break,
            }
        }
        if batch.is_empty() {
            return Ok(false);
        }
        self.ctx.store.add_log_entries(batch.clone()).await?;
        if !faults.is_empty() {
            self.ctx.store.add_log_faults(faults.clone()).await?;
            faults.clear();
        }
        let full = batch.len() == BATCH;
        batch.clear();
        Ok(full)
    }

    /// Lists an account's log of the last 30 days, newest first.
    pub async fn list(
        &self,
        account: AccountId,
        mut filter: LogFilter,
        page: PageRequest<LogEntryId>,
    ) -> Result<Page<LogEntry>> {
        let kept_since = self.ctx.clock.now().minus(KEPT);
        filter.since = filter.since.max(Some(kept_since));
        let store = &self.ctx.store;
        page.read(|after, limit| store.log_entries(account, filter, after, limit))
            .await
    }

    /// The account's newest requests of the last 24 hours, the current one included, counted by hour and class of status;
    /// up to [`MOST_COUNTED`].
    pub async fn by_hour(&self, account: AccountId) -> Result<Vec<LogCount>> {
        let hour = 3_600_000_000;
        let since = (self.ctx.clock.now().micros() / hour - 23) * hour;
        let since = Timestamp::from_micros(since);
        let store = &self.ctx.store;
        store.log_counts(account, since, MOST_COUNTED).await
    }

    /// What the request of an entry was told; `None` if it was not refused.
    pub async fn fault(&self, entry: &LogEntry) -> Result<Option<LogFault>> {
        let key = (entry.created_at, entry.id);
        self.ctx.store.log_fault(entry.account_id, key).await
    }

    /// The account's requests as they are written down, behind the entry `after`.
    pub async fn follow(
        &self,
        account: AccountId,
        after: Option<Uuid>,
    ) -> Result<Followed<impl Stream<Item = Result<LogEntry, StoreError>> + Send + use<>>, StoreError>
    {
        let ctx = self.ctx.clone();
        let key = |entry: &LogEntry| (entry.created_at, entry.id.uuid());
        tail(self.ctx.clone(), after, REQUESTS_TAKE, key, move |since| {
            let ctx = ctx.clone();
            let filter = LogFilter {
                since: Some(since),
                ..LogFilter::default()
            };
            async move {
                let entries = ctx.store.log_entries(account, filter, None, READ_AT_ONCE);
                entries.await
            }
        })
        .await
    }

    /// The request that placed the account's call; `None` if it is older than the log, or if no request with a key
    /// placed it.
    pub async fn placing(
        &self,
        account: AccountId,
        conversation: ConversationId,
    ) -> Result<Option<LogEntry>> {
        let kept_since = self.ctx.clock.now().minus(KEPT);
        let found = self.ctx.store.placing_request(account, conversation);
        Ok(found.await?.filter(|entry| entry.created_at >= kept_since))
    }
}

fn fault(entry: &LogEntry, told: Told) -> LogFault {
    LogFault {
        account_id: entry.account_id,
        created_at: entry.created_at,
        id: entry.id,
        message: told.message,
        body: told.body,
    }
}

fn entry(logged: Logged) -> LogEntry {
    LogEntry {
        id: mint(logged.at),
        account_id: logged.account,
        request_id: logged.request,
        key_id: logged.key,
        key_prefix: logged.key_prefix,
        method: logged.method,
        path: logged.path,
        status: i32::from(logged.status),
        error: logged.error.map(str::to_owned),
        ip: logged.ip.map(|ip| ip.to_string()).unwrap_or_default(),
        duration_ms: i32::try_from(logged.took.as_millis()).unwrap_or(i32::MAX),
        created_at: logged.at,
        resource: logged.about.map(|about| about.kind),
        resource_id: logged.about.map(|about| about.id),
    }
}
