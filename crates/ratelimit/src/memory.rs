//! The store of one process: exact, bounded, without background work.

mod shard;
mod timeline;

use std::hash::BuildHasher;

use crate::gcra::{self, Decision, Quota};
use crate::key::Key;
use crate::window::{self, WindowDecision};
use parking_lot::{Mutex, MutexGuard};
use shard::Shard;

/// How many clients a minute [`MemoryStore::new`] counts exactly.
pub const EXACT_KEYS: usize = 1_000_000;

/// Shards are locked one by one. With 80 of them a shard's share of [`EXACT_KEYS`], 12,500, fits a table of 2^14 places
/// (at most ⅞ full) with room for an uneven spread; with 64 it would not, and every table would be twice as large.
const SHARDS: usize = 80;

/// Counts clients in memory: for each a token bucket and a fixed window.
///
/// Every call takes the present time, as Unix microseconds. Time that runs backwards is harmless: less than a minute
/// of it is waited out, whole minutes are taken off as a step of the clock, and answers are in the caller's time.
///
/// A client that has been idle for 61 s is like one never seen, so clients are kept in two generations of 61 s, and the
/// older one is dropped whole. The number of clients per generation is bounded; further ones share buckets and windows
/// by a hash with a random seed, so that they may be admitted less, never more: see [`MemoryStore::overflowed`].
pub struct MemoryStore {
    shards: Box<[Line]>,
    seeds: Seeds,
}

/// A shard on cache lines of its own, so that threads working on two shards do not slow each other down.
#[repr(align(128))]
struct Line(Mutex<Shard>);

/// The answer of a bucket and, if that admitted the request, of the window after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketAndWindow {
    /// The bucket's answer.
    pub bucket: Decision,
    /// The window's answer; `None` if the bucket refused, as the window was then not asked.
    pub window: Option<WindowDecision>,
}

impl BucketAndWindow {
    /// Whether both admitted the request.
    #[must_use]
    pub fn allowed(&self) -> bool {
        self.window.is_some_and(|window| window.allowed)
    }

    /// `Retry-After` of a refused request: until the one that refused may admit again.
    #[must_use]
    pub fn retry_after_seconds(&self, now_us: i64) -> u64 {
        self.window.map_or_else(
            || self.bucket.retry_after_seconds(now_us),
            |window| window.retry_after_seconds(now_us),
        )
    }
}

impl MemoryStore {
    /// A store that counts [`EXACT_KEYS`] clients a minute exactly, in at most 66 MiB of tables. It starts empty and small.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(EXACT_KEYS)
    }

    /// A store that counts at least `keys` clients a minute exactly.
    #[must_use]
    pub fn with_capacity(keys: usize) -> Self {
        let mean = keys.div_ceil(SHARDS);
        // Eight standard deviations of a shard's share.
        let keys_per_shard = mean + 8 * mean.isqrt() + 8;
        let seeds = Seeds::random();
        Self {
            shards: (0..SHARDS)
                .map(|_| Line(Mutex::new(Shard::new(seeds, keys_per_shard))))
                .collect(),
            seeds,
        }
    }

    /// Takes a token from the bucket of `key`, if it holds one.
    ///
    /// The quota may differ from call to call, as when an account changes its plan: the bucket's backlog stays, and the
    /// new quota applies from this call on.
    pub fn take(&self, key: Key, quota: Quota, now_us: i64) -> Decision {
        let hash = self.seeds.hash(key);
        self.shard(hash)
            .decide(hash, key, now_us, |state, now_us| state.take(quota, now_us))
    }

    /// What [`MemoryStore::take`] would answer; nothing is taken.
    pub fn look(&self, key: Key, quota: Quota, now_us: i64) -> Decision {
        let hash = self.seeds.hash(key);
        self.shard(hash).decide(hash, key, now_us, |state, now_us| {
            gcra::decide(Some(state.tat_us), quota, now_us)
        })
    }

    /// Counts a request in the present Unix minute of `key`, if fewer than `limit` were admitted in it. The window of a
    /// key is independent of its bucket.
    pub fn take_window(&self, key: Key, limit: u32, now_us: i64) -> WindowDecision {
        let hash = self.seeds.hash(key);
        self.shard(hash).decide(hash, key, now_us, |state, now_us| {
            state.take_window(limit, now_us)
        })
    }

    /// [`MemoryStore::take`], and if that admits, [`MemoryStore::take_window`]: a request refused by the bucket is not
    /// counted in the window; one refused by the window has spent its token.
    pub fn take_bucket_and_window(
        &self,
        key: Key,
        quota: Quota,
        limit: u32,
        now_us: i64,
    ) -> BucketAndWindow {
        let hash = self.seeds.hash(key);
        self.shard(hash).decide(hash, key, now_us, |state, now_us| {
            let bucket = state.take(quota, now_us);
            let window = bucket.allowed.then(|| state.take_window(limit, now_us));
            BucketAndWindow { bucket, window }
        })
    }

    /// How many admitted requests were counted in shared buckets because there were more clients than places. It only
    /// grows; when it does, some clients may be refused early, and the operator should know.
    #[must_use]
    pub fn overflowed(&self) -> u64 {
        self.sum(Shard::overflowed)
    }

    /// How many clients are in the tables at present: those of the last one to two minutes.
    #[must_use]
    pub fn clients(&self) -> u64 {
        self.sum(|shard| shard.clients() as u64)
    }

    /// Bytes that the tables hold at present.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.sum(|shard| shard.memory_bytes() as u64) + size_of_val(&*self.shards) as u64
    }

    fn sum(&self, of: impl Fn(&Shard) -> u64) -> u64 {
        self.shards.iter().map(|line| of(&line.0.lock())).sum()
    }

    fn shard(&self, hash: u64) -> MutexGuard<'_, Shard> {
        // Bits from the middle: the table inside takes its place from the lowest and its tag from the highest.
        let share = u64::from((hash >> 16) as u32);
        self.shards[((share * SHARDS as u64) >> 32) as usize]
            .0
            .lock()
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for MemoryStore {
    /// Says nothing of the clients or the seeds.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryStore").finish_non_exhaustive()
    }
}

/// Makes the places of clients in the tables unpredictable from outside.
#[derive(Clone, Copy)]
struct Seeds([u64; 4]);

impl Seeds {
    fn random() -> Self {
        let random = std::hash::RandomState::new();
        Self([0u8, 1, 2, 3].map(|number| random.hash_one(number)))
    }

    fn hash(&self, key: Key) -> u64 {
        let [a, b, c, d] = self.0;
        let id = fold(key.id[0] ^ a, key.id[1] ^ b);
        fold(id ^ c, u64::from(key.space.number()) ^ d)
    }
}

/// Both halves of the product, one upon the other: every bit of the result depends on every bit of `a` and `b`.
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

/// The states of one client's bucket and window, in the shard's time; `NEVER` is a full bucket or an empty window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    tat_us: i64,
    window: i64,
}

impl State {
    const NEVER: Self = Self {
        tat_us: i64::MIN,
        window: i64::MIN,
    };

    fn take(&mut self, quota: Quota, now_us: i64) -> Decision {
        let decision = gcra::decide(Some(self.tat_us), quota, now_us);
        if decision.allowed {
            self.tat_us = decision.tat_us;
        }
        decision
    }

    fn take_window(&mut self, limit: u32, now_us: i64) -> WindowDecision {
        let decision = window::decide(Some(self.window), limit, now_us);
        if decision.allowed {
            self.window = decision.state;
        }
        decision
    }

    /// The stricter of both: a later `tat_us`, a later window or a larger count in the same one.
    fn or_stricter(self, other: Self) -> Self {
        Self {
            tat_us: self.tat_us.max(other.tat_us),
            window: self.window.max(other.window),
        }
    }
}

/// An answer that tells times, moved from the shard's time to the caller's.
trait Answer {
    fn earlier_by(self, us: i64) -> Self;
}

impl Answer for Decision {
    fn earlier_by(mut self, us: i64) -> Self {
        self.next_us = self.next_us.saturating_sub(us);
        self.tat_us = self.tat_us.saturating_sub(us);
        self
    }
}

impl Answer for WindowDecision {
    fn earlier_by(mut self, us: i64) -> Self {
        self.ends_us = self.ends_us.saturating_sub(us);
        self.state = self.state.saturating_sub(us);
        self
    }
}

impl Answer for BucketAndWindow {
    fn earlier_by(self, us: i64) -> Self {
        Self {
            bucket: self.bucket.earlier_by(us),
            window: self.window.map(|window| window.earlier_by(us)),
        }
    }
}
