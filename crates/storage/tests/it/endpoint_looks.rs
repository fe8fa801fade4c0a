//! The page of an endpoint: its own deliveries, newest first, and its health.

use offhook_domain::EventType;
use offhook_storage::{DeliveryState, EndpointDeliveryFilter};
use offhook_testkit::{TestDatabase, contract};

use crate::it::raw::Raw;
use crate::it::shop::{Shop, after};

contract! {
    async fn an_endpoint_shows_its_own_deliveries_newest_first(database: TestDatabase) {
        use DeliveryState::{Delivered, Exhausted};
        use EventType::{CallCompleted, CallFailed};

        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let (here, there) = (shop.endpoint().await, shop.endpoint().await);
        let mut raw = Raw::open(&database).await;
        let first = raw.deliver((shop.account, here), (Delivered, CallCompleted), after(1)).await;
        let second = raw.deliver((shop.account, here), (Exhausted, CallCompleted), after(2)).await;
        raw.deliver((shop.account, there), (Exhausted, CallFailed), after(3)).await;
        let third = raw.deliver((shop.account, here), (Exhausted, CallFailed), after(4)).await;

        let read = async |filter: EndpointDeliveryFilter, after, limit| {
            let read = shop.store.endpoint_deliveries(shop.account, here, filter, after, limit);
            let rows = read.await.unwrap().expect("the account's endpoint");
            rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
        };
        let all = EndpointDeliveryFilter::default();
        assert_eq!(read(all, None, 5).await, [third, second, first]);
        // One more than requested shows that there is a next page.
        assert_eq!(read(all, None, 1).await, [third, second]);
        assert_eq!(read(all, Some(third), 5).await, [second, first]);
        let exhausted = EndpointDeliveryFilter { state: Some(Exhausted), kind: None };
        assert_eq!(read(exhausted, None, 5).await, [third, second]);
        let failed = EndpointDeliveryFilter { state: Some(Exhausted), kind: Some(CallFailed) };
        assert_eq!(read(failed, None, 5).await, [third]);

        let stranger = Shop::new(&store).await;
        let asked = shop.store.endpoint_deliveries(stranger.account, here, all, None, 5);
        assert!(asked.await.unwrap().is_none(), "another account's endpoint");
    }

    async fn the_health_of_endpoints_names_the_last_delivery_of_each(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let (busy, idle) = (shop.endpoint().await, shop.endpoint().await);
        let mut raw = Raw::open(&database).await;
        let kind = EventType::CallCompleted;
        raw.deliver((shop.account, busy), (DeliveryState::Delivered, kind), after(1)).await;
        let last = raw.deliver((shop.account, busy), (DeliveryState::Exhausted, kind), after(2)).await;
        let (row, at) = (raw.id(busy.uuid()), raw.at(after(2)));
        raw.run(&format!(
            "INSERT INTO webhook_endpoint_health (endpoint_id, first_failure_at, exhausted_count) VALUES ({row}, {at}, 1)"
        ))
        .await;

        let health = shop.store.endpoint_health(shop.account).await.unwrap();
        let mut told: Vec<_> = health
            .iter()
            .map(|one| {
                let newest = one.newest.as_ref().map(|delivery| delivery.id);
                (one.endpoint, one.failing_since, one.exhausted_count, newest)
            })
            .collect();
        told.sort_by_key(|(.., newest)| newest.is_none());
        assert_eq!(told, [(busy, Some(after(2)), 1, Some(last)), (idle, None, 0, None)]);

        let stranger = Shop::new(&store).await;
        assert!(shop.store.endpoint_health(stranger.account).await.unwrap().is_empty());
    }
}
