//! More clients than slots.

use std::collections::HashMap;

use offhook_ratelimit::{Key, MemoryStore, Quota, Space};
use proptest::prelude::*;

use crate::it::model::{Bucket, Window};

const NOW: i64 = 1_777_573_931_123_456;
const SECOND: i64 = 1_000_000;

fn client(number: u32) -> Key {
    Key::id(Space::new(3), u128::from(number).to_be_bytes())
}

/// Fills a store of the least capacity: 8 slots in each shard.
fn fill(store: &MemoryStore, now: i64) {
    for number in 1_000_000..1_003_000 {
        let _ = store.take(client(number), Quota::per_minute(1), now);
    }
}

#[test]
fn clients_beyond_the_capacity_are_counted_and_limited() {
    let (store, quota) = (MemoryStore::with_capacity(0), Quota::per_minute(10));
    fill(&store, NOW);
    assert!(store.overflowed() > 0);
    for number in 0..100 {
        let admitted = (0..20)
            .filter(|_| store.take(client(number), quota, NOW).allowed)
            .count();
        assert!(admitted <= 10);
    }
    let admitted = (0..20)
        .filter(|_| store.take_window(client(5000), 3, NOW).allowed)
        .count();
    assert!(admitted <= 3);
}

#[test]
fn after_the_rush_everyone_is_counted_exactly_again() {
    let (store, quota) = (MemoryStore::with_capacity(0), Quota::per_minute(10));
    fill(&store, NOW);
    let before = store.overflowed();
    for number in 0..40 {
        let admitted = (0..20)
            .filter(|_| {
                store
                    .take(client(number), quota, NOW + 122 * SECOND)
                    .allowed
            })
            .count();
        assert_eq!(admitted, 10);
    }
    assert_eq!(store.overflowed(), before);
}

#[test]
fn clients_known_before_the_rush_keep_their_own_bucket() {
    let (store, quota) = (MemoryStore::with_capacity(0), Quota::per_minute(60));
    assert!(store.take(client(1), quota, NOW).allowed);
    fill(&store, NOW);
    for remaining in (0..59).rev() {
        assert_eq!(store.take(client(1), quota, NOW).remaining, remaining);
    }
    assert!(!store.take(client(1), quota, NOW).allowed);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Clients move from tables to cells and back, as generations turn and slots fill up and become free.
    #[test]
    fn nobody_is_ever_admitted_beyond_the_limit(
        asks in prop::collection::vec((0u32..1500, any::<bool>(), prop_oneof![40 => 0..SECOND / 20, 1 => 0..40 * SECOND]), 2000..6000),
        limits in prop::sample::select(vec![[1u32, 2], [2, 2], [3, 7]]),
    ) {
        let store = MemoryStore::with_capacity(0);
        let mut models = HashMap::new();
        let mut now = NOW;
        for (number, window, wait) in asks {
            now += wait;
            // Two plans, so that clients of different quotas share cells.
            let quota = Quota::per_minute(limits[number as usize % 2]);
            let (bucket_model, window_model) =
                models.entry(number).or_insert_with(|| (Bucket::full(quota, NOW), Window::new(2)));
            // The models only see admitted requests: a client refused early keeps its allowance.
            if window {
                if store.take_window(client(number), 2, now).allowed {
                    prop_assert!(window_model.take(now));
                }
            } else if store.take(client(number), quota, now).allowed {
                prop_assert!(bucket_model.take(now).allowed);
            }
        }
    }
}
