//! The wallet's invariants, for any steps in any order.

use std::collections::VecDeque;

use futures_util::future::join_all;
use offhook_domain::{CallState, ClaimId, ConversationId};
use offhook_storage::{AutoRefill, Placed, Store};
use offhook_testkit::{TestDatabase, contract};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::it::billing::{assert_books, audited};
use crate::it::raw::Raw;
use crate::it::shop::{CANCELLED, Shop, T0, after, end, entry, node, race, settlement, top_up};

/// A step in an account's life.
#[derive(Debug, Clone)]
enum Step {
    Credit(i64),
    Debit(i64),
    Refill(Option<(i64, i64)>),
    Place { hold: i64, budget: Option<i64> },
    TopUp(i64),
    Cancel,
    Claim,
    Settle(i64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1..200i64).prop_map(Step::Credit),
        (1..50i64).prop_map(Step::Debit),
        prop::option::of((0..80i64, 1..90i64)).prop_map(Step::Refill),
        (0..60i64, prop::option::of(0..300i64))
            .prop_map(|(hold, budget)| Step::Place { hold, budget }),
        (1..60i64).prop_map(Step::TopUp),
        Just(Step::Cancel),
        Just(Step::Claim),
        (0..60i64).prop_map(Step::Settle),
    ]
}

/// The account's calls, as the test tracks them.
#[derive(Default)]
struct Calls {
    queued: VecDeque<(ConversationId, i64)>,
    owned: VecDeque<(ConversationId, ClaimId, i64)>,
}

/// Takes a step, if there is a call for it. A call's cost stays within its reservation, because the engine tops up
/// first.
async fn take(shop: &Shop, calls: &mut Calls, step: Step) {
    let store = &shop.store;
    match step {
        Step::Credit(credits) => {
            let balance = store
                .change_wallet(shop.account, entry("purchase", credits))
                .await;
            assert!(balance.unwrap() >= credits);
        }
        Step::Debit(credits) => {
            let audited = audited("wallet.credit");
            // Refused if calls have reserved the credits.
            store
                .credit_wallet(shop.account, entry("manual_debit", -credits), None, audited)
                .await
                .unwrap();
        }
        Step::Refill(refill) => {
            let refill = refill.map(|(threshold, credits)| AutoRefill {
                threshold,
                credits,
                cents: credits * 7,
            });
            let audited = audited("wallet.auto_refill");
            let set = store.set_auto_refill(shop.account, refill, audited).await;
            assert!(set.unwrap());
        }
        Step::Place { hold, budget } => {
            let mut call = shop.call(T0);
            (call.reserve, call.key_budget) = (hold, budget);
            let id = call.id;
            if let Placed::Accepted(_) = store.place_call(call).await.unwrap() {
                calls.queued.push_back((id, hold));
            }
        }
        Step::Cancel => {
            if let Some((id, ..)) = calls.queued.pop_front() {
                let ended = settlement(CallState::Failed, 0);
                store
                    .end_queued_call((shop.account, id), CANCELLED, ended)
                    .await
                    .unwrap();
            }
        }
        Step::Claim => {
            let claimed = shop.claim_at(1_000, node(), T0).await;
            for call in claimed {
                let at = calls
                    .queued
                    .iter()
                    .position(|(id, ..)| *id == call.id)
                    .unwrap();
                let (id, held) = calls.queued.remove(at).unwrap();
                calls.owned.push_back((id, call.claim_id.unwrap(), held));
            }
        }
        Step::TopUp(credits) => {
            if let Some((id, _, held)) = calls.owned.front_mut()
                && top_up(store, *id, credits).await
            {
                *held += credits;
            }
        }
        Step::Settle(cost) => {
            if let Some((id, claim, held)) = calls.owned.pop_front() {
                store
                    .call_answered(id, claim, after(1), None)
                    .await
                    .unwrap();
                store.close_call(id, claim, end()).await.unwrap();
                let settled = settlement(CallState::Completed, cost.min(held));
                let done = store
                    .settle_call((shop.account, id, claim), settled)
                    .await
                    .unwrap();
                assert!(done.is_some());
            }
        }
    }
}

/// Balance = sum of the ledger = newest `balance_after`; reserved = sum of reservations; never more reserved than
/// there is.
async fn check(raw: &mut Raw, shop: &Shop) {
    assert_books(shop).await;
    let (balance, reserved) = shop.wallet().await;
    let account = raw.id(shop.account.uuid());
    let mut number = async |select: &str| {
        let select = select.replace("ACCOUNT", &account);
        let sql = format!("SELECT CAST(COALESCE(({select}), 0) AS TEXT) AS line");
        raw.line(&sql).await.parse::<i64>().unwrap()
    };
    let ledger = number("SELECT SUM(amount_credits) FROM ledger WHERE account_id = ACCOUNT").await;
    assert_eq!(balance, ledger);
    let newest = "SELECT balance_after_credits FROM ledger WHERE account_id = ACCOUNT ORDER BY seq DESC LIMIT 1";
    assert_eq!(balance, number(newest).await);
    let gaps = "SELECT MAX(seq) - COUNT(*) FROM ledger WHERE account_id = ACCOUNT";
    assert_eq!(number(gaps).await, 0, "seq has no gaps");
    let held = "SELECT SUM(credits) FROM reservations WHERE account_id = ACCOUNT";
    assert_eq!(reserved, number(held).await);
    assert!(balance - reserved >= 0, "{balance} - {reserved}");
    let of_keys = number(&format!("{held} AND key_id IS NOT NULL")).await;
    let budgets = "SELECT SUM(b.reserved) FROM key_budgets b JOIN api_keys k ON k.id = b.key_id \
                   WHERE k.account_id = ACCOUNT";
    assert_eq!(
        number(budgets).await,
        of_keys,
        "what budgets hold is what their calls hold"
    );
}

contract! {
    async fn balance_and_reservations_add_up_after_every_step(database: TestDatabase) {
        let store = database.open().await;
        let mut raw = Raw::open(&database).await;
        let mut runner = TestRunner::deterministic();
        for _ in 0..4 {
            let shop = Shop::with_credits(&store, 100).await;
            let steps = prop::collection::vec(step(), 40).new_tree(&mut runner).unwrap().current();
            let mut calls = Calls::default();
            for step in steps {
                take(&shop, &mut calls, step).await;
                check(&mut raw, &shop).await;
            }
        }
    }

    async fn balance_and_reservations_add_up_whatever_runs_side_by_side(database: TestDatabase) {
        let store = database.open().await;
        let mut raw = Raw::open(&database).await;
        let shop = Shop::with_credits(&store, 300).await;
        let mut runner = TestRunner::deterministic();
        let racing = (0..6).map(|_| {
            let steps = prop::collection::vec(step(), 25).new_tree(&mut runner).unwrap().current();
            let shop = shop.clone();
            tokio::spawn(async move {
                // Only the settling task uses claimed calls.
                let mut calls = Calls::default();
                for step in steps {
                    if !matches!(step, Step::Claim | Step::Settle(_) | Step::TopUp(_)) {
                        take(&shop, &mut calls, step).await;
                    }
                }
            })
        });
        let racing: Vec<_> = racing.collect();
        let settler = tokio::spawn({
            let shop = shop.clone();
            async move {
                for _ in 0..20 {
                    for call in shop.claim_at(1_000, node(), T0).await {
                        let (id, claim) = (call.id, call.claim_id.unwrap());
                        let (store, account) = (shop.store.clone(), shop.account);
                        // Tops up while the call is being settled.
                        let topping = tokio::spawn({
                            let store = store.clone();
                            async move { top_up(&store, id, 1).await }
                        });
                        store.close_call(id, claim, end()).await.unwrap();
                        let settled = settlement(CallState::Completed, 0);
                        store.settle_call((account, id, claim), settled).await.unwrap();
                        topping.await.unwrap();
                    }
                    tokio::task::yield_now().await;
                }
            }
        });
        for done in join_all(racing).await {
            done.unwrap();
        }
        settler.await.unwrap();
        check(&mut raw, &shop).await;
    }

    async fn parallel_ledger_entries_are_numbered_without_gaps(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::with_credits(&store, 0).await;
        let balances = race(20, |at| {
            let (store, account) = (store.clone(), shop.account);
            let credit = entry("purchase", i64::try_from(at + 1).unwrap());
            async move { store.change_wallet(account, credit).await.unwrap() }
        });
        assert_eq!(balances.await.into_iter().max(), Some(210));
        check(&mut Raw::open(&database).await, &shop).await;
    }

    async fn an_unknown_account_has_no_wallet(store: Store) {
        let nobody = offhook_storage::mint(T0);
        assert_eq!(store.wallet(nobody).await.unwrap(), None);
        assert!(store.change_wallet(nobody, entry("purchase", 1)).await.is_err());
    }
}
