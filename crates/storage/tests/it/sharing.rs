//! Two processes on one database look for the same work at the same moment: only one of them does it.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::join_all;
use offhook_storage::Store;
use offhook_testkit::{TestDatabase, contract};

use crate::it::documents::{document, finished};
use crate::it::shop::{Shop, T0, after, node, pass};

const MODEL: &str = "m";

async fn two(database: &TestDatabase) -> [Store; 2] {
    [database.open().await, database.open().await]
}

/// The results of eight attempts, four by each process.
async fn race<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    stores: &[Store; 2],
    attempt: impl Fn(Store) -> F,
) -> Vec<T> {
    let racing = (0..8).map(|number| tokio::spawn(attempt(stores[number % 2].clone())));
    let done = join_all(racing).await.into_iter();
    done.map(Result::unwrap).collect()
}

contract! {
    async fn a_turn_is_one_processes(database: TestDatabase) {
        let stores = two(&database).await;
        for seconds in [0, 100] {
            // The second time, the first holder's lease has expired.
            let now = stores.each_ref().map(|store| pass(store, seconds))[0];
            let taken = race(&stores, |store| async move {
                let me = node();
                store.take_job("sweep", me, now).await.unwrap().then_some(me)
            })
            .await;
            assert_eq!(taken.iter().flatten().count(), 1, "{taken:?}");
        }
    }

    async fn a_document_has_one_reader(database: TestDatabase) {
        let stores = two(&database).await;
        let shop = Shop::new(&stores[0]).await;
        for second in 0..5 {
            document(&stores[0], shop.account, after(second)).await;
        }
        let mut claimed = Vec::new();
        while claimed.len() < 5 {
            let some = race(&stores, |store| async move { store.claim_document(T0).await.unwrap() });
            claimed.extend(some.await.into_iter().flatten().map(|one| one.document.id));
        }
        assert_eq!(claimed.iter().collect::<HashSet<_>>().len(), 5, "{claimed:?}");
        assert!(stores[1].claim_document(T0).await.unwrap().is_none());
    }

    async fn a_document_is_embedded_by_one_process(database: TestDatabase) {
        let stores = two(&database).await;
        let shop = Shop::new(&stores[0]).await;
        for second in 0..5 {
            document(&stores[0], shop.account, after(second)).await;
            finished(&stores[0], Some(MODEL)).await;
        }
        let mut claimed = Vec::new();
        while claimed.len() < 5 {
            let some = race(&stores, |store| async move {
                store.claim_embedding(MODEL, T0).await.unwrap()
            });
            claimed.extend(some.await.into_iter().flatten().map(|one| one.document));
        }
        assert_eq!(claimed.iter().collect::<HashSet<_>>().len(), 5, "{claimed:?}");
        assert!(stores[1].claim_embedding(MODEL, T0).await.unwrap().is_none());
    }

    async fn what_is_deleted_when_its_time_is_over_is_deleted_by_any_number_at_once(database: TestDatabase) {
        let stores = two(&database).await;
        let shop = Shop::new(&stores[0]).await;
        for second in 0..30 {
            let call = shop.keyed_call(&second.to_string(), 1, after(second));
            stores[0].place_call(call).await.unwrap();
        }
        let day = Duration::from_secs(26 * 3_600).as_secs();
        let late = stores.each_ref().map(|store| pass(store, day))[0];
        let deleted = race(&stores, move |store| async move { store.purge_keys(late).await.unwrap() });
        assert!(deleted.await.iter().sum::<usize>() >= 30);
        assert_eq!(stores[1].purge_keys(late).await.unwrap(), 0);
        let later = after(40 * 86_400);
        race(&stores, move |store| async move {
            while store.delete_old_deliveries(later).await.unwrap() {}
            while store.clear_old_bodies(later).await.unwrap() {}
        })
        .await;
    }
}
