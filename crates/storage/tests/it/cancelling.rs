//! Open deliveries of disabled or deleted endpoints, also in large numbers; and deliveries whose processes die.

use offhook_domain::{EndpointId, EventType};
use offhook_storage::{
    ClaimSlots, DeliveryState, DueEndpoint, EndpointChange, EndpointStatus, Resent,
};
use offhook_testkit::{TestDatabase, contract};

use crate::it::raw::Raw;
use crate::it::shop::{Shop, T0, after, event};

/// More than are cancelled together with their endpoint's change.
const MANY: i64 = 2_500;

async fn ask(shop: &Shop, endpoint: EndpointId) -> offhook_domain::DeliveryId {
    let test = event(EventType::CallFailed, T0);
    let asked = shop.store.send_test_event(shop.account, endpoint, test, T0);
    match asked.await.unwrap() {
        Resent::Asked(delivery) => delivery.id,
        other => panic!("{other:?}"),
    }
}

/// Copies the endpoint's one delivery until there are this many.
async fn multiply(raw: &mut Raw, endpoint: EndpointId) {
    let (id, endpoint) = match raw {
        Raw::Sqlite(_) => ("randomblob(16)", raw.id(endpoint.uuid())),
        Raw::Postgres(_) => ("gen_random_uuid()", raw.id(endpoint.uuid())),
    };
    let columns = "account_id, endpoint_id, event_id, event_type, state, attempts_count, abandoned_count, \
                   next_attempt_at, created_at";
    raw.run(&format!(
        "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < {MANY}) \
         INSERT INTO deliveries (id, {columns}) SELECT {id}, {columns} FROM deliveries, n WHERE endpoint_id = {endpoint}"
    ))
    .await;
}

fn slots(endpoint: EndpointId) -> Vec<ClaimSlots> {
    vec![ClaimSlots {
        endpoint,
        firsts: 2,
        retries: 2,
        resends: 2,
    }]
}

fn change(status: EndpointStatus) -> EndpointChange {
    EndpointChange {
        status: Some(status),
        ..Default::default()
    }
}

contract! {
    async fn a_lot_that_is_open_is_cancelled_behind_the_change_and_never_claimed(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let (id, other) = (shop.endpoint().await, shop.endpoint().await);
        ask(&shop, id).await;
        ask(&shop, other).await;
        let mut raw = Raw::open(&database).await;
        multiply(&mut raw, id).await;
        let claimed = store.claim_deliveries(slots(id), vec![], (T0, T0)).await.unwrap();
        assert_eq!(claimed.len(), 2);
        assert_eq!(store.endpoints_to_cancel().await.unwrap(), []);
        assert_eq!(store.cancel_open_deliveries(id).await.unwrap(), 0);

        store.change_endpoint(shop.account, id, change(EndpointStatus::Disabled), after(1)).await.unwrap();
        assert_eq!(store.delivery_backlog().await.unwrap(), MANY + 1);
        let due = |endpoint| vec![DueEndpoint { endpoint, first: true, retry: None }];
        assert_eq!(store.due_endpoints(after(1)).await.unwrap(), due(other));
        let claimed = store.claim_deliveries(slots(id), vec![], (after(1), after(1))).await.unwrap();
        assert!(claimed.is_empty());

        assert_eq!(store.endpoints_to_cancel().await.unwrap(), [id]);
        assert_eq!(store.cancel_open_deliveries(other).await.unwrap(), 0);
        let mut cancelled = 0;
        loop {
            match store.cancel_open_deliveries(id).await.unwrap() {
                0 => break,
                some => cancelled += some,
            }
        }
        assert_eq!(i64::try_from(cancelled).unwrap(), MANY);
        assert_eq!(store.endpoints_to_cancel().await.unwrap(), []);
        let dead = raw.count("deliveries WHERE state = 'cancelled' AND next_attempt_at IS NULL").await;
        assert_eq!(dead, MANY);

        store.change_endpoint(shop.account, id, change(EndpointStatus::Enabled), after(2)).await.unwrap();
        assert_eq!(store.due_endpoints(after(2)).await.unwrap(), due(other));
        let last = ask(&shop, id).await;
        assert_eq!(store.cancel_open_deliveries(id).await.unwrap(), 0);
        let claimed = store.claim_deliveries(slots(id), vec![], (after(2), after(2))).await.unwrap();
        assert_eq!(claimed.iter().map(|attempt| attempt.delivery_id).collect::<Vec<_>>(), [last]);
    }

    async fn what_a_disabled_endpoint_left_open_is_cancelled_before_it_receives_again(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let id = shop.endpoint().await;
        let left = ask(&shop, id).await;
        let mut raw = Raw::open(&database).await;
        raw.run("UPDATE webhook_endpoints SET status = 'disabled'").await;
        store.change_endpoint(shop.account, id, change(EndpointStatus::Enabled), after(1)).await.unwrap();
        let story = store.delivery(shop.account, left).await.unwrap().unwrap();
        assert_eq!(story.delivery.state, DeliveryState::Cancelled);
        assert_eq!(store.due_endpoints(after(1)).await.unwrap(), []);
        // An enabled endpoint keeps its deliveries.
        let kept = ask(&shop, id).await;
        store.change_endpoint(shop.account, id, change(EndpointStatus::Enabled), after(2)).await.unwrap();
        let story = store.delivery(shop.account, kept).await.unwrap().unwrap();
        assert_eq!(story.delivery.state, DeliveryState::Pending);
    }
}
