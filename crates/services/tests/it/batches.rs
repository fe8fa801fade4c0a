//! Batch calls: the scheduler's rounds, what customers do with a batch, and its counts.

use std::collections::HashSet;
use std::time::Duration;

use offhook_domain::{
    BatchStatus, CallState, ConversationId, Credits, KeyId, PausedReason, Price, Timestamp,
};
use offhook_storage::{
    Audited, AutoRefill, Batch, BatchStep, ConversationFilter, NewRecipient, Recipient, Store, mint,
};
use offhook_testkit::{TestDatabase, contract};

use super::shop::{
    CANCELLED, OURS, Shop, T0, after, end, entry, new_key, node, phone, race, settlement, within,
};
use crate::batches::Key;
use crate::batches::round::Round;
use crate::batches::steps::{retry_batch, step_batch};
use crate::error::{Result, UseCaseError};
use crate::{PlacedReply, Refusal};

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

/// A round that allows the account this many calls of ten credits.
fn round(calls_at_most: i64, at: Timestamp) -> Round {
    Round {
        at,
        steady: at,
        calls_at_most,
        most: 50,
        price: Price::from_millicredits_per_minute(1_000),
        reserve: 10,
        shared_number: Some(phone(OURS)),
        is_simulated: true,
    }
}

/// Runs a round; returns how many calls it placed.
async fn placed(shop: &Shop, batch: &Batch, calls_at_most: i64, at: Timestamp) -> i32 {
    let round = round(calls_at_most, at);
    round
        .run(&shop.store, (shop.account, batch.id))
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
            close.outcome = offhook_domain::CallOutcome::Failed(CANCELLED.0);
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

async fn step(shop: &Shop, batch: &Batch, step: BatchStep, at: Timestamp) -> Result<Batch> {
    step_batch(&shop.store, (shop.account, batch.id), (step, None), at).await
}

async fn retry(
    shop: &Shop,
    batch: &Batch,
    (key, fingerprint): (&str, u8),
    at: Timestamp,
) -> Result<PlacedReply> {
    let key = Key {
        operation: "retry",
        key: Some(key.to_owned()),
        fingerprint: vec![fingerprint; 32],
        steady: at,
    };
    retry_batch(&shop.store, (shop.account, batch.id), key, print, at).await
}

/// A key of the account that may spend this much a month.
async fn key_of(shop: &Shop, budget: Credits) -> KeyId {
    let mut new = new_key(shop.account, mint(T0));
    new.key.monthly_credit_budget = Some(budget);
    let id = new.key.id;
    shop.store.create_key(new).await.unwrap();
    id
}

fn print(batch: &Batch) -> Vec<u8> {
    batch.id.to_string().into_bytes()
}

contract! {
    async fn a_batch_takes_no_more_than_its_share_and_ends_with_its_last_call(store: Store) {
        let shop = Shop::new(&store).await;
        let batch = made(&shop, 5, T0).await;
        // A single call of the account counts too.
        shop.place(T0).await;
        assert_eq!(placed(&shop, &batch, 3, after(1)).await, 2);
        assert_eq!(counts(&now(&shop, &batch).await), [3, 2, 0, 0, 0]);
        assert_eq!(placed(&shop, &batch, 3, after(2)).await, 0);
        assert_eq!(shop.wallet().await, (1_000, 30));
        assert_eq!(settle(&shop, 3, after(3)).await, 3);
        assert_eq!(counts(&now(&shop, &batch).await), [3, 0, 2, 0, 0]);
        assert_eq!(placed(&shop, &batch, 10, after(4)).await, 3);
        assert_eq!(settle(&shop, 1, after(5)).await, 3);
        let ended = now(&shop, &batch).await;
        assert_eq!(counts(&ended), [0, 0, 3, 2, 0]);
        assert_eq!((ended.status, ended.ended_at), (BatchStatus::Completed, Some(after(46))));
        assert_eq!(shop.wallet().await, (994, 0));
        let rows = all_recipients(&shop, &batch).await;
        let calls: HashSet<ConversationId> = rows.iter().filter_map(|row| row.conversation_id).collect();
        assert_eq!(calls.len(), 5);
        let failed = rows.iter().filter(|row| row.failure_reason == Some(CANCELLED.0)).count();
        assert_eq!(failed, 2);
        let call = shop.conversation(rows[0].conversation_id.unwrap()).await;
        assert_eq!(call.metadata, rows[0].metadata);
        assert_eq!(call.to_number.as_ref(), Some(&rows[0].to_number));
        assert_eq!(call.agent_ref, shop.agent.to_string());
        assert_eq!(placed(&shop, &batch, 10, after(50)).await, 0);
    }

    async fn racing_rounds_call_each_recipient_once(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::with_credits(&store, 10_000).await;
        let batch = made(&shop, 40, T0).await;
        let other = database.open().await;
        let placed = race(8, |at| {
            let shop = if at % 2 == 0 { shop.clone() } else { shop.on(&other) };
            let round = Round { most: 7, ..round(30, after(1)) };
            // The scheduler retries after a lock timeout.
            async move { round.run(&shop.store, (shop.account, batch.id)).await.unwrap_or(0) }
        });
        let placed: i32 = placed.await.into_iter().sum();
        assert!(placed <= 30, "{placed}");
        assert_eq!(now(&shop, &batch).await.dialing, placed);
        let rows = all_recipients(&shop, &batch).await;
        let called: HashSet<_> = rows.iter().filter_map(|row| row.conversation_id).collect();
        assert_eq!(i32::try_from(called.len()), Ok(placed));
        let calls = shop.every(&ConversationFilter::default(), 100).await;
        assert_eq!(called, calls.into_iter().collect());
        assert_eq!(shop.wallet().await.1, Credits::from(placed) * 10);
    }

    async fn a_batch_without_credits_waits_and_goes_on_by_itself(store: Store) {
        let shop = Shop::with_credits(&store, 25).await;
        let batch = made(&shop, 4, T0).await;
        assert_eq!(placed(&shop, &batch, 10, after(1)).await, 2);
        let paused = now(&shop, &batch).await;
        assert_eq!((paused.status, paused.paused_reason), (BatchStatus::Paused, Some(PausedReason::NoCredits)));
        assert_eq!(counts(&paused), [2, 2, 0, 0, 0]);
        assert_eq!(placed(&shop, &batch, 10, after(40)).await, 0);
        assert_eq!(now(&shop, &batch).await.status, BatchStatus::Paused);
        store.change_wallet(shop.account, entry("purchase", 100)).await.unwrap();
        assert_eq!(placed(&shop, &batch, 10, after(80)).await, 2);
        let running = now(&shop, &batch).await;
        assert_eq!((running.status, running.paused_reason), (BatchStatus::Running, None));
    }

    async fn a_keys_spent_budget_buys_no_credits_for_a_batch(store: Store) {
        let shop = Shop::new(&store).await;
        let (balance, _) = shop.wallet().await;
        // The third call would fall below it, and exceeds the budget.
        let refill = AutoRefill { threshold: balance - 25, credits: 100, cents: 500 };
        let audited = Audited { action: "wallet.auto_refill", target: String::new(), at: T0 };
        assert!(store.set_auto_refill(shop.account, Some(refill), audited).await.unwrap());
        let batch = Batch { key_id: Some(key_of(&shop, 25).await), ..batch(&shop, 5, T0) };
        insert(&store, &batch).await;
        assert_eq!(placed(&shop, &batch, 10, after(1)).await, 2);
        assert_eq!(shop.wallet().await, (balance, 20));
    }

    async fn a_keys_spent_budget_pauses_a_batch_and_leaves_the_wallet_as_it_was(store: Store) {
        let shop = Shop::new(&store).await;
        let batch = Batch { key_id: Some(key_of(&shop, 25).await), ..batch(&shop, 4, T0) };
        insert(&store, &batch).await;
        assert_eq!(placed(&shop, &batch, 10, after(1)).await, 2);
        let paused = now(&shop, &batch).await;
        assert_eq!((paused.status, paused.paused_reason), (BatchStatus::Paused, Some(PausedReason::KeyBudget)));
        assert_eq!(shop.wallet().await, (1_000, 20));
        // The next month has a budget of its own.
        assert_eq!(placed(&shop, &batch, 10, after(40 * 24 * 3_600)).await, 2);
        assert_eq!(shop.wallet().await, (1_000, 40));
    }

    async fn a_batch_whose_key_was_revoked_goes_on_with_the_key_that_resumes_it(store: Store) {
        let shop = Shop::new(&store).await;
        store.revoke_key(shop.key, T0).await.unwrap();
        let batch = made(&shop, 4, T0).await;
        assert_eq!(placed(&shop, &batch, 10, after(1)).await, 0);
        let paused = now(&shop, &batch).await;
        assert_eq!((paused.status, paused.paused_reason), (BatchStatus::Paused, Some(PausedReason::KeyRevoked)));
        assert_eq!(shop.wallet().await, (1_000, 0));
        assert!(store.claim_due_batches(9, Duration::from_secs(60), after(900)).await.unwrap().is_empty());
        step(&shop, &batch, BatchStep::Resume, after(901)).await.unwrap();
        assert_eq!(now(&shop, &batch).await.key_id, None);
        assert_eq!(placed(&shop, &batch, 10, after(902)).await, 4);
    }

    async fn only_the_documented_steps_are_allowed(store: Store) {
        use BatchStatus::{Cancelled, Completed, Failed, Paused, Running, Scheduled};
        let shop = Shop::new(&store).await;
        let in_status = async |status, reason| {
            let made = Batch { status, paused_reason: reason, ..batch(&shop, 2, T0) };
            insert(&store, &made).await;
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
                    (Ok(changed), Some(next)) => {
                        assert_eq!(changed.status, next, "{status} {what:?}");
                        let why = (next == Paused).then_some(PausedReason::Customer);
                        assert_eq!(changed.paused_reason, why, "{status} {what:?}");
                    }
                    (Err(UseCaseError::Conflict(refusal)), None) => {
                        let expected = match what {
                            BatchStep::Pause => Refusal::BatchNotPausable,
                            BatchStep::Resume => Refusal::BatchNotResumable,
                            BatchStep::Cancel => Refusal::BatchNotCancellable,
                        };
                        assert_eq!(refusal, expected(status));
                    }
                    (other, _) => panic!("{status} {what:?}: {other:?}"),
                }
            }
        }
    }

    async fn a_cancelled_batch_calls_nobody_new_and_counts_what_was_under_way(store: Store) {
        let shop = Shop::new(&store).await;
        let batch = made(&shop, 5, T0).await;
        placed(&shop, &batch, 2, after(1)).await;
        let cancelled = step(&shop, &batch, BatchStep::Cancel, after(2)).await.unwrap();
        assert_eq!(counts(&cancelled), [0, 2, 0, 0, 3]);
        assert_eq!((cancelled.status, cancelled.ended_at), (BatchStatus::Cancelled, Some(after(2))));
        assert_eq!(placed(&shop, &batch, 10, after(3)).await, 0);
        settle(&shop, 1, after(4)).await;
        let counted = now(&shop, &batch).await;
        assert_eq!((counts(&counted), counted.status), ([0, 0, 1, 1, 3], BatchStatus::Cancelled));
    }

    async fn a_retry_calls_those_again_who_were_not_called_well(store: Store) {
        let shop = Shop::new(&store).await;
        let batch = made(&shop, 4, T0).await;
        let refused = retry(&shop, &batch, ("0", 1), after(1)).await;
        assert!(matches!(refused, Err(UseCaseError::Conflict(Refusal::BatchUnderWay(_)))), "{refused:?}");
        placed(&shop, &batch, 2, after(1)).await;
        step(&shop, &batch, BatchStep::Cancel, after(2)).await.unwrap();
        settle(&shop, 1, after(3)).await;
        let again = async |key, fingerprint| retry(&shop, &batch, (key, fingerprint), after(4)).await;
        let reply = again("a", 1).await.unwrap();
        assert_eq!((reply.status, reply.replayed, &reply.body), (202, false, &print(&batch)));
        let retried = now(&shop, &batch).await;
        assert_eq!((counts(&retried), retried.status), ([3, 0, 1, 0, 0], BatchStatus::Running));
        assert_eq!(retried.ended_at, None);
        // The same key returns the first response again, whatever the batch's state.
        let replay = again("a", 1).await.unwrap();
        assert_eq!((replay.status, replay.replayed, replay.body), (202, true, reply.body));
        assert!(matches!(again("a", 2).await, Err(UseCaseError::IdempotencyConflict)));
        assert!(matches!(again("b", 1).await, Err(UseCaseError::Conflict(_))));
        // A refusal leaves the key free.
        assert!(matches!(again("b", 2).await, Err(UseCaseError::Conflict(_))));
        assert_eq!(placed(&shop, &batch, 10, after(5)).await, 3);
        settle(&shop, 3, after(6)).await;
        let ended = now(&shop, &batch).await;
        assert_eq!((counts(&ended), ended.status), ([0, 0, 4, 0, 0], BatchStatus::Completed));
        let mut attempts: Vec<i32> = all_recipients(&shop, &batch).await.iter().map(|row| row.attempt).collect();
        attempts.sort_unstable();
        assert_eq!(attempts, [1, 1, 1, 2]);
        let nobody = again("c", 1).await;
        assert!(matches!(nobody, Err(UseCaseError::Conflict(Refusal::NobodyLeft))), "{nobody:?}");
    }

    async fn a_scheduled_batch_runs_from_its_first_round_on(store: Store) {
        let shop = Shop::new(&store).await;
        let batch = Batch {
            status: BatchStatus::Scheduled,
            scheduled_at: Some(after(100)),
            started_at: None,
            ..batch(&shop, 1, T0)
        };
        insert(&store, &batch).await;
        assert_eq!(placed(&shop, &batch, 1, after(101)).await, 1);
        let running = now(&shop, &batch).await;
        assert_eq!((running.status, running.started_at), (BatchStatus::Running, Some(after(101))));
        assert!(!store.has_due_batches(after(1_000)).await.unwrap());
    }
}
