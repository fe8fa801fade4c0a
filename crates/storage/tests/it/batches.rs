//! Batch calls: their rows, and that no recipient is called twice.

use std::collections::HashSet;
use std::time::Duration;

use offhook_domain::{BatchStatus, CallState, ConversationId, RecipientStatus, Runtime, Timestamp};
use offhook_storage::{Batch, BatchFilter, NewCall, NewRecipient, Recipient, Reserve, Store, mint};
use offhook_testkit::{TestDatabase, contract};

use crate::it::live_calls::chat;
use crate::it::raw::Raw;
use crate::it::shop::{CANCELLED, Shop, T0, after, node, paged, phone, race, settlement, within};

fn batch(shop: &Shop, total: i32, at: Timestamp) -> Batch {
    Batch {
        id: mint(at),
        account_id: shop.account,
        name: "Spring".to_owned(),
        agent_id: shop.agent,
        phone_number_id: None,
        key_id: Some(shop.key),
        status: BatchStatus::Running,
        paused_reason: None,
        scheduled_at: None,
        total,
        pending: total,
        dialing: 0,
        completed: 0,
        failed: 0,
        cancelled: 0,
        created_at: at,
        started_at: Some(at),
        ended_at: None,
    }
}

fn recipients(total: i32) -> Vec<NewRecipient> {
    let recipient = |number: i32| NewRecipient {
        id: mint(T0),
        to: phone(&format!("+52155{number:08}")),
        metadata: format!(r#"{{"n": {number}.0}}"#),
    };
    (0..total).map(recipient).collect()
}

async fn made(shop: &Shop, total: i32, at: Timestamp) -> Batch {
    let batch = batch(shop, total, at);
    insert(&shop.store, &batch).await;
    batch
}

async fn insert(store: &Store, batch: &Batch) {
    let (batch, recipients) = (batch.clone(), recipients(batch.total));
    let insert = within(store, move |mut tx| {
        Box::pin(async move { tx.insert_batch(&batch, recipients).await })
    });
    insert.await;
}

/// Places the calls of the batch's next recipients.
async fn place(shop: &Shop, batch: &Batch, most: i64, at: Timestamp) -> Vec<ConversationId> {
    let (call, id, account) = (shop.call(at), batch.id, batch.account_id);
    let place = within(&shop.store, move |mut tx| {
        Box::pin(async move {
            let mut batch = tx.lock_batch(account, id).await?.unwrap();
            let mut placed = Vec::new();
            for recipient in tx.next_recipients(id, most).await? {
                let call = NewCall {
                    id: mint(at),
                    runtime: Runtime::Legacy,
                    ..call.clone()
                };
                assert_eq!(tx.try_reserve(&call).await?, Reserve::Held);
                tx.place_batch_call(&recipient, &call).await?;
                batch.pending -= 1;
                batch.dialing += 1;
                placed.push(call.id);
            }
            tx.save_batch(&batch, None).await?;
            Ok(placed)
        })
    });
    place.await
}

async fn now(shop: &Shop, batch: &Batch) -> Batch {
    shop.store
        .batch(shop.account, batch.id)
        .await
        .unwrap()
        .unwrap()
}

async fn all_recipients(shop: &Shop, batch: &Batch) -> Vec<Recipient> {
    let rows = shop
        .store
        .batch_recipients(shop.account, batch.id, None, None, 20_000);
    rows.await.unwrap().unwrap()
}

contract! {
    async fn ten_thousand_recipients_are_stored_in_their_order(store: Store) {
        let shop = Shop::new(&store).await;
        let batch = made(&shop, 10_000, T0).await;
        let rows = all_recipients(&shop, &batch).await;
        assert_eq!(rows.len(), 10_000);
        assert!(rows.iter().enumerate().all(|(at, row)| row.place == i32::try_from(at).unwrap()));
        let last = &rows[9_999];
        assert_eq!((last.to_number.as_str(), last.metadata.as_str()), ("+5215500009999", r#"{"n": 9999.0}"#));
        assert_eq!((last.status, last.attempt, last.conversation_id), (RecipientStatus::Pending, 1, None));
        assert_eq!(now(&shop, &batch).await, batch);
    }

    async fn an_open_chat_is_no_call_that_takes_a_batchs_place(database: TestDatabase) {
        let shop = Shop::new(&database.open().await).await;
        chat(&mut Raw::open(&database).await, &shop).await;
        shop.place(T0).await;
        shop.dialing(node()).await;
        let account = shop.account;
        let open = within(&shop.store, move |mut tx| {
            Box::pin(async move { tx.open_calls(account).await })
        });
        assert_eq!(open.await, 2);
    }

    async fn the_schema_has_one_call_for_each_recipient_and_try(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let batch = made(&shop, 1, T0).await;
        place(&shop, &batch, 1, after(1)).await;
        let other = shop.place(T0).await;
        let row = all_recipients(&shop, &batch).await.remove(0);
        let mut raw = Raw::open(&database).await;
        let (recipient, call) = (raw.id(row.id.uuid()), raw.id(other.uuid()));
        let again = format!("INSERT INTO batch_tries VALUES ({recipient}, 1, {call})");
        assert!(raw.try_run(&again).await.is_err());
    }

    async fn a_queued_call_that_ends_counts_too(store: Store) {
        let shop = Shop::new(&store).await;
        let batch = made(&shop, 1, T0).await;
        let call = place(&shop, &batch, 1, after(1)).await[0];
        assert_eq!(all_recipients(&shop, &batch).await[0].conversation_id, Some(call));
        let ended = settlement(CallState::Failed, 0);
        let done = store.end_queued_call((shop.account, call), CANCELLED, ended).await.unwrap();
        assert!(done.is_some());
        let row = all_recipients(&shop, &batch).await.remove(0);
        assert_eq!((row.status, row.failure_reason), (RecipientStatus::Failed, Some(CANCELLED.0)));
        assert_eq!(now(&shop, &batch).await.status, BatchStatus::Completed);
    }

    async fn a_scheduled_batch_is_due_at_its_time_and_claimed_by_one_node(store: Store) {
        let shop = Shop::new(&store).await;
        let batch = Batch {
            status: BatchStatus::Scheduled,
            scheduled_at: Some(after(100)),
            started_at: None,
            ..batch(&shop, 1, T0)
        };
        insert(&store, &batch).await;
        assert!(!store.has_due_batches(after(99)).await.unwrap());
        assert!(store.has_due_batches(after(100)).await.unwrap());
        let lease = Duration::from_secs(10);
        let claimed = race(6, |_| {
            let store = store.clone();
            async move { store.claim_due_batches(8, lease, after(100)).await.unwrap() }
        });
        assert_eq!(claimed.await.concat(), [(shop.account, batch.id)]);
        place(&shop, &batch, 1, after(101)).await;
        assert!(!store.has_due_batches(after(1_000)).await.unwrap());
    }

    async fn pages_of_batches_and_recipients_show_each_once_by_every_filter(store: Store) {
        let shop = Shop::new(&store).await;
        let mut all = HashSet::new();
        for at in 0..7 {
            let batch = Batch {
                status: if at % 2 == 0 { BatchStatus::Paused } else { BatchStatus::Running },
                ..batch(&shop, 3, after(at / 3))
            };
            insert(&store, &batch).await;
            all.insert(batch.id);
        }
        for (status, expected) in [(None, 7), (Some(BatchStatus::Paused), 4), (Some(BatchStatus::Failed), 0)] {
            for agent in [None, Some(shop.agent)] {
                let filter = BatchFilter { status, agent };
                let key = |batch: &Batch| (batch.created_at, batch.id);
                let seen = paged(2, key, async |place| store.batches(shop.account, filter, place, 2).await).await;
                let ids: HashSet<_> = seen.iter().map(|batch| batch.id).collect();
                assert_eq!((seen.len(), ids.len()), (expected, expected));
                assert!(ids.is_subset(&all));
            }
        }
        let batch = made(&shop, 5, after(20)).await;
        place(&shop, &batch, 2, after(21)).await;
        let places = async |status, after| {
            let rows = store.batch_recipients(shop.account, batch.id, status, after, 2).await;
            rows.unwrap().unwrap().iter().map(|row| row.place).collect::<Vec<_>>()
        };
        assert_eq!(places(None, None).await, [0, 1, 2]);
        assert_eq!(places(None, Some(1)).await, [2, 3, 4]);
        assert_eq!(places(None, Some(3)).await, [4]);
        assert_eq!(places(Some(RecipientStatus::Dialing), None).await, [0, 1]);
        assert_eq!(places(Some(RecipientStatus::Pending), Some(2)).await, [3, 4]);
    }
}
