//! The store of one process: exact, bounded, without background work.

mod shard;
mod timeline;

use std::hash::BuildHasher;

use crate::gcra::{self, Decision, Quota};
use crate::key::Key;
use crate::window::{self, WindowDecision};
use parking_lot::{Mutex, MutexGuard};
use shard::Shard;

/// How many clients per minute [`MemoryStore::new`] counts exactly.
pub const EXACT_KEYS: usize = 1_000_000;

/// Shards are locked one by one. With 80 shards, a shard's part of [`EXACT_KEYS`], 12,500, fits a table of 2^14 slots
/// (at most ⅞ full) with room for an uneven spread. With 64 it would not, and every table would be twice as large.
const SHARDS: usize = 80;

/// Counts clients in memory: for each a token bucket and a fixed window.
///
/// Every call takes the current time in Unix microseconds. Time that runs backward is harmless. The store waits out
/// less than a minute of it, and absorbs whole minutes as a step of the clock. Answers are in the caller's time.
///
/// A client that was idle for 61 s is like a new one. So the store keeps clients in two generations of 61 s, and
/// drops the older one whole. The number of clients per generation is bounded. Further clients share buckets and
/// windows by a hash with a random seed: they may be admitted less, never more. See [`MemoryStore::overflowed`].
pub struct MemoryStore {
    shards: Box<[Line]>,
    seeds: Seeds,
}

/// A shard on its own cache lines, so that threads that work on two shards do not slow each other down.
#[repr(align(128))]
struct Line(Mutex<Shard>);

/// The answer of a bucket, and of the window if the bucket admitted the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketAndWindow {
    /// The bucket's answer.
    pub bucket: Decision,
    /// The window's answer; `None` if the bucket refused, since the window was then not checked.
    pub window: Option<WindowDecision>,
}

impl BucketAndWindow {
    /// Whether both admitted the request.
    #[must_use]
    pub fn allowed(&self) -> bool {
        self.window.is_some_and(|window| window.allowed)
    }

    /// `Retry-After` of a refused request: seconds until the bucket or window that refused may admit again.
    #[must_use]
    pub fn retry_after_seconds(&self, now_us: i64) -> u64 {
        self.window.map_or_else(
            || self.bucket.retry_after_seconds(now_us),
            |window| window.retry_after_seconds(now_us),
        )
    }
}

impl MemoryStore {
    /// A store that counts [`EXACT_KEYS`] clients per minute exactly, in at most 66 MiB of tables. It starts empty
    /// and small.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(EXACT_KEYS)
    }

    /// A store that counts at least `keys` clients per minute exactly.
    #[must_use]
    pub fn with_capacity(keys: usize) -> Self {
        let mean = keys.div_ceil(SHARDS);
        // Eight standard deviations of a shard's part.
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
    /// The quota may differ from call to call, as when an account changes its plan. The bucket's backlog stays, and
    /// the new quota applies from this call on.
    pub fn take(&self, key: Key, quota: Quota, now_us: i64) -> Decision {
        let hash = self.seeds.hash(key);
        self.shard(hash)
            .decide(hash, key, now_us, |state, now_us| state.take(quota, now_us))
    }

    /// The answer that [`MemoryStore::take`] would give; takes no token.
    pub fn peek(&self, key: Key, quota: Quota, now_us: i64) -> Decision {
        let hash = self.seeds.hash(key);
        self.shard(hash).decide(hash, key, now_us, |state, now_us| {
            gcra::decide(Some(state.tat_us), quota, now_us)
        })
    }

    /// Counts a request in the current Unix minute of `key`, if fewer than `limit` were admitted in it. The window of
    /// a key is independent of its bucket.
    pub fn take_window(&self, key: Key, limit: u32, now_us: i64) -> WindowDecision {
        let hash = self.seeds.hash(key);
        self.shard(hash).decide(hash, key, now_us, |state, now_us| {
            state.take_window(limit, now_us)
        })
    }

    /// [`MemoryStore::take`], and if that admits, [`MemoryStore::take_window`]. A request that the bucket refuses is
    /// not counted in the window. A request that the window refuses has spent its token.
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

    /// How many admitted requests were counted in shared buckets because there were more clients than slots. It only
    /// grows. When it does, some clients may be refused early, and the operator should know.
    #[must_use]
    pub fn overflowed(&self) -> u64 {
        self.sum(Shard::overflowed)
    }

    /// How many clients are in the tables: those of the last one to two minutes.
    #[must_use]
    pub fn clients(&self) -> u64 {
        self.sum(|shard| shard.clients() as u64)
    }

    /// The size of the tables in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.sum(|shard| shard.memory_bytes() as u64) + size_of_val(&*self.shards) as u64
    }

    fn sum(&self, of: impl Fn(&Shard) -> u64) -> u64 {
        self.shards.iter().map(|line| of(&line.0.lock())).sum()
    }

    fn shard(&self, hash: u64) -> MutexGuard<'_, Shard> {
        // Takes bits from the middle: the inner table uses the lowest for the slot and the highest for the tag.
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
    /// Prints neither clients nor seeds.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryStore").finish_non_exhaustive()
    }
}

/// Makes the slots of clients in the tables unpredictable from outside.
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

/// Folds both halves of the product: every bit of the result depends on every bit of `a` and `b`.
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

/// An answer with times, which moves from the shard's time to the caller's.
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
