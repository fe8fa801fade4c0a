use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicU32, Ordering};

use offhook_ratelimit::{IPV6_PREFIX_BITS, Key, MemoryStore, Quota, Space};
use proptest::prelude::*;

use crate::it::model::{Bucket, Window};

const NOW: i64 = 1_777_573_931_123_456;
const SECOND: i64 = 1_000_000;
const HOUR: i64 = 3600 * SECOND;

fn v4(number: u32) -> Key {
    Key::address(IpAddr::V4(Ipv4Addr::from_bits(number)), IPV6_PREFIX_BITS)
}

fn v6(text: &str) -> Key {
    let address: Ipv6Addr = text
        .parse()
        .unwrap_or_else(|_| panic!("{text} is no address"));
    Key::address(IpAddr::V6(address), IPV6_PREFIX_BITS)
}

#[derive(Debug, Clone)]
enum Ask {
    Bucket,
    Window,
    Both,
}

fn asks() -> impl Strategy<Value = (Ask, u32, i64)> {
    let ask = prop::sample::select(vec![Ask::Bucket, Ask::Window, Ask::Both]);
    let wait = prop_oneof![6 => 0..2 * SECOND, 3 => 0..30 * SECOND, 1 => 55 * SECOND..70 * SECOND, 1 => 0..200 * SECOND];
    (ask, 0u32..5, wait)
}

proptest! {
    #[test]
    fn every_client_has_a_naive_bucket_and_window_of_its_own(
        limit in prop::sample::select(vec![1u32, 2, 7, 10, 60]),
        window_limit in 1u32..6,
        asks in prop::collection::vec(asks(), 1..300),
    ) {
        let quota = Quota::per_minute(limit);
        let store = MemoryStore::new();
        let mut models: Vec<_> = (0..5).map(|_| (Bucket::full(quota, NOW), Window::new(window_limit))).collect();
        let mut now = NOW;
        for (ask, client, wait) in asks {
            now += wait;
            let key = v4(client);
            let (bucket, window) = &mut models[client as usize];
            match ask {
                Ask::Bucket => {
                    let (decision, expected) = (store.take(key, quota, now), bucket.take(now));
                    prop_assert_eq!(decision.allowed, expected.allowed);
                    prop_assert_eq!(decision.remaining, expected.remaining);
                    prop_assert_eq!(decision.next_us, expected.next_us);
                }
                Ask::Window => {
                    prop_assert_eq!(store.take_window(key, window_limit, now).allowed, window.take(now));
                }
                Ask::Both => {
                    let both = store.take_bucket_and_window(key, quota, window_limit, now);
                    let expected = bucket.take(now);
                    prop_assert_eq!(both.bucket.allowed, expected.allowed);
                    prop_assert_eq!(both.bucket.next_us, expected.next_us);
                    let window = expected.allowed.then(|| window.take(now));
                    prop_assert_eq!(both.window.map(|window| window.allowed), window);
                    prop_assert_eq!(both.allowed(), window == Some(true));
                }
            }
        }
        prop_assert_eq!(store.overflowed(), 0);
    }

    #[test]
    fn a_clock_that_steps_never_admits_more_than_real_time_and_its_steps_ahead_allow(
        steps in prop::collection::vec((0..10 * SECOND, prop_oneof![5 => Just(0), 1 => -2 * HOUR..2 * HOUR, 1 => -90 * SECOND..0]), 1..200),
    ) {
        // The model's time follows the clock, but stands still where the clock steps back.
        let quota = Quota::per_minute(10);
        let store = MemoryStore::new();
        let mut model = Bucket::full(quota, NOW);
        let (mut clock, mut time) = (NOW, NOW);
        for (wait, step) in steps {
            clock += wait + step;
            time += wait + step.max(0);
            let decision = store.take(v4(1), quota, clock);
            if decision.allowed {
                prop_assert!(model.take(time).allowed);
            } else {
                // Whatever the clock did before, waiting for `Retry-After` is enough if the clock now runs on.
                let wait = i64::try_from(decision.retry_after_seconds(clock)).unwrap_or(i64::MAX) * SECOND;
                prop_assert!((SECOND..=67 * SECOND).contains(&wait), "wait of {wait}");
                clock += wait;
                time += wait;
                prop_assert!(store.take(v4(1), quota, clock).allowed);
                prop_assert!(model.take(time).allowed);
            }
        }
    }
}

#[test]
fn threads_at_one_instant_get_exactly_the_bucket() {
    let (store, quota) = (MemoryStore::new(), Quota::per_minute(120));
    let (bucket, window) = (AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10_000 {
                    bucket.fetch_add(
                        store.take(v4(1), quota, NOW).allowed.into(),
                        Ordering::Relaxed,
                    );
                    let both = store.take_bucket_and_window(v4(2), quota, 10, NOW);
                    window.fetch_add(both.allowed().into(), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(bucket.into_inner(), 120);
    assert_eq!(window.into_inner(), 10);
    assert!(
        !store.take(v4(2), quota, NOW).allowed,
        "requests that the window refused have spent their tokens"
    );
}

#[test]
fn a_request_refused_by_the_bucket_is_not_counted_in_the_window() {
    let (store, quota) = (MemoryStore::new(), Quota::per_minute(2));
    for _ in 0..2 {
        assert!(
            store
                .take_bucket_and_window(v4(1), quota, 10, NOW)
                .allowed()
        );
    }
    let refused = store.take_bucket_and_window(v4(1), quota, 10, NOW);
    assert_eq!(refused.window, None);
    assert_eq!(refused.retry_after_seconds(NOW), 30);
    assert_eq!(store.take_window(v4(1), 10, NOW).remaining, 7);
}

#[test]
fn a_request_refused_by_the_window_waits_for_the_minute() {
    let (store, quota) = (MemoryStore::new(), Quota::per_minute(60));
    assert!(store.take_bucket_and_window(v4(1), quota, 1, NOW).allowed());
    let refused = store.take_bucket_and_window(v4(1), quota, 1, NOW);
    assert!(!refused.allowed());
    assert_eq!(refused.bucket.remaining, 58);
    assert_eq!(
        refused.retry_after_seconds(NOW),
        49,
        "NOW is 11.12 s into its minute"
    );
}

#[test]
fn addresses_rotating_within_one_64_share_a_bucket() {
    let (store, quota) = (MemoryStore::new(), Quota::per_minute(60));
    let admitted = (0..10_000u32)
        .filter(|number| {
            store
                .take(
                    v6(&format!("2001:db8:1:2:{:x}::{number:x}", number % 7)),
                    quota,
                    NOW,
                )
                .allowed
        })
        .count();
    assert_eq!(admitted, 60);
    assert!(store.take(v6("2001:db8:1:3::1"), quota, NOW).allowed);
}

#[test]
fn keys_of_different_kinds_never_meet() {
    let (store, quota) = (MemoryStore::new(), Quota::per_minute(1));
    let id = Ipv4Addr::from_bits(1).to_ipv6_mapped().octets();
    for key in [
        v4(1),
        Key::account(id),
        Key::id(Space::new(2), id),
        Key::id(Space::new(7), id),
    ] {
        assert!(store.take(key, quota, NOW).allowed);
        assert!(!store.take(key, quota, NOW).allowed);
    }
    assert!(
        !store.take(v6("::ffff:0.0.0.1"), quota, NOW).allowed,
        "a mapped address is the IPv4 address"
    );
    assert!(!store.take(Key::id(Space::ADDRESS, id), quota, NOW).allowed);
}

#[test]
fn a_clock_set_a_day_ahead_and_back_refuses_nobody_for_long() {
    let (store, quota) = (MemoryStore::new(), Quota::per_minute(10));
    assert!(store.take(v4(1), quota, NOW + 24 * HOUR).allowed);
    let after = store.take(v4(1), quota, NOW);
    assert!(after.allowed);
    assert_eq!(after.remaining, 8);
    // Times in answers follow the caller's clock.
    assert!((NOW..=NOW + 66 * SECOND).contains(&after.next_us));
    for minute in 1..10 {
        let now = NOW + minute * 60 * SECOND;
        assert!(store.take(v4(1), quota, now).allowed);
        assert!(
            store.take_window(v4(1), 1, now).allowed,
            "windows stay on the Unix minute"
        );
        assert!(!store.take_window(v4(1), 1, now).allowed);
    }
}

#[test]
fn memory_shrinks_after_a_rush() {
    let (store, quota) = (MemoryStore::new(), Quota::per_minute(60));
    for number in 0..100_000 {
        let _ = store.take(v4(number), quota, NOW);
    }
    let full = store.memory_bytes();
    for round in 1..=4 {
        for number in 0..2000 {
            let _ = store.take(v4(number), quota, NOW + round * 61 * SECOND);
        }
    }
    assert!(
        store.memory_bytes() < full / 8,
        "{} of {full} bytes left",
        store.memory_bytes()
    );
}

#[test]
fn a_million_addresses_are_counted_exactly_in_under_100_mib() {
    let (store, quota) = (MemoryStore::new(), Quota::per_minute(2));
    for allowed in [true, true, false] {
        for number in 0..1_000_000 {
            assert_eq!(store.take(v4(number), quota, NOW).allowed, allowed);
        }
    }
    assert_eq!(store.overflowed(), 0);
    assert!(
        store.memory_bytes() < 34 << 20,
        "{} bytes",
        store.memory_bytes()
    );
    // Two generations at once are the maximum.
    for number in 0..1_000_000 {
        let _ = store.take(v4(number), quota, NOW + 61 * SECOND);
    }
    assert_eq!(store.overflowed(), 0);
    assert!(
        store.memory_bytes() < 66 << 20,
        "{} bytes",
        store.memory_bytes()
    );
}
