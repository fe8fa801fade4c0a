//! Batch calls: their steps, their counts, and that no recipient is called twice.

use std::collections::HashSet;
use std::time::Duration;

use offhook_domain::{
    BatchStatus, CallState, ConversationId, Credits, PausedReason, Price, RecipientStatus,
    Timestamp,
};
use offhook_storage::{
    Batch, BatchFilter, BatchLook, BatchStep, BatchWrite, IdempotencyClaim, NewBatch, NewRecipient,
    Recipient, Store, StoredAnswer, mint,
};
use offhook_testkit::{TestDatabase, contract};

use crate::it::live_calls::chat;
use crate::it::raw::Raw;
use crate::it::shop::{
    CANCELLED, OURS, Shop, T0, after, end, entry, node, paged, phone, race, settlement,
};

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
    let new = NewBatch {
        batch: batch(shop, total, at),
        recipients: recipients(total),
        idempotency: None,
    };
    let expected = new.batch.clone();
    let written = shop.store.create_batch(new).await.unwrap();
    assert_eq!(written, BatchWrite::Done(expected.clone()));
    expected
}

/// A scheduler's look that allows the account this many calls of ten credits.
fn look(calls_at_most: i64, at: Timestamp) -> BatchLook {
    BatchLook {
        at,
        steady: at,
        calls_at_most,
        most: 50,
        price: Price::from_millicredits_per_minute(1_000),
        reserve: 10,
        shared_number: Some(phone(OURS)),
        is_simulated: true,
        next: at.plus(Duration::from_millis(250)),
        later: at.plus(Duration::from_secs(30)),
    }
}

async fn looked(shop: &Shop, batch: &Batch, calls_at_most: i64, at: Timestamp) -> usize {
    let look = look(calls_at_most, at);
    shop.store
        .look_at_batch(shop.account, batch.id, look)
        .await
        .unwrap()
}

async fn now(shop: &Shop, batch: &Batch) -> Batch {
    shop.store
        .batch(shop.account, batch.id)
        .await
        .unwrap()
        .unwrap()
}

/// `[pending, dialing, completed, failed, cancelled]`
fn counts(batch: &Batch) -> [i32; 5] {
    [
        batch.pending,
        batch.dialing,
        batch.completed,
        batch.failed,
        batch.cancelled,
    ]
}

async fn all_recipients(shop: &Shop, batch: &Batch) -> Vec<Recipient> {
    let rows = shop
        .store
        .batch_recipients(shop.account, batch.id, None, None, 20_000);
    rows.await.unwrap().unwrap()
}

/// Claims the queued calls and settles them: the first `well` as completed, the others as failed.
async fn settle(shop: &Shop, well: usize, at: Timestamp) -> usize {
    let claimed = shop.claim_at(1_000, node(), at).await;
    let count = claimed.len();
    for (number, call) in claimed.into_iter().enumerate() {
        let claim = call.claim_id.unwrap();
        let mut close = end();
        let state = if number < well {
            CallState::Completed
        } else {
            close.outcome = offhook_domain::CallOutcome::Failed(CANCELLED);
            CallState::Failed
        };
        shop.store.close_call(call.id, claim, close).await.unwrap();
        let key = (shop.account, call.id, claim);
        let settled = shop
            .store
            .settle_call(key, settlement(state, 1))
            .await
            .unwrap();
        assert!(settled.is_some());
    }
    count
}

async fn step(shop: &Shop, batch: &Batch, step: BatchStep, at: Timestamp) -> BatchWrite {
    shop.store
        .step_batch(shop.account, batch.id, (step, None), at)
        .await
        .unwrap()
}

fn claim(key: &str, fingerprint: u8) -> IdempotencyClaim {
    IdempotencyClaim {
        operation: "retry",
        key: key.to_owned(),
        answer: StoredAnswer {
            fingerprint: vec![fingerprint; 32],
            status: 202,
            location: "/x".to_owned(),
            body: b"{}".to_vec(),
        },
        steady: after(4),
    }
}

fn print(batch: &Batch) -> Vec<u8> {
    batch.id.to_string().into_bytes()
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

    async fn a_batch_takes_no_more_than_its_share_and_ends_with_its_last_call(store: Store) {
        let shop = Shop::new(&store).await;
        let batch = made(&shop, 5, T0).await;
        // A single call of the account counts too.
        shop.place(T0).await;
        assert_eq!(looked(&shop, &batch, 3, after(1)).await, 2);
        assert_eq!(counts(&now(&shop, &batch).await), [3, 2, 0, 0, 0]);
        assert_eq!(looked(&shop, &batch, 3, after(2)).await, 0);
        assert_eq!(shop.wallet().await, (1_000, 30));
        assert_eq!(settle(&shop, 3, after(3)).await, 3);
        assert_eq!(counts(&now(&shop, &batch).await), [3, 0, 2, 0, 0]);
        assert_eq!(looked(&shop, &batch, 10, after(4)).await, 3);
        assert_eq!(settle(&shop, 1, after(5)).await, 3);
        let ended = now(&shop, &batch).await;
        assert_eq!(counts(&ended), [0, 0, 3, 2, 0]);
        assert_eq!((ended.status, ended.ended_at), (BatchStatus::Completed, Some(after(46))));
        assert_eq!(shop.wallet().await, (994, 0));
        let rows = all_recipients(&shop, &batch).await;
        let calls: HashSet<ConversationId> = rows.iter().filter_map(|row| row.conversation_id).collect();
        assert_eq!(calls.len(), 5);
        let failed = rows.iter().filter(|row| row.failure_reason == Some(CANCELLED)).count();
        assert_eq!(failed, 2);
        let call = shop.conversation(rows[0].conversation_id.unwrap()).await;
        assert_eq!(call.metadata, rows[0].metadata);
        assert_eq!(call.to_number.as_ref(), Some(&rows[0].to_number));
        assert_eq!(call.agent_ref, shop.agent.to_string());
        assert_eq!(looked(&shop, &batch, 10, after(50)).await, 0);
    }

    async fn open_chats_take_no_calls_place_in_a_batch(database: TestDatabase) {
        let shop = Shop::new(&database.open().await).await;
        let batch = made(&shop, 3, T0).await;
        chat(&mut Raw::open(&database).await, &shop).await;
        assert_eq!(looked(&shop, &batch, 2, T0).await, 2);
    }

    async fn racing_looks_call_each_recipient_once(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::with_credits(&store, 10_000).await;
        let batch = made(&shop, 40, T0).await;
        let other = database.open().await;
        let placed = race(8, |at| {
            let shop = if at % 2 == 0 { shop.clone() } else { shop.on(&other) };
            let look = BatchLook { most: 7, ..look(30, after(1)) };
            // The scheduler retries after a lock timeout.
            async move { shop.store.look_at_batch(shop.account, batch.id, look).await.unwrap_or(0) }
        });
        let placed: usize = placed.await.into_iter().sum();
        assert!(placed <= 30, "{placed}");
        let after_race = now(&shop, &batch).await;
        assert_eq!(usize::try_from(after_race.dialing).unwrap(), placed);
        let mut raw = Raw::open(&database).await;
        assert_eq!(usize::try_from(raw.count("batch_tries").await).unwrap(), placed);
        assert_eq!(usize::try_from(raw.count("conversations").await).unwrap(), placed);
        assert_eq!(shop.wallet().await.1, Credits::try_from(placed).unwrap() * 10);
    }

    async fn the_schema_has_one_call_for_each_recipient_and_try(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let batch = made(&shop, 1, T0).await;
        looked(&shop, &batch, 1, after(1)).await;
        let other = shop.place(T0).await;
        let row = all_recipients(&shop, &batch).await.remove(0);
        let mut raw = Raw::open(&database).await;
        let (recipient, call) = (raw.id(row.id.uuid()), raw.id(other.uuid()));
        let again = format!("INSERT INTO batch_tries VALUES ({recipient}, 1, {call})");
        assert!(raw.try_run(&again).await.is_err());
    }

    async fn a_batch_without_credits_waits_and_goes_on_by_itself(store: Store) {
        let shop = Shop::with_credits(&store, 25).await;
        let batch = made(&shop, 4, T0).await;
        assert_eq!(looked(&shop, &batch, 10, after(1)).await, 2);
        let paused = now(&shop, &batch).await;
        assert_eq!((paused.status, paused.paused_reason), (BatchStatus::Paused, Some(PausedReason::NoCredits)));
        assert_eq!(counts(&paused), [2, 2, 0, 0, 0]);
        assert_eq!(looked(&shop, &batch, 10, after(40)).await, 0);
        assert_eq!(now(&shop, &batch).await.status, BatchStatus::Paused);
        store.change_wallet(shop.account, entry("purchase", 100)).await.unwrap();
        assert_eq!(looked(&shop, &batch, 10, after(80)).await, 2);
        let running = now(&shop, &batch).await;
        assert_eq!((running.status, running.paused_reason), (BatchStatus::Running, None));
    }

    async fn a_keys_spent_budget_buys_no_credits_for_a_batch(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let mut raw = Raw::open(&database).await;
        raw.run("UPDATE api_keys SET monthly_credit_budget = 25").await;
        let (balance, _) = shop.wallet().await;
        // The third call would fall below it, and exceeds the budget.
        raw.run(&format!(
            "UPDATE wallets SET refill_threshold = {}, refill_credits = 100, refill_cents = 500",
            balance - 25
        ))
        .await;
        let batch = made(&shop, 5, T0).await;
        assert_eq!(looked(&shop, &batch, 10, after(1)).await, 2);
        assert_eq!(shop.wallet().await, (balance, 20));
        let bought = "SELECT CAST(COUNT(*) AS TEXT) AS line FROM ledger WHERE type = 'auto_refill'";
        assert_eq!(raw.line(bought).await, "0");
        let invoiced = "SELECT CAST(COUNT(*) AS TEXT) AS line FROM invoice_lines";
        assert_eq!(raw.line(invoiced).await, "0");
    }

    async fn a_keys_spent_budget_pauses_a_batch_and_leaves_the_wallet_as_it_was(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let mut raw = Raw::open(&database).await;
        raw.run("UPDATE api_keys SET monthly_credit_budget = 25").await;
        let batch = made(&shop, 4, T0).await;
        assert_eq!(looked(&shop, &batch, 10, after(1)).await, 2);
        let paused = now(&shop, &batch).await;
        assert_eq!((paused.status, paused.paused_reason), (BatchStatus::Paused, Some(PausedReason::KeyBudget)));
        assert_eq!(shop.wallet().await, (1_000, 20));
        raw.run("UPDATE api_keys SET monthly_credit_budget = NULL").await;
        assert_eq!(looked(&shop, &batch, 10, after(40)).await, 2);
        assert_eq!(shop.wallet().await, (1_000, 40));
    }

    async fn a_batch_whose_key_was_revoked_goes_on_with_the_key_that_resumes_it(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let mut raw = Raw::open(&database).await;
        raw.run("UPDATE api_keys SET revoked_at = created_at").await;
        let batch = made(&shop, 4, T0).await;
        assert_eq!(looked(&shop, &batch, 10, after(1)).await, 0);
        let paused = now(&shop, &batch).await;
        assert_eq!((paused.status, paused.paused_reason), (BatchStatus::Paused, Some(PausedReason::KeyRevoked)));
        assert_eq!(shop.wallet().await, (1_000, 0));
        assert!(store.take_due_batches(9, Duration::from_secs(60), after(900)).await.unwrap().is_empty());
        let resumed = step(&shop, &batch, BatchStep::Resume, after(901)).await;
        assert!(matches!(resumed, BatchWrite::Done(_)), "{resumed:?}");
        assert_eq!(now(&shop, &batch).await.key_id, None);
        assert_eq!(looked(&shop, &batch, 10, after(902)).await, 4);
    }

    async fn only_the_documented_steps_are_allowed(store: Store) {
        use BatchStatus::{Cancelled, Completed, Failed, Paused, Running, Scheduled};
        let shop = Shop::new(&store).await;
        let in_status = async |status, reason| {
            let new = NewBatch {
                batch: Batch { status, paused_reason: reason, ..batch(&shop, 2, T0) },
                recipients: recipients(2),
                idempotency: None,
            };
            let made = new.batch.clone();
            store.create_batch(new).await.unwrap();
            made
        };
        let customer = Some(PausedReason::Customer);
        let cases = [
            (Scheduled, None, [Some(Paused), None, Some(Cancelled)]),
            (Running, None, [Some(Paused), None, Some(Cancelled)]),
            (Paused, customer, [None, Some(Running), Some(Cancelled)]),
            (Paused, Some(PausedReason::NoCredits), [Some(Paused), Some(Running), Some(Cancelled)]),
            (Completed, None, [None; 3]),
            (Cancelled, None, [None; 3]),
            (Failed, None, [None; 3]),
        ];
        for (status, reason, expected) in cases {
            let steps = [BatchStep::Pause, BatchStep::Resume, BatchStep::Cancel];
            for (what, next) in steps.into_iter().zip(expected) {
                let made = in_status(status, reason).await;
                match (step(&shop, &made, what, after(1)).await, next) {
                    (BatchWrite::Done(changed), Some(next)) => {
                        assert_eq!(changed.status, next, "{status} {what:?}");
                        let why = (next == Paused).then_some(PausedReason::Customer);
                        assert_eq!(changed.paused_reason, why, "{status} {what:?}");
                    }
                    (BatchWrite::Refused(same), None) => assert_eq!(same.status, status),
                    (other, _) => panic!("{status} {what:?}: {other:?}"),
                }
            }
        }
    }

    async fn a_cancelled_batch_calls_nobody_new_and_counts_what_was_under_way(store: Store) {
        let shop = Shop::new(&store).await;
        let batch = made(&shop, 5, T0).await;
        looked(&shop, &batch, 2, after(1)).await;
        let BatchWrite::Done(cancelled) = step(&shop, &batch, BatchStep::Cancel, after(2)).await else {
            panic!("a running batch can be cancelled");
        };
        assert_eq!(counts(&cancelled), [0, 2, 0, 0, 3]);
        assert_eq!((cancelled.status, cancelled.ended_at), (BatchStatus::Cancelled, Some(after(2))));
        assert_eq!(looked(&shop, &batch, 10, after(3)).await, 0);
        settle(&shop, 1, after(4)).await;
        let counted = now(&shop, &batch).await;
        assert_eq!((counts(&counted), counted.status), ([0, 0, 1, 1, 3], BatchStatus::Cancelled));
    }

    async fn a_retry_calls_those_again_who_were_not_called_well(store: Store) {
        let shop = Shop::new(&store).await;
        let batch = made(&shop, 4, T0).await;
        let refused = store.retry_batch(shop.account, batch.id, None, print, after(1)).await.unwrap();
        assert!(matches!(refused, BatchWrite::Refused(_)), "{refused:?}");
        looked(&shop, &batch, 2, after(1)).await;
        step(&shop, &batch, BatchStep::Cancel, after(2)).await;
        settle(&shop, 1, after(3)).await;
        let retry = async |key, fingerprint| {
            let key = Some(claim(key, fingerprint));
            store.retry_batch(shop.account, batch.id, key, print, after(4)).await.unwrap()
        };
        let BatchWrite::Done(retried) = retry("a", 1).await else { panic!("an ended batch can be tried again") };
        assert_eq!((counts(&retried), retried.status), ([3, 0, 1, 0, 0], BatchStatus::Running));
        assert_eq!(retried.ended_at, None);
        // The same key returns the first response again, whatever the batch's state.
        let BatchWrite::KeyUsed(answer) = retry("a", 1).await else { panic!("the key is used") };
        assert_eq!(answer.body, print(&batch));
        assert!(matches!(retry("b", 1).await, BatchWrite::Refused(_)));
        // A refusal leaves the key free.
        assert!(matches!(retry("b", 2).await, BatchWrite::Refused(_)));
        assert_eq!(looked(&shop, &batch, 10, after(5)).await, 3);
        settle(&shop, 3, after(6)).await;
        let ended = now(&shop, &batch).await;
        assert_eq!((counts(&ended), ended.status), ([0, 0, 4, 0, 0], BatchStatus::Completed));
        let mut attempts: Vec<i32> = all_recipients(&shop, &batch).await.iter().map(|row| row.attempt).collect();
        attempts.sort_unstable();
        assert_eq!(attempts, [1, 1, 1, 2]);
        assert!(matches!(retry("c", 1).await, BatchWrite::Refused(_)), "nobody is left");
    }

    async fn a_queued_call_that_ends_counts_too(store: Store) {
        let shop = Shop::new(&store).await;
        let batch = made(&shop, 1, T0).await;
        looked(&shop, &batch, 1, after(1)).await;
        let call = all_recipients(&shop, &batch).await[0].conversation_id.unwrap();
        let ended = settlement(CallState::Failed, 0);
        let done = store.end_queued_call((shop.account, call), CANCELLED, ended).await.unwrap();
        assert!(done.is_some());
        let row = all_recipients(&shop, &batch).await.remove(0);
        assert_eq!((row.status, row.failure_reason), (RecipientStatus::Failed, Some(CANCELLED)));
        assert_eq!(now(&shop, &batch).await.status, BatchStatus::Completed);
    }

    async fn a_scheduled_batch_is_due_at_its_time_and_taken_by_one_node(store: Store) {
        let shop = Shop::new(&store).await;
        let new = NewBatch {
            batch: Batch {
                status: BatchStatus::Scheduled,
                scheduled_at: Some(after(100)),
                started_at: None,
                ..batch(&shop, 1, T0)
            },
            recipients: recipients(1),
            idempotency: None,
        };
        let batch = new.batch.clone();
        store.create_batch(new).await.unwrap();
        assert!(!store.has_due_batches(after(99)).await.unwrap());
        assert!(store.has_due_batches(after(100)).await.unwrap());
        let lease = Duration::from_secs(10);
        let taken = race(6, |_| {
            let store = store.clone();
            async move { store.take_due_batches(8, lease, after(100)).await.unwrap() }
        });
        assert_eq!(taken.await.concat(), [(shop.account, batch.id)]);
        assert_eq!(looked(&shop, &batch, 1, after(101)).await, 1);
        let running = now(&shop, &batch).await;
        assert_eq!((running.status, running.started_at), (BatchStatus::Running, Some(after(101))));
        assert!(!store.has_due_batches(after(1_000)).await.unwrap());
    }

    async fn pages_of_batches_and_recipients_show_each_once_by_every_filter(store: Store) {
        let shop = Shop::new(&store).await;
        let mut all = HashSet::new();
        for at in 0..7 {
            let batch = made(&shop, 3, after(at / 3)).await;
            if at % 2 == 0 {
                step(&shop, &batch, BatchStep::Pause, after(9)).await;
            }
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
        looked(&shop, &batch, 2, after(21)).await;
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
