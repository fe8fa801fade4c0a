//! The rules on the server, by a clock that the tests control.

#[expect(
    clippy::duplicate_mod,
    reason = "the model of the rules, over this build of them"
)]
#[path = "../../tests/it/model.rs"]
mod model;

use crate as tested;

use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use offhook_testkit::shared_redis_url;
use proptest::prelude::*;
use tokio::runtime::Runtime;

use super::{Link, RedisStore, Refusals, Script, link};
use crate::answer::Unavailable;
use crate::{Key, Quota, Space};
use model::{Bucket, Window};

const NOW: i64 = 1_777_573_931_123_456;
const SECOND: i64 = 1_000_000;

/// Replaces the server's clock: each check brings the time. Redis expires keys by its own clock, which runs while
/// this one stands still. So the counts must outlive a slow test machine.
const GIVEN_CLOCK: &str =
    "local now = tonumber(ARGV[#ARGV])\nlocal math = {ceil = function() return 3600000 end}\n";

/// The server's time and the local monotonic time, which advance together.
#[derive(Clone)]
pub(super) struct TestClock {
    now_us: Arc<AtomicI64>,
    began: Instant,
}

impl TestClock {
    fn new() -> Self {
        Self {
            now_us: Arc::new(AtomicI64::new(NOW)),
            began: Instant::now(),
        }
    }

    fn set(&self, now_us: i64) {
        self.now_us.store(now_us, Ordering::SeqCst);
    }

    fn now_us(&self) -> i64 {
        self.now_us.load(Ordering::SeqCst)
    }
}

impl RedisStore {
    fn with_clock(clock: TestClock) -> Self {
        let client = link::client(&shared_redis_url()).unwrap();
        Self {
            link: Link::connect(client, GIVEN_CLOCK),
            refusals: Refusals::default(),
            clock: Some(clock),
        }
    }

    pub(super) async fn ask<T: redis::FromRedisValue>(
        &self,
        script: Script,
        keys: &[&str],
        numbers: &[i64],
    ) -> Result<T, Unavailable> {
        let mut numbers = numbers.to_vec();
        numbers.extend(self.clock.as_ref().map(TestClock::now_us));
        self.link.run(script, keys, &numbers).await
    }

    pub(super) fn instant(&self) -> Instant {
        match &self.clock {
            Some(clock) => {
                let passed = u64::try_from(clock.now_us() - NOW).unwrap_or(0);
                clock.began + Duration::from_micros(passed)
            }
            None => Instant::now(),
        }
    }
}

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

/// A client that no other test uses.
fn client() -> Key {
    use std::hash::BuildHasher as _;
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let seed = std::hash::RandomState::new().hash_one(number);
    let id = (u128::from(seed) << 64) | u128::from(number);
    Key::id(Space::new(7), id.to_be_bytes())
}

#[derive(Debug, Clone)]
enum Ask {
    Bucket,
    Window,
    Both,
}

fn asks() -> impl Strategy<Value = (Ask, usize, i64)> {
    let ask = prop::sample::select(vec![Ask::Bucket, Ask::Window, Ask::Both]);
    let wait = prop_oneof![6 => 0..2 * SECOND, 3 => 0..30 * SECOND, 1 => 55 * SECOND..70 * SECOND, 1 => 0..200 * SECOND];
    (ask, 0usize..4, wait)
}

/// Gives each client a naive bucket and window, and expects the model's answers.
async fn follows_the_model(
    store: &RedisStore,
    clock: &TestClock,
    (limit, window_limit): (u32, u32),
    asks: &[(Ask, usize, i64)],
) -> Result<(), TestCaseError> {
    let quota = Quota::per_minute(limit);
    clock.set(NOW);
    let clients: Vec<_> = (0..4).map(|_| client()).collect();
    let mut models: Vec<_> = (0..4)
        .map(|_| (Bucket::full(quota, NOW), Window::new(window_limit)))
        .collect();
    let mut now = NOW;
    for (ask, number, wait) in asks {
        now += wait;
        clock.set(now);
        let key = clients[*number];
        let (bucket, window) = &mut models[*number];
        match ask {
            Ask::Bucket => {
                let taken = store.take(key, quota).await.unwrap();
                let expected = bucket.take(now);
                prop_assert_eq!(taken.answer.allowed, expected.allowed);
                prop_assert_eq!(taken.answer.remaining, expected.remaining);
                prop_assert_eq!(taken.answer.next_us, expected.next_us);
                prop_assert_eq!(taken.now_us, now);
            }
            Ask::Window => {
                let counted = store.take_window(key, window_limit).await.unwrap();
                prop_assert_eq!(counted.answer.allowed, window.take(now));
                prop_assert!((1..=60).contains(&counted.retry_after_seconds()));
                prop_assert_eq!(counted.answer.ends_us % (60 * SECOND), 0);
            }
            Ask::Both => {
                let both = store.take_bucket_and_window(key, quota, window_limit);
                let both = both.await.unwrap();
                let expected = bucket.take(now);
                prop_assert_eq!(both.answer.bucket.allowed, expected.allowed);
                prop_assert_eq!(both.answer.bucket.remaining, expected.remaining);
                prop_assert_eq!(both.answer.bucket.next_us, expected.next_us);
                let window = expected.allowed.then(|| window.take(now));
                prop_assert_eq!(both.answer.window.map(|window| window.allowed), window);
                prop_assert_eq!(both.now_us, now);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    #[ignore = "needs Redis: just test"]
    fn redis_follows_the_model(
        limits in (prop::sample::select(vec![1u32, 2, 7, 10, 60]), 1u32..6),
        asks in prop::collection::vec(asks(), 1..100),
    ) {
        let clock = TestClock::new();
        RUNTIME.block_on(async {
            let store = RedisStore::with_clock(clock.clone());
            follows_the_model(&store, &clock, limits, &asks).await
        })?;
    }

    /// As in memory: a server whose clock was ahead, or a larger plan that became a smaller one.
    #[test]
    #[ignore = "needs Redis: just test"]
    fn redis_decides_every_state_as_memory_does(
        steps in prop::collection::vec((prop::sample::select(vec![1u32, 3, 10, 60, 120, 1_000_000]), -90 * SECOND..90 * SECOND), 1..60),
    ) {
        let clock = TestClock::new();
        RUNTIME.block_on(async {
            let (key, mut tat, mut window) = (client(), None, None);
            let mut now = NOW;
            for (limit, step) in steps {
                now += step;
                clock.set(now);
                let quota = Quota::per_minute(limit);
                // A monotonic clock does not go back as this one does, so no refusal is remembered here.
                let store = RedisStore::with_clock(clock.clone());
                let both = store.take_bucket_and_window(key, quota, limit).await.unwrap().answer;
                let expected = crate::gcra::decide(tat, quota, now);
                prop_assert_eq!(both.bucket, expected);
                if expected.allowed {
                    tat = Some(expected.tat_us);
                    let expected = crate::window::decide(window, limit, now);
                    prop_assert_eq!(both.window, Some(expected));
                    if expected.allowed {
                        window = Some(expected.state);
                    }
                }
            }
            Ok(())
        })?;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: just test"]
async fn three_nodes_with_ten_thousand_requests_at_one_instant_admit_exactly_the_limit() {
    let (clock, quota) = (TestClock::new(), Quota::per_minute(120));
    let (account, address) = (client(), client());
    let mut nodes = tokio::task::JoinSet::new();
    for _ in 0..3 {
        let store = Arc::new(RedisStore::with_clock(clock.clone()));
        for _ in 0..10 {
            let store = store.clone();
            nodes.spawn(async move {
                let (mut bucket, mut window) = (0, 0);
                for _ in 0..1_000 {
                    let taken = store.take(account, quota).await.unwrap();
                    bucket += u32::from(taken.answer.allowed);
                    let both = store.take_bucket_and_window(address, quota, 10);
                    window += u32::from(both.await.unwrap().answer.allowed());
                }
                (bucket, window)
            });
        }
    }
    let admitted = nodes.join_all().await;
    assert_eq!(admitted.iter().map(|(bucket, _)| bucket).sum::<u32>(), 120);
    assert_eq!(admitted.iter().map(|(_, window)| window).sum::<u32>(), 10);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: just test"]
async fn a_client_that_waits_as_told_is_admitted_and_one_that_does_not_is_not() {
    let clock = TestClock::new();
    let store = RedisStore::with_clock(clock.clone());
    for limit in [1, 7, 10, 60, 300] {
        let (key, quota) = (client(), Quota::per_minute(limit));
        while store.take(key, quota).await.unwrap().answer.allowed {}
        let refused = store.take(key, quota).await.unwrap();
        let now = clock.now_us();
        clock.set(refused.answer.next_us - 1);
        assert!(!store.take(key, quota).await.unwrap().answer.allowed);
        let wait = i64::try_from(refused.retry_after_seconds()).unwrap() * SECOND;
        assert!(
            wait - SECOND < refused.answer.next_us - now && refused.answer.next_us - now <= wait
        );
        clock.set(refused.answer.next_us);
        assert!(store.take(key, quota).await.unwrap().answer.allowed);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: just test"]
async fn a_larger_plan_counts_at_once_whatever_was_refused_before() {
    let store = RedisStore::with_clock(TestClock::new());
    let (key, small, large) = (client(), Quota::per_minute(2), Quota::per_minute(40));
    for allowed in [true, true, false, false] {
        let taken = store.take(key, small).await.unwrap();
        assert_eq!(taken.answer.allowed, allowed);
    }
    // The small plan has spent a minute's worth, so all of the large plan's is spent too.
    let taken = store.take(key, large).await.unwrap();
    assert!(!taken.answer.allowed);
    assert_eq!(taken.answer.next_us, NOW + large.interval_us());
    let other = client();
    assert!(store.take(other, small).await.unwrap().answer.allowed);
    assert_eq!(store.take(other, large).await.unwrap().answer.remaining, 19);
}
