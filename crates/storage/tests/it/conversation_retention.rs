//! Deleting conversations after their retention period.

use offhook_domain::{CallState, ConversationId, EventType, Plan, Timestamp};
use offhook_storage::{ClaimSlots, RetentionWindow};
use offhook_testkit::{TestDatabase, contract};

use crate::it::raw::Raw;
use crate::it::shop::{CANCELLED, Shop, T0, after, entry, node, settlement, turn};

/// A completed, reported and paid call.
async fn completed(shop: &Shop) -> ConversationId {
    let (id, claim) = shop.live(node()).await;
    let store = &shop.store;
    store
        .append_turn(id, claim, turn("agent", "Hola"))
        .await
        .unwrap();
    store
        .close_call(id, claim, crate::it::shop::end())
        .await
        .unwrap();
    let settled = settlement(CallState::Completed, 7);
    store
        .settle_call((shop.account, id, claim), settled)
        .await
        .unwrap();
    id
}

/// The found conversations, in the form for deletion.
fn of(found: &[(Timestamp, ConversationId, bool)]) -> Vec<(ConversationId, bool)> {
    found.iter().map(|(_, id, audio)| (*id, *audio)).collect()
}

/// Deletes conversations from before `before`; returns their ids.
async fn purge(shop: &Shop, before: Timestamp, most: i64) -> Vec<ConversationId> {
    let store = &shop.store;
    let found = store
        .ended_conversations_before(shop.account, (before, None), most)
        .await
        .unwrap();
    store
        .delete_conversations(shop.account, of(&found))
        .await
        .unwrap();
    found.into_iter().map(|(_, id, _)| id).collect()
}

async fn rows(raw: &mut Raw) -> Vec<i64> {
    let mut counts = Vec::new();
    for table in [
        "conversations",
        "conversation_moments",
        "events",
        "deliveries",
        "attempts",
        "resends",
        "ledger",
    ] {
        counts.push(raw.count(table).await);
    }
    counts
}

contract! {
    async fn an_ended_conversation_goes_with_all_that_belongs_to_it_but_its_ledger_row(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let endpoint = shop.endpoint().await;
        let mut raw = Raw::open(&database).await;
        let id = completed(&shop).await;
        let slots = vec![ClaimSlots { endpoint, firsts: 8, retries: 8, resends: 8 }];
        let claimed = store.claim_deliveries(slots, vec![], (after(60), after(60))).await.unwrap();
        assert!(!claimed.is_empty());
        let page = store.deliveries(shop.account, Default::default(), None, 10).await.unwrap();
        store.resend_delivery(shop.account, page[0].id, after(61)).await.unwrap();
        let before = rows(&mut raw).await;
        assert!(before.iter().all(|count| *count > 0), "{before:?}");

        assert_eq!(purge(&shop, T0, 50).await, []);
        assert_eq!(rows(&mut raw).await, before);
        // Another account has no such conversation to delete.
        let other = Shop::new(&store).await;
        store.delete_conversations(other.account, vec![(id, false)]).await.unwrap();
        shop.conversation(id).await;
        let before = rows(&mut raw).await;
        assert_eq!(purge(&shop, after(1), 50).await, [id]);
        assert_eq!(rows(&mut raw).await, [0, 0, 0, 0, 0, 0, before[6]]);
        let named = format!("ledger WHERE conversation_id = {}", raw.id(id.uuid()));
        assert_eq!(raw.count(&named).await, 1);
        assert_eq!(shop.wallet().await, (993, 0));
        // The wallet continues as before.
        store.change_wallet(shop.account, entry("purchase", 7)).await.unwrap();
        assert_eq!(shop.wallet().await, (1_000, 0));
    }

    async fn a_recording_that_is_told_of_before_the_row_is_gone_keeps_it_for_another_time(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let (early, late) = (completed(&shop).await, completed(&shop).await);
        let seen = store.ended_conversations_before(shop.account, (after(1), None), 50).await.unwrap();
        assert!(store.recording_kept(shop.account, late).await.unwrap());
        store.delete_conversations(shop.account, of(&seen)).await.unwrap();
        let seen = store.ended_conversations_before(shop.account, (after(1), None), 50).await.unwrap();
        assert_eq!(of(&seen), [(late, true)]);
        assert!(!store.recording_kept(shop.account, early).await.unwrap(), "it is gone");
        let other = Shop::new(&store).await;
        assert!(!store.recording_kept(other.account, late).await.unwrap(), "it is not theirs");
        store.delete_conversations(shop.account, of(&seen)).await.unwrap();
        assert_eq!(purge(&shop, after(1), 50).await, []);
    }

    async fn only_ended_conversations_of_the_account_go_the_oldest_first(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let other = Shop::new(&store).await;
        let theirs = completed(&other).await;
        let mut ended = Vec::new();
        for second in 0..3 {
            let id = shop.place(after(second)).await;
            let failed = settlement(CallState::Failed, 0);
            store.end_queued_call((shop.account, id), CANCELLED, failed).await.unwrap();
            ended.push(id);
        }
        let queued = shop.place(T0).await;
        let (live, _) = shop.live(node()).await;
        assert_eq!(store.conversations_before(shop.account, after(2)).await.unwrap(), 4);
        let mut gone = Vec::new();
        for most in [2, 2, 2] {
            gone.push(purge(&shop, after(100), most).await);
        }
        assert_eq!(gone, [ended[..2].to_vec(), ended[2..].to_vec(), vec![]]);
        for id in [queued, live] {
            shop.conversation(id).await;
        }
        other.conversation(theirs).await;
        // The events of the account's remaining calls still exist.
        let mut raw = Raw::open(&database).await;
        let initiated = format!("events WHERE type = '{}'", EventType::CallInitiated);
        assert_eq!(raw.count(&initiated).await, 3);
    }

    async fn a_window_is_noted_and_a_plan_is_changed_from_the_one_that_was_looked_at(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let window = RetentionWindow {
            account_id: shop.account,
            days: Some(90),
            held_days: None,
            held_until: None,
        };
        assert_eq!(store.retention_window(shop.account).await.unwrap(), None);
        store.note_retention_window(window).await.unwrap();
        let held = RetentionWindow { held_until: Some(after(9)), days: None, ..window };
        store.note_retention_window(held).await.unwrap();
        assert_eq!(store.retention_window(shop.account).await.unwrap(), Some(held));
        let all = store.retention_windows().await.unwrap();
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].0.id, all[0].1), (shop.account, Some(held)));

        let moved = store.set_plan(shop.account, (Plan::Scale, Plan::Free), window, T0).await;
        assert!(!moved.unwrap());
        assert_eq!(store.retention_window(shop.account).await.unwrap(), Some(held));
        let moved = store.set_plan(shop.account, (Plan::Pro, Plan::Starter), window, T0).await;
        assert!(moved.unwrap());
        assert_eq!(store.account(shop.account).await.unwrap().unwrap().plan, Plan::Starter);
        assert_eq!(store.retention_window(shop.account).await.unwrap(), Some(window));
        let mut raw = Raw::open(&database).await;
        let written = "audit_log WHERE action = 'account.set-plan' AND target = 'pro to starter'";
        assert_eq!(raw.count(written).await, 1);
    }
}
