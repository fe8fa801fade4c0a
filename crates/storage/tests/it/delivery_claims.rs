//! Claims of due deliveries: complete, in order, by one process each, and in few statements.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::join_all;
use offhook_domain::{DeliveryId, EndpointId, EventType, Timestamp};
use offhook_storage::{ClaimSlots, ClaimedAttempt, Resent, Store};
use offhook_testkit::{TestDatabase, contract};

use crate::it::raw::Raw;
use crate::it::shop::{Shop, T0, after, event, pass};

/// A delivery that is due since `at`; its body holds that time.
async fn ask(shop: &Shop, endpoint: EndpointId, at: Timestamp) -> DeliveryId {
    let mut test = event(EventType::CallFailed, at);
    test.body = at.to_string().into_bytes();
    let asked = shop.store.send_test_event(shop.account, endpoint, test, at);
    match asked.await.unwrap() {
        Resent::Asked(delivery) => delivery.id,
        other => panic!("{other:?}"),
    }
}

fn firsts(endpoint: EndpointId, firsts: usize) -> ClaimSlots {
    ClaimSlots {
        endpoint,
        firsts,
        retries: firsts,
        resends: 0,
    }
}

async fn claim(store: &Store, slots: Vec<ClaimSlots>, at: Timestamp) -> Vec<ClaimedAttempt> {
    store
        .claim_deliveries(slots, vec![], (at, at))
        .await
        .unwrap()
}

fn ids(attempts: &[ClaimedAttempt]) -> Vec<DeliveryId> {
    attempts.iter().map(|one| one.delivery_id).collect()
}

contract! {
    async fn a_claim_brings_each_endpoint_s_first_ones_with_all_that_they_need(store: Store) {
        let shop = Shop::new(&store).await;
        let (one, other, unasked) = (shop.endpoint().await, shop.endpoint().await, shop.endpoint().await);
        let mut expected = Vec::new();
        for second in [5, 1, 4, 2, 3] {
            for endpoint in [one, other, unasked] {
                expected.push((second, endpoint, ask(&shop, endpoint, after(second)).await));
            }
        }
        let now = after(9);
        let claimed = claim(&store, vec![firsts(other, 3), firsts(one, 2)], now).await;
        let of = |endpoint, second| {
            let mut all = expected.iter();
            all.find(|(at, whose, _)| (*at, *whose) == (second, endpoint)).unwrap().2
        };
        let order = [of(other, 1), of(other, 2), of(other, 3), of(one, 1), of(one, 2)];
        assert_eq!(ids(&claimed), order);
        for (attempt, (endpoint, second)) in claimed.iter().zip([(other, 1), (other, 2), (other, 3), (one, 1), (one, 2)]) {
            assert_eq!((attempt.endpoint_id, attempt.account_id), (endpoint, shop.account));
            assert_eq!((attempt.number, attempt.kind), (1, EventType::CallFailed));
            assert_eq!(attempt.body, after(second).to_string().into_bytes());
            assert_eq!(attempt.secrets, ["whsec_one"]);
            assert!(attempt.url.starts_with("https://"), "{}", attempt.url);
            assert_eq!(attempt.claim_id, claimed[0].claim_id);
        }
        let attempts: HashSet<_> = claimed.iter().map(|one| one.attempt_id).collect();
        assert_eq!(attempts.len(), 5);
        // Claimed deliveries are not claimed again; the rest is.
        let rest = claim(&store, vec![firsts(one, 9), firsts(other, 9)], now).await;
        assert_eq!(ids(&rest), [of(one, 3), of(one, 4), of(one, 5), of(other, 4), of(other, 5)]);
    }

    async fn what_a_dead_process_had_is_claimed_among_the_others_by_its_age(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let endpoint = shop.endpoint().await;
        let oldest = ask(&shop, endpoint, T0).await;
        let dead = ask(&shop, endpoint, after(1)).await;
        let now = after(9);
        assert_eq!(ids(&claim(&store, vec![firsts(endpoint, 2)], now).await), [oldest, dead]);
        let youngest = ask(&shop, endpoint, after(2)).await;
        assert_eq!(ids(&claim(&store, vec![firsts(endpoint, 9)], now).await), [youngest]);
        let later = pass(&store, 60);
        let between = ask(&shop, endpoint, after(1)).await;
        let again = claim(&store, vec![firsts(endpoint, 9)], later).await;
        let (first, last) = (ids(&again)[0], ids(&again)[3]);
        assert_eq!((first, last), (oldest, youngest));
        assert_eq!(ids(&again).into_iter().collect::<HashSet<_>>(), [oldest, dead, between, youngest].into());
        assert!(again.iter().all(|one| one.number == 1), "an attempt that nobody knows of counts for none");
        let mut raw = Raw::open(&database).await;
        assert_eq!(raw.count("attempts WHERE outcome = 'abandoned'").await, 3);
        assert_eq!(raw.count("attempts WHERE outcome = 'begun'").await, 4);
        assert_eq!(raw.count("deliveries WHERE abandoned_count = 1").await, 3);
    }

    async fn racing_claims_share_what_is_due_without_a_remainder(store: Store) {
        let shop = Shop::new(&store).await;
        let endpoints = [shop.endpoint().await, shop.endpoint().await];
        let mut due = HashSet::new();
        for second in 0..60 {
            due.insert(ask(&shop, endpoints[usize::from(second % 3 == 0)], after(second)).await);
        }
        let now = after(90);
        let racing = (0..8).map(|number| {
            let store = store.clone();
            tokio::spawn(async move {
                let (mut mine, mut empty) = (Vec::new(), 0);
                // A claim skips rows that another claim is taking, so a worker stops after two empty claims.
                while empty < 2 {
                    let slots = endpoints.map(|endpoint| firsts(endpoint, 1 + number % 4)).to_vec();
                    let claimed = claim(&store, slots, now).await;
                    empty = if claimed.is_empty() { empty + 1 } else { 0 };
                    mine.extend(ids(&claimed));
                }
                mine
            })
        });
        let mut all: Vec<DeliveryId> = join_all(racing).await.into_iter().flat_map(Result::unwrap).collect();
        // If the last claims skipped all rows, they are still here.
        all.extend(ids(&claim(&store, endpoints.map(|endpoint| firsts(endpoint, 60)).to_vec(), now).await));
        assert_eq!(all.len(), 60, "each once");
        assert_eq!(all.into_iter().collect::<HashSet<_>>(), due);
    }
}

mod only_postgres {
    use super::*;
    use crate::it::plans::Recorder;

    /// Needs a single thread, so that the pool opens its connections where the recorder began.
    #[tokio::test]
    #[ignore = "needs PostgreSQL: just test"]
    async fn a_claim_is_six_statements_however_much_it_claims() {
        let database = TestDatabase::postgres().await;
        let recorder = Recorder::begin();
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let mut slots = Vec::new();
        for _ in 0..10 {
            let endpoint = shop.endpoint().await;
            slots.push(firsts(endpoint, 6));
            for second in 0..6 {
                ask(&shop, endpoint, after(second)).await;
            }
        }
        recorder.take();
        let claimed = claim(&store, slots, after(9)).await;
        let mut statements = recorder.take();
        // A session opened meanwhile to probe the server sets itself up.
        statements.retain(|statement| !statement.starts_with("SET "));
        assert_eq!(claimed.len(), 60);
        // BEGIN, the clock, the claim, the secrets, the attempts, COMMIT.
        assert_eq!(statements.len(), 6, "{statements:#?}");
    }

    /// A claim skips rows that another transaction holds, and later checks them again.
    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn a_claim_waits_for_nobody() {
        let database = TestDatabase::postgres().await;
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let endpoint = shop.endpoint().await;
        let held = ask(&shop, endpoint, after(1)).await;
        let free = ask(&shop, endpoint, after(2)).await;
        let mut raw = Raw::open(&database).await;
        let hold = format!(
            "BEGIN; UPDATE deliveries SET state = 'cancelled' WHERE id = {}",
            raw.id(held.uuid())
        );
        raw.run(&hold).await;
        let claiming = claim(&store, vec![firsts(endpoint, 5)], after(9));
        let claimed = tokio::time::timeout(Duration::from_secs(30), claiming);
        assert_eq!(ids(&claimed.await.unwrap()), [free]);
        raw.run("COMMIT").await;
        assert_eq!(
            claim(&store, vec![firsts(endpoint, 5)], after(9))
                .await
                .len(),
            0
        );
    }
}
