//! The Redis store, with a server that is killed, frozen, slow, or has forgotten its scripts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use offhook_ratelimit::{Key, Quota, RedisStore, Space, Unavailable};
use offhook_testkit::{Network, Proxy, RedisServer, shared_redis_url};

const WIDE: Quota = Quota::per_minute(1_000_000);

/// How long a check may last, and the extra time for a busy machine.
const LIMIT: Duration = Duration::from_millis(100);
const BUSY: Duration = Duration::from_millis(900);

/// How long recovery may take, and the limit for single recoveries on a busy machine.
const BACK: Duration = Duration::from_secs(1);
const BACK_IF_BUSY: Duration = Duration::from_secs(3);

fn client() -> Key {
    use std::hash::BuildHasher as _;
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let seed = std::hash::RandomState::new().hash_one(number);
    let id = (u128::from(seed) << 64) | u128::from(number);
    Key::id(Space::new(6), id.to_be_bytes())
}

fn store(url: &str) -> Arc<RedisStore> {
    let store = RedisStore::connect(url);
    Arc::new(store.unwrap_or_else(|error| panic!("{url}: {error}")))
}

/// A store that has connected in the background.
async fn connect(url: &str) -> Arc<RedisStore> {
    let store = store(url);
    recovery(&store).await;
    store
}

/// How long it takes until a check is answered, with checks all the while.
async fn recovery(store: &RedisStore) -> Duration {
    let (began, key) = (Instant::now(), client());
    while store.take(key, WIDE).await.is_err() {
        assert!(began.elapsed() < Duration::from_secs(5), "no recovery");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    began.elapsed()
}

/// Checks until they fail without a wait, each within its limit. Returns the durations of the failed checks.
async fn goes_down(store: &RedisStore) -> Vec<Duration> {
    let (began, mut failed) = (Instant::now(), Vec::new());
    loop {
        let asked = Instant::now();
        let answer = store.take(client(), WIDE).await;
        let took = asked.elapsed();
        assert!(took < LIMIT + BUSY, "a check lasted {took:?}");
        if answer == Err(Unavailable) {
            failed.push(took);
            if took < Duration::from_millis(10) && !store.is_reachable() {
                return failed;
            }
        }
        assert!(began.elapsed() < Duration::from_secs(5), "never down");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: just test"]
async fn three_nodes_share_a_bucket_and_a_window_by_the_server_s_clock() {
    let quota = Quota::per_minute(40);
    let (account, address) = (client(), client());
    let began = Instant::now();
    let mut nodes = tokio::task::JoinSet::new();
    for _ in 0..3 {
        nodes.spawn(async move {
            let store = connect(&shared_redis_url()).await;
            let (mut admitted, mut placed) = (0, 0);
            for _ in 0..100 {
                let taken = store.take(account, quota).await.unwrap();
                admitted += u64::from(taken.answer.allowed);
                let both = store.take_bucket_and_window(address, WIDE, 10).await;
                placed += u64::from(both.unwrap().answer.allowed());
            }
            (admitted, placed)
        });
    }
    let counts = nodes.join_all().await;
    let refilled = u64::try_from(began.elapsed().as_micros()).unwrap()
        / u64::try_from(quota.interval_us()).unwrap();
    let admitted: u64 = counts.iter().map(|(admitted, _)| admitted).sum();
    assert!((40..=40 + refilled).contains(&admitted), "{admitted}");
    // A minute may end meanwhile.
    let placed: u64 = counts.iter().map(|(_, placed)| placed).sum();
    assert!(placed == 10 || placed == 20, "{placed}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: just test"]
async fn a_server_that_has_forgotten_its_scripts_learns_them_again() {
    let server = RedisServer::start().await;
    let store = connect(&server.url()).await;
    let (key, quota) = (client(), Quota::per_minute(5));
    assert_eq!(store.take(key, quota).await.unwrap().answer.remaining, 4);
    for remaining in (1..4).rev() {
        server.say("SCRIPT FLUSH SYNC").await;
        let both = store.take_bucket_and_window(key, quota, 10).await.unwrap();
        assert_eq!(both.answer.bucket.remaining, remaining, "counted once");
        assert_eq!(both.answer.window.unwrap().remaining, 6 + remaining);
    }
    server.say("SCRIPT FLUSH SYNC").await;
    let counted = store.take_window(key, 10).await.unwrap();
    assert_eq!(counted.answer.remaining, 6);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: just test"]
async fn what_is_kept_on_the_server_is_bounded_in_time_and_exact() {
    let server = RedisServer::start().await;
    let store = connect(&server.url()).await;
    let key = Key::id(Space::new(1), [7; 16]);
    let both = store
        .take_bucket_and_window(key, Quota::per_minute(1), 10)
        .await
        .unwrap();
    let name = |kind: &str| format!("ratelimit:{{1{}}}:{kind}", "07".repeat(16));
    let states = [
        ("b", both.answer.bucket.tat_us),
        ("w", both.answer.window.unwrap().state),
    ];
    for (kind, state) in states {
        let kept = server.say(&format!("GET {}", name(kind))).await;
        assert!(
            kept.contains(&format!("\r\n{state}\r\n")),
            "{kept}: {state}"
        );
        let expires = server.say(&format!("PTTL {}", name(kind))).await;
        let expires = expires.trim_start_matches(':').lines().next().unwrap();
        let expires: i64 = expires.parse().unwrap();
        assert!((50_000..=61_000).contains(&expires), "{expires}");
    }
    let slots = [server.say(&format!("CLUSTER KEYSLOT {}", name("b"))).await];
    let expected = server.say(&format!("CLUSTER KEYSLOT {}", name("w"))).await;
    assert_eq!(slots[0], expected);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: just test"]
async fn a_refused_client_that_goes_on_costs_the_server_nothing() {
    let server = RedisServer::start().await;
    let store = connect(&server.url()).await;
    let (key, quota) = (client(), Quota::per_minute(1));
    assert!(store.take(key, quota).await.unwrap().answer.allowed);
    assert!(!store.take(key, quota).await.unwrap().answer.allowed);
    let calls = async || {
        let stats = server.say("INFO commandstats").await;
        let line = stats
            .lines()
            .find(|line| line.starts_with("cmdstat_evalsha:"));
        line.and_then(|line| line.split(',').next().map(str::to_owned))
    };
    let before = calls().await;
    let refused = store.take(key, quota).await.unwrap();
    assert!((1..=60).contains(&refused.retry_after_seconds()));
    for _ in 0..1_000 {
        assert!(!store.take(key, quota).await.unwrap().answer.allowed);
        let both = store.take_bucket_and_window(key, quota, 10).await.unwrap();
        assert_eq!((both.answer.allowed(), both.answer.window), (false, None));
    }
    assert_eq!(calls().await, before);
    assert!(store.take(key, Quota::per_minute(2)).await.is_ok());
    assert_ne!(calls().await, before, "another quota is asked for");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: just test"]
async fn while_the_server_is_dead_nothing_is_admitted_and_it_is_back_within_a_second() {
    let mut server = RedisServer::start().await;
    let store = connect(&server.url()).await;
    let mut recoveries = Vec::new();
    for _ in 0..3 {
        server.kill();
        goes_down(&store).await;
        // Checks against a dead server cost nothing.
        let began = Instant::now();
        for _ in 0..1_000 {
            assert_eq!(store.take(client(), WIDE).await, Err(Unavailable));
        }
        assert!(began.elapsed() < LIMIT + BUSY, "{:?}", began.elapsed());
        server.start_again().await;
        let took = recovery(&store).await;
        assert!(took < BACK_IF_BUSY, "back after {took:?}");
        recoveries.push(took);
    }
    assert!(recoveries.iter().min() < Some(&BACK), "{recoveries:?}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: just test"]
async fn a_server_that_hangs_holds_a_request_for_a_tenth_of_a_second_and_five_in_a_row() {
    let server = RedisServer::start().await;
    let store = connect(&server.url()).await;
    let key = client();
    assert!(
        store
            .take(key, Quota::per_minute(1))
            .await
            .unwrap()
            .answer
            .allowed
    );
    assert!(
        !store
            .take(key, Quota::per_minute(1))
            .await
            .unwrap()
            .answer
            .allowed
    );
    server.freeze();
    // The heartbeat may be one of the five.
    let failed = goes_down(&store).await;
    assert!((1..=6).contains(&failed.len()), "{failed:?}");
    let waited = failed.iter().filter(|took| **took > LIMIT / 4).min();
    assert!(waited < Some(&(LIMIT * 2)), "{failed:?}");
    assert_eq!(
        store.take(key, Quota::per_minute(1)).await,
        Err(Unavailable),
        "a remembered refusal too: every request is told the same"
    );
    server.thaw();
    let took = recovery(&store).await;
    assert!(took < BACK_IF_BUSY, "back after {took:?}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: just test"]
async fn a_slow_network_and_a_black_hole_are_failures_within_a_tenth_of_a_second() {
    let server = RedisServer::start().await;
    let proxy = Proxy::before(server.address()).await;
    let store = connect(&format!("redis://{}", proxy.address())).await;
    for network in [Network::Slow(Duration::from_millis(80)), Network::BlackHole] {
        proxy.set(Network::Good);
        recovery(&store).await;
        proxy.set(network);
        goes_down(&store).await;
        proxy.set(Network::Good);
        let took = recovery(&store).await;
        assert!(took < BACK_IF_BUSY, "{network:?}: back after {took:?}");
    }
    proxy.set(Network::Slow(Duration::from_millis(10)));
    for _ in 0..10 {
        assert!(
            store.take(client(), WIDE).await.is_ok(),
            "slow, but not too slow"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: just test"]
async fn a_connection_that_is_cut_is_made_anew_before_the_next_request_fails() {
    let server = RedisServer::start().await;
    let proxy = Proxy::before(server.address()).await;
    let store = connect(&format!("redis://{}", proxy.address())).await;
    let (key, quota) = (client(), Quota::per_minute(100));
    for remaining in (90..100).rev() {
        let taken = store.take(key, quota).await.unwrap();
        assert_eq!(taken.answer.remaining, remaining);
        // Only the store uses RESP3.
        let connections = async || -> Vec<String> {
            let clients = server.say("CLIENT LIST").await;
            let stores = clients.lines().filter(|line| line.contains("resp=3"));
            let ids =
                stores.filter_map(|line| line.split(' ').find(|word| word.starts_with("id=")));
            ids.map(str::to_owned).collect()
        };
        let before = connections().await;
        proxy.cut();
        // Waits until the store has noticed and reconnected by itself.
        let began = Instant::now();
        loop {
            let now = connections().await;
            if now != before && now.len() == 1 && store.is_reachable() {
                break;
            }
            assert!(began.elapsed() < Duration::from_secs(5), "not noticed");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Redis: just test"]
async fn a_server_that_cannot_be_written_to_is_no_store() {
    let server = RedisServer::start().await;
    let store = connect(&server.url()).await;
    server.say("REPLICAOF 127.0.0.1 1").await;
    goes_down(&store).await;
    server.say("REPLICAOF NO ONE").await;
    assert!(recovery(&store).await < BACK_IF_BUSY);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_was_never_there_refuses_and_says_so() {
    let store = store("redis://127.0.0.1:1");
    assert_eq!(store.take(client(), WIDE).await, Err(Unavailable));
    assert_eq!(store.take_window(client(), 1).await, Err(Unavailable));
    let both = store.take_bucket_and_window(client(), WIDE, 1).await;
    assert_eq!(both, Err(Unavailable));
    assert!(!store.is_reachable());
}

#[tokio::test]
async fn a_url_that_is_none_is_refused_without_its_password() {
    for url in [
        "127.0.0.1:6379",
        "http://u:hunter2@h",
        "redis://u:hunter2@h/nine",
        "redis://u:hunter2@:x",
    ] {
        let refused = RedisStore::connect(url).unwrap_err().to_string();
        assert!(!refused.contains("hunter2"), "{refused}");
        assert!(!RedisStore::is_url(url));
    }
    for url in ["redis://u:p@h:7000/3", "rediss://h"] {
        assert!(RedisStore::is_url(url));
    }
}
