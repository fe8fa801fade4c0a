//! Pages of deliveries: each filter shows its rows, newest first, whichever scans are merged.

use std::cmp::Reverse;

use offhook_domain::{DeliveryId, EventType, Timestamp};
use offhook_storage::{Delivery, DeliveryFilter, DeliveryState, Store};
use offhook_testkit::{TestDatabase, contract};

use crate::it::raw::Raw;
use crate::it::shop::{Shop, T0, after, paged};

const STATES: [DeliveryState; 3] = [
    DeliveryState::Delivered,
    DeliveryState::Exhausted,
    DeliveryState::Pending,
];

#[derive(Debug)]
struct Row {
    id: DeliveryId,
    at: Timestamp,
    state: DeliveryState,
    kind: EventType,
}

async fn fill(raw: &mut Raw, shop: &Shop) -> Vec<Row> {
    let to = (shop.account, shop.endpoint().await);
    let mut rows = Vec::new();
    for number in 0..60_usize {
        let at = after(u64::try_from(number / 5).unwrap());
        // One type is rare, and one disappears in the middle.
        let kind = EventType::ALL[if number % 11 == 3 { 2 } else { number / 20 % 2 }];
        let state = STATES[number * 7 % 13 % 3];
        let id = raw.deliver(to, (state, kind), at).await;
        rows.push(Row {
            id,
            at,
            state,
            kind,
        });
    }
    rows.sort_by_key(|row| Reverse((row.at, row.id)));
    rows
}

async fn pages(shop: &Shop, filter: &DeliveryFilter, limit: usize) -> Vec<DeliveryId> {
    let most = i64::try_from(limit).unwrap();
    let read = async |place| {
        let page = shop
            .store
            .deliveries(shop.account, filter.clone(), place, most);
        page.await
    };
    let found = paged(limit, |row: &Delivery| (row.created_at, row.id), read).await;
    found.iter().map(|row| row.id).collect()
}

contract! {
    async fn a_conversation_shows_the_deliveries_of_its_own_events(store: Store) {
        let (shop, stranger) = (Shop::new(&store).await, Shop::new(&store).await);
        let first = shop.endpoint().await;
        let conversation = shop.place(T0).await;
        let second = shop.endpoint().await;
        let another = shop.place(after(1)).await;
        let of = async |account, id| {
            let rows = store.deliveries_of(account, id, 10).await.unwrap();
            let mut ends: Vec<_> = rows.into_iter().map(|row| row.endpoint_id).collect();
            ends.sort_unstable();
            ends
        };
        let mut both = vec![first, second];
        both.sort_unstable();
        assert_eq!(of(shop.account, conversation).await, [first]);
        assert_eq!(of(shop.account, another).await, both);
        assert_eq!(of(stranger.account, conversation).await, []);
    }

    async fn every_filter_of_deliveries_shows_what_it_names_newest_first(database: TestDatabase) {
        let store = database.open().await;
        let (shop, stranger) = (Shop::new(&store).await, Shop::new(&store).await);
        let mut raw = Raw::open(&database).await;
        let rows = fill(&mut raw, &shop).await;
        fill(&mut raw, &stranger).await;
        for state in [None, Some(STATES[0]), Some(STATES[1]), Some(DeliveryState::Cancelled)] {
            for kind in [None, Some(EventType::ALL[0]), Some(EventType::ALL[2])] {
                for (since, until) in [(None, None), (Some(after(3)), None), (Some(after(2)), Some(after(9)))] {
                    let expected: Vec<_> = rows
                        .iter()
                        .filter(|row| state.is_none_or(|state| row.state == state))
                        .filter(|row| kind.is_none_or(|kind| row.kind == kind))
                        .filter(|row| since.is_none_or(|since| row.at >= since))
                        .filter(|row| until.is_none_or(|until| row.at <= until))
                        .map(|row| row.id)
                        .collect();
                    let filter = DeliveryFilter { state, kind, endpoint: None, since, until };
                    for limit in [1, 4, 100] {
                        assert_eq!(pages(&shop, &filter, limit).await, expected, "{filter:?}, {limit} a page");
                    }
                }
            }
        }
    }
}
