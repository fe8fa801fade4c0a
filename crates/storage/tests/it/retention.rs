//! The retention of deliveries.

use std::time::Duration;

use offhook_domain::{DeliveryId, EndpointId, EventType, Timestamp};
use offhook_storage::{
    AttemptReport, BODIES_KEPT, ClaimSlots, DELIVERIES_KEPT, DeliveryState, Recovered, Resent,
};
use offhook_testkit::{TestDatabase, contract};

use crate::it::raw::Raw;
use crate::it::shop::{Shop, T0, event};

const MOMENT: Duration = Duration::from_millis(1);

/// A test event's delivery.
async fn delivery(shop: &Shop, endpoint: EndpointId, at: Timestamp) -> DeliveryId {
    let test = event(EventType::CallFailed, at);
    let sent = shop.store.send_test_event(shop.account, endpoint, test, at);
    match sent.await.unwrap() {
        Resent::Asked(delivery) => delivery.id,
        other => panic!("{other:?}"),
    }
}

/// Makes the first and only attempt of everything that is due.
async fn attempt(shop: &Shop, endpoint: EndpointId, success: bool, at: Timestamp) {
    let slots = vec![ClaimSlots {
        endpoint,
        firsts: 10,
        retries: 0,
        resends: 0,
    }];
    let claimed = shop
        .store
        .claim_deliveries(slots, vec![], (at, at))
        .await
        .unwrap();
    let reports = claimed
        .into_iter()
        .map(|attempt| AttemptReport {
            claim_id: attempt.claim_id,
            attempt_id: attempt.attempt_id,
            delivery_id: attempt.delivery_id,
            endpoint_id: attempt.endpoint_id,
            number: attempt.number,
            at,
            success,
            status_code: None,
            duration_ms: 1,
            error: None,
            response_snippet: None,
            ended: at,
            retry_after: None,
        })
        .collect();
    shop.store.finish_attempts(reports, at).await.unwrap();
}

contract! {
    async fn a_payload_goes_after_14_days_unless_it_is_still_to_be_sent(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let endpoint = shop.endpoint().await;
        let missed = delivery(&shop, endpoint, T0).await;
        attempt(&shop, endpoint, false, T0).await;
        let open = delivery(&shop, endpoint, T0).await;
        let last = T0.plus(BODIES_KEPT);
        let payload = async |id| store.delivery(shop.account, id).await.unwrap().unwrap().payload;

        assert!(!store.clear_old_bodies(last.minus(MOMENT)).await.unwrap());
        assert!(payload(missed).await.is_some());
        let recover = |at| store.recover_endpoint(shop.account, endpoint, T0, at);
        store.clear_old_bodies(last.plus(MOMENT)).await.unwrap();
        assert_eq!(payload(missed).await, None);
        assert!(payload(open).await.is_some());

        assert_eq!(recover(last).await.unwrap(), Recovered::Asked(0));
        let again = store.resend_delivery(shop.account, missed, last).await.unwrap();
        assert!(matches!(again, Resent::BodyGone), "{again:?}");
        // No row is processed twice.
        assert_eq!(Raw::open(&database).await.count("resends").await, 0);
        assert!(!store.clear_old_bodies(last.plus(MOMENT)).await.unwrap());
    }

    async fn a_thousand_payloads_go_at_a_time(store: offhook_storage::Store) {
        let shop = Shop::new(&store).await;
        let endpoint = shop.endpoint().await;
        for _ in 0..1_001 {
            delivery(&shop, endpoint, T0).await;
        }
        let now = T0.plus(BODIES_KEPT).plus(MOMENT);
        assert!(store.clear_old_bodies(now).await.unwrap());
        assert!(!store.clear_old_bodies(now).await.unwrap());
    }

    async fn a_delivery_goes_after_30_days_with_its_attempts_and_its_test_event(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let endpoint = shop.endpoint().await;
        shop.place(T0).await;
        let test = delivery(&shop, endpoint, T0).await;
        attempt(&shop, endpoint, true, T0).await;
        let open = delivery(&shop, endpoint, T0).await;
        let last = T0.plus(DELIVERIES_KEPT);
        let mut raw = Raw::open(&database).await;

        store.delete_old_deliveries(last.minus(MOMENT)).await.unwrap();
        assert_eq!(raw.count("deliveries").await, 3);
        assert_eq!(raw.count("attempts").await, 2);
        store.delete_old_deliveries(last.plus(MOMENT)).await.unwrap();
        assert!(store.delivery(shop.account, test).await.unwrap().is_none());
        let kept = store.delivery(shop.account, open).await.unwrap().unwrap();
        assert_eq!(kept.delivery.state, DeliveryState::Pending);
        assert_eq!(raw.count("deliveries").await, 1);
        assert_eq!(raw.count("attempts").await, 0);
        // The call's event belongs to its conversation.
        assert_eq!(raw.count("events").await, 2);
    }
}
