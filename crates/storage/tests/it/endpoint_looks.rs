//! What the page of an endpoint shows: its own deliveries, newest first, and how it fares.

use offhook_domain::{DeliveryId, EndpointId, EventId, EventType};
use offhook_storage::{DeliveryState, EndpointDeliveryFilter, mint};
use offhook_testkit::{TestDatabase, contract};

use crate::raw::Raw;
use crate::shop::{Shop, T0, after, new_endpoint};

async fn endpoint(shop: &Shop) -> EndpointId {
    let endpoint = new_endpoint(shop.account, T0);
    let id = endpoint.id;
    let made = shop.store.create_endpoint(endpoint, "whsec_x", "whsec_", 5);
    assert!(made.await.unwrap());
    id
}

async fn deliver(
    raw: &mut Raw,
    shop: &Shop,
    endpoint: EndpointId,
    second: u64,
    (state, kind): (DeliveryState, EventType),
) -> DeliveryId {
    let at = after(second);
    let (id, event): (DeliveryId, EventId) = (mint(at), mint(at));
    let (account, to) = (raw.id(shop.account.uuid()), raw.id(endpoint.uuid()));
    let (row, event, at) = (raw.id(id.uuid()), raw.id(event.uuid()), raw.at(at));
    let body = match raw {
        Raw::Sqlite(_) => "x'00'",
        Raw::Postgres(_) => "'\\x00'",
    };
    raw.run(&format!(
        "INSERT INTO events (id, account_id, type, body, created_at) VALUES ({event}, {account}, '{kind}', {body}, {at}); \
         INSERT INTO deliveries (id, account_id, endpoint_id, event_id, event_type, state, attempts_count, \
           abandoned_count, created_at) VALUES ({row}, {account}, {to}, {event}, '{kind}', '{state}', 0, 0, {at})"
    ))
    .await;
    id
}

contract! {
    async fn an_endpoint_shows_its_own_deliveries_newest_first(database: TestDatabase) {
        use DeliveryState::{Delivered, Exhausted};
        use EventType::{CallCompleted, CallFailed};

        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let (here, there) = (endpoint(&shop).await, endpoint(&shop).await);
        let mut raw = Raw::open(&database).await;
        let first = deliver(&mut raw, &shop, here, 1, (Delivered, CallCompleted)).await;
        let second = deliver(&mut raw, &shop, here, 2, (Exhausted, CallCompleted)).await;
        deliver(&mut raw, &shop, there, 3, (Exhausted, CallFailed)).await;
        let third = deliver(&mut raw, &shop, here, 4, (Exhausted, CallFailed)).await;

        let read = async |filter: EndpointDeliveryFilter, after, limit| {
            let read = shop.store.endpoint_deliveries(shop.account, here, filter, after, limit);
            let rows = read.await.unwrap().expect("the account's endpoint");
            rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
        };
        let all = EndpointDeliveryFilter::default();
        assert_eq!(read(all, None, 5).await, [third, second, first]);
        // One more than asked for tells that there is a next page.
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
        let (busy, idle) = (endpoint(&shop).await, endpoint(&shop).await);
        let mut raw = Raw::open(&database).await;
        let kind = EventType::CallCompleted;
        deliver(&mut raw, &shop, busy, 1, (DeliveryState::Delivered, kind)).await;
        let last = deliver(&mut raw, &shop, busy, 2, (DeliveryState::Exhausted, kind)).await;
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
