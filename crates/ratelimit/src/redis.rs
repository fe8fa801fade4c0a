//! The store of several processes: a Redis 7 or later that counts by its own clock.
//!
//! Each check is one script on the server, so it is atomic and uses no other clock. The states are those of the store
//! in memory, one key each, and expire once they no longer matter. Both keys of a client have one hash tag.

mod about;
mod link;
mod refusals;
mod scripts;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::watch;

use crate::answer::{Result, Timed, Unavailable};
use crate::gcra::{self, Decision, Quota};
use crate::key::Key;
use crate::memory::BucketAndWindow;
use crate::window::{self, WindowDecision};
pub use about::{AboutRedis, RedisFault};
use link::Link;
use refusals::Refusals;
use scripts::{Names, Script};

/// Counts clients in Redis, together with every other process that does.
///
/// A check without an answer within 100 ms is [`Unavailable`] and is not repeated: the server may have counted it.
/// After five in a row, or when the connection is lost, checks fail at once until a new connection has answered. The
/// store tries to reconnect several times per second. It remembers a bucket's refusal until the next token, so a
/// client that keeps sending costs Redis nothing.
pub struct RedisStore {
    link: Link,
    refusals: Refusals,
    #[cfg(test)]
    clock: Option<tests::TestClock>,
}

/// Why a URL is not a Redis URL. It does not repeat the URL, which may hold a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidUrl(String);

impl fmt::Display for InvalidUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidUrl {}

impl RedisStore {
    /// A store on the server that `url` names: `redis://[[user]:password@]host[:port][/database]`, or `rediss://…`
    /// for TLS with the system's certificates. Connects in the background, on the current Tokio runtime, which must
    /// outlive the store. Until then checks wait, but not longer than their time limit.
    ///
    /// # Errors
    /// [`InvalidUrl`]: `url` is not a Redis URL.
    pub fn connect(url: &str) -> Result<Self, InvalidUrl> {
        let client = link::client(url).map_err(InvalidUrl)?;
        Ok(Self {
            link: Link::connect(client, scripts::SERVER_CLOCK),
            refusals: Refusals::default(),
            #[cfg(test)]
            clock: None,
        })
    }

    /// Whether [`RedisStore::connect`] accepts `url`.
    #[must_use]
    pub fn is_url(url: &str) -> bool {
        link::client(url).is_ok()
    }

    /// Whether the server is connected and answers in time, as far as the store currently knows.
    #[must_use]
    pub fn is_reachable(&self) -> bool {
        self.link.is_up()
    }

    /// The name of the server, as far as the store currently knows. It is the same for every process that counts
    /// there, and differs for every other server and database. A server that comes back empty has a new name.
    #[must_use]
    pub fn name(&self) -> watch::Receiver<Option<Arc<str>>> {
        self.link.name()
    }

    /// Takes a token from the bucket of `key`, if it holds one.
    ///
    /// The quota may differ from call to call. The bucket's backlog stays, and the new quota applies from this call
    /// on, even if a refusal under another quota is remembered.
    ///
    /// # Errors
    /// [`Unavailable`]: the server did not answer in time. It may have taken the token.
    pub async fn take(&self, key: Key, quota: Quota) -> Result<Timed<Decision>> {
        let asked = self.instant();
        if let Some(refused) = self.remembered(key, quota, asked)? {
            return Ok(refused);
        }
        let names = Names::of(key);
        let numbers = [quota.interval_us(), quota.refill_us()];
        let (allowed, backlog_us, now_us): (bool, i64, i64) =
            self.ask(Script::Take, &[names.bucket()], &numbers).await?;
        let taken = Timed::at(now_us, gcra::describe(allowed, backlog_us, quota, now_us));
        self.refusals.remember(key, quota, taken, asked);
        Ok(taken)
    }

    /// Counts a request in the current Unix minute of `key`, by the server's clock, if fewer than `limit` were
    /// admitted in it.
    ///
    /// # Errors
    /// As [`RedisStore::take`].
    pub async fn take_window(&self, key: Key, limit: u32) -> Result<Timed<WindowDecision>> {
        let names = Names::of(key);
        let (allowed, state, now_us): (bool, i64, i64) = self
            .ask(Script::Count, &[names.window()], &[window::bounded(limit)])
            .await?;
        let counted = window::describe(allowed, state, limit, now_us);
        Ok(Timed::at(now_us, counted))
    }

    /// [`RedisStore::take`], and if that admits, [`RedisStore::take_window`], in one step on the server. A request
    /// that the bucket refuses is not counted in the window. A request that the window refuses has spent its token.
    ///
    /// # Errors
    /// As [`RedisStore::take`].
    pub async fn take_bucket_and_window(
        &self,
        key: Key,
        quota: Quota,
        limit: u32,
    ) -> Result<Timed<BucketAndWindow>> {
        let asked = self.instant();
        if let Some(refused) = self.remembered(key, quota, asked)? {
            let both = BucketAndWindow {
                bucket: refused.answer,
                window: None,
            };
            return Ok(Timed::at(refused.now_us, both));
        }
        let names = Names::of(key);
        let numbers = [
            quota.interval_us(),
            quota.refill_us(),
            window::bounded(limit),
        ];
        let keys = [names.bucket(), names.window()];
        let (allowed, backlog_us, now_us, counted, state): (bool, i64, i64, bool, i64) =
            self.ask(Script::TakeAndCount, &keys, &numbers).await?;
        let bucket = gcra::describe(allowed, backlog_us, quota, now_us);
        self.refusals
            .remember(key, quota, Timed::at(now_us, bucket), asked);
        let window = allowed.then(|| window::describe(counted, state, limit, now_us));
        Ok(Timed::at(now_us, BucketAndWindow { bucket, window }))
    }

    /// A remembered refusal that is certainly still valid. While the server is unreachable there is none: every
    /// request then gets the same error.
    fn remembered(&self, key: Key, quota: Quota, at: Instant) -> Result<Option<Timed<Decision>>> {
        if self.link.is_down() {
            return Err(Unavailable);
        }
        Ok(self.refusals.find(key, quota, at))
    }

    #[cfg(not(test))]
    async fn ask<T: redis::FromRedisValue>(
        &self,
        script: Script,
        keys: &[&str],
        numbers: &[i64],
    ) -> Result<T> {
        self.link.run(script, keys, numbers).await
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "tests have a clock of their own")]
    fn instant(&self) -> Instant {
        Instant::now()
    }
}

impl fmt::Debug for RedisStore {
    /// Prints neither clients nor the server.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore").finish_non_exhaustive()
    }
}
