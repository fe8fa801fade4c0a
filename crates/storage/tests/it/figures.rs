//! The amount of waiting work, for the process metrics.

use std::time::Duration;

use offhook_storage::{Backlog, Store};
use offhook_testkit::contract;

use crate::it::shop::{Shop, T0, after, node};

contract! {
    async fn what_waits_is_counted_and_what_is_done_is_not(store: Store) {
        let nothing = Backlog {
            calls_queued: 0,
            calls_live: 0,
            deliveries_pending: 0,
            deliveries_retrying: 0,
            oldest_due: Duration::ZERO,
            batches_waiting: 0,
            documents_waiting: 0,
            documents_to_embed: 0,
        };
        assert_eq!(store.backlog(T0).await.unwrap(), nothing);
        let shop = Shop::new(&store).await;
        shop.endpoint().await;
        for second in 0..3 {
            shop.place(after(second)).await;
        }
        assert_eq!(shop.claim_at(1, node(), after(3)).await.len(), 1);
        let seen = store.backlog(after(60)).await.unwrap();
        let expected = Backlog {
            calls_queued: 2,
            calls_live: 1,
            deliveries_pending: 3,
            oldest_due: seen.oldest_due,
            ..nothing
        };
        assert_eq!(seen, expected);
    }
}
