//! Refusals for which the store does not need to query Redis again.
//!
//! A bucket that has refused keeps refusing until its next token, on every node: until then the answer is known. Its
//! age is measured by the monotonic clock, from the moment of the query, so it never outlasts the truth.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use crate::answer::Timed;
use crate::gcra::{Decision, Quota};
use crate::key::Key;

const SHARDS: usize = 16;

/// Refusals that a shard holds in each of its two generations; about 10 MiB in all.
const PER_GENERATION: usize = 4096;

/// No bucket's next token is further away.
const LONGEST: Duration = Duration::from_secs(61);

/// The refusals of the last minute, as many as fit. A lost one costs a query.
pub(super) struct Refusals {
    shards: Box<[Mutex<Shard>]>,
    hasher: RandomState,
}

#[derive(Default)]
struct Shard {
    young: HashMap<Key, Refusal>,
    old: HashMap<Key, Refusal>,
    turned: Option<Instant>,
}

#[derive(Clone, Copy)]
struct Refusal {
    quota: Quota,
    refused: Timed<Decision>,
    asked_at: Instant,
}

impl Refusals {
    /// The refusal of `key` under this quota that still holds, in the store's current time.
    pub(super) fn find(&self, key: Key, quota: Quota, now: Instant) -> Option<Timed<Decision>> {
        let shard = self.shard(key);
        let refusal = shard.young.get(&key).or_else(|| shard.old.get(&key))?;
        if refusal.quota != quota {
            return None;
        }
        let passed_us = i64::try_from(now.duration_since(refusal.asked_at).as_micros()).ok()?;
        let now_us = refusal.refused.now_us.saturating_add(passed_us);
        (now_us < refusal.refused.answer.next_us).then(|| Timed::at(now_us, refusal.refused.answer))
    }

    /// Remembers the answer to a query made at `asked_at`, if it is a refusal.
    pub(super) fn remember(
        &self,
        key: Key,
        quota: Quota,
        refused: Timed<Decision>,
        asked_at: Instant,
    ) {
        if refused.answer.allowed {
            return;
        }
        let mut shard = self.shard(key);
        let is_due = shard
            .turned
            .is_none_or(|turned| asked_at.duration_since(turned) >= LONGEST);
        if is_due || shard.young.len() >= PER_GENERATION {
            shard.old = std::mem::take(&mut shard.young);
            shard.turned = Some(asked_at);
        }
        let refusal = Refusal {
            quota,
            refused,
            asked_at,
        };
        shard.young.insert(key, refusal);
    }

    fn shard(&self, key: Key) -> MutexGuard<'_, Shard> {
        let number = self.hasher.hash_one(key) as usize % SHARDS;
        self.shards[number].lock()
    }
}

impl Default for Refusals {
    fn default() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: RandomState::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcra;

    const NOW: i64 = 1_777_573_931_123_456;
    const ONE: Quota = Quota::per_minute(1);

    fn client(number: u32) -> Key {
        Key::account(u128::from(number).to_be_bytes())
    }

    fn refused(quota: Quota) -> Timed<Decision> {
        let refused = gcra::decide(Some(i64::MAX), quota, NOW);
        assert!(!refused.allowed);
        Timed::at(NOW, refused)
    }

    fn kept(refusals: &Refusals) -> usize {
        let shards = refusals.shards.iter().map(|shard| shard.lock());
        shards.map(|one| one.young.len() + one.old.len()).sum()
    }

    #[test]
    fn a_refusal_holds_exactly_until_the_next_token() {
        let (refusals, asked_at) = (Refusals::default(), Instant::now());
        let quota = Quota::per_minute(10);
        refusals.remember(client(1), quota, refused(quota), asked_at);
        let after = |us| refusals.find(client(1), quota, asked_at + Duration::from_micros(us));
        let found = after(1_500_000).unwrap();
        assert_eq!(found.now_us, NOW + 1_500_000);
        assert_eq!(found.retry_after_seconds(), 5);
        assert_eq!(found.answer, refused(quota).answer);
        assert!(after(5_999_999).is_some());
        assert_eq!(after(6_000_000), None);
        assert_eq!(refusals.find(client(2), quota, asked_at), None);
    }

    #[test]
    fn another_quota_is_asked_for() {
        let (refusals, asked_at) = (Refusals::default(), Instant::now());
        refusals.remember(client(1), ONE, refused(ONE), asked_at);
        assert_eq!(
            refusals.find(client(1), Quota::per_minute(2), asked_at),
            None
        );
        assert!(refusals.find(client(1), ONE, asked_at).is_some());
    }

    #[test]
    fn an_admission_is_not_remembered() {
        let (refusals, asked_at) = (Refusals::default(), Instant::now());
        let admitted = Timed::at(NOW, gcra::decide(None, ONE, NOW));
        refusals.remember(client(1), ONE, admitted, asked_at);
        assert_eq!(refusals.find(client(1), ONE, asked_at), None);
    }

    #[test]
    fn however_many_are_refused_there_is_an_end_to_what_is_kept() {
        let (refusals, asked_at) = (Refusals::default(), Instant::now());
        for number in 0..500_000 {
            refusals.remember(client(number), ONE, refused(ONE), asked_at);
        }
        let most = kept(&refusals);
        assert!(most <= 2 * SHARDS * PER_GENERATION, "{most}");
        assert!(refusals.find(client(499_999), ONE, asked_at).is_some());
        // Expired generations are dropped over time.
        for number in 0..1_000 {
            for round in 1..=2 {
                let later = asked_at + round * LONGEST;
                refusals.remember(client(number), ONE, refused(ONE), later);
            }
        }
        let left = kept(&refusals);
        assert!(left <= 2_000, "{left}");
    }
}
