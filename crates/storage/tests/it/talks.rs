//! Spoken conversations of web pages: stored in one transaction, and counted by their widget.

use offhook_domain::{CallState, Channel, NodeId, Timestamp};
use offhook_storage::{Conversation, Fenced, Settlement, Store, WidgetSettings};
use offhook_testkit::contract;

use crate::it::billing::assert_books;
use crate::it::shop::{Shop, T0, after, end, node, settlement, top_up, within};

const ORIGIN: &str = "https://shop.example";
const DAY: u64 = 86_400;

/// A shop whose agent has its widget enabled.
async fn furnished(store: &Store, cap: Option<i64>) -> Shop {
    let shop = Shop::new(store).await;
    let settings = WidgetSettings {
        enabled: true,
        origins: vec![ORIGIN.to_owned()],
        max_sessions_per_minute: 3,
        daily_credit_cap: cap,
    };
    let set = store.set_widget(shop.account, shop.agent, settings);
    set.await.unwrap();
    shop
}

/// Counts credits that are reserved against the widget's cap; `false` if it does not cover them.
async fn reserves(shop: &Shop, credits: i64, at: Timestamp) -> bool {
    let agent = shop.agent;
    within(&shop.store, move |mut tx| {
        Box::pin(async move {
            let mut counts = tx.lock_widget_of(agent, ORIGIN).await?.unwrap();
            let is_covered = counts.reserve(at.utc_day(), credits).is_some();
            if is_covered {
                tx.set_widget_counts(agent, counts).await?;
            }
            Ok(is_covered)
        })
    })
    .await
}

/// Begins a conversation that reserves ten credits.
async fn begun(shop: &Shop, node: NodeId) -> Conversation {
    assert!(reserves(shop, 10, T0).await);
    let new = shop.beginning(Channel::WidgetVoice, T0);
    shop.begin_spoken(new, (5, node)).await.unwrap()
}

/// A conversation that began, was answered, ended and was settled like this.
async fn spoken(shop: &Shop, settlement: Settlement) {
    let row = begun(shop, node()).await;
    let (id, claim) = (row.id, row.claim_id.unwrap());
    let answered = shop.store.call_answered(id, claim, after(3), None).await;
    assert_eq!(answered.unwrap(), Fenced::Done);
    shop.store.close_call(id, claim, end()).await.unwrap();
    let key = (shop.account, id, claim);
    assert!(
        shop.store
            .settle_call(key, settlement)
            .await
            .unwrap()
            .is_some()
    );
}

contract! {
    async fn a_talk_is_written_claimed_and_held_credits_for(store: Store) {
        let shop = furnished(&store, None).await;
        let me = node();
        let taken = begun(&shop, me).await;
        let id = taken.id;
        let row = shop.conversation(id).await;
        assert_eq!(format!("{row:?}"), format!("{taken:?}"));
        assert_eq!(
            (row.state, row.channel, row.voice, row.key_id, row.node_id, row.metadata.as_str()),
            (CallState::Dialing, Some(Channel::WidgetVoice), true, None, Some(me), r#"{"page": 1.50}"#)
        );
        assert_eq!((row.from_number.clone(), row.to_number.clone(), row.customer_phone.clone()), (None, None, None));
        assert!(row.is_inbound() && row.is_of_a_page());
        assert_eq!(shop.wallet().await, (1_000, 10));
        assert_eq!(store.live_calls(shop.account).await.unwrap(), 1);
        let orphans = store.take_orphans(true, 2, node(), T0).await.unwrap();
        assert_eq!(orphans.iter().map(|call| call.id).collect::<Vec<_>>(), [id]);
    }

    async fn what_a_talk_held_and_did_not_cost_is_the_days_again(store: Store) {
        let shop = furnished(&store, Some(25)).await;
        let row = begun(&shop, node()).await;
        let (id, claim) = (row.id, row.claim_id.unwrap());
        assert_eq!(store.call_answered(id, claim, after(3), None).await.unwrap(), Fenced::Done);
        assert!(top_up(&store, id, 10).await && reserves(&shop, 10, after(40)).await);
        assert!(!reserves(&shop, 6, after(100)).await, "beyond the day's cap");
        assert_eq!(shop.wallet().await, (1_000, 20));
        store.close_call(id, claim, end()).await.unwrap();
        let settled = store.settle_call((shop.account, id, claim), settlement(CallState::Completed, 7));
        settled.await.unwrap();
        assert_eq!(shop.wallet().await, (993, 0));
        // 7 of 25 are spent: 18 are left.
        assert!(!reserves(&shop, 19, T0).await);
        assert!(reserves(&shop, 18, T0).await);
        assert!(reserves(&shop, 25, after(DAY)).await);
        assert_books(&shop).await;
    }

    async fn what_a_talk_cost_and_did_not_hold_counts_for_the_day_as_well(store: Store) {
        let shop = furnished(&store, Some(25)).await;
        // 10 reserved, 17 spent: 8 of 25 are left.
        spoken(&shop, settlement(CallState::Completed, 17)).await;
        assert_eq!(shop.wallet().await, (983, 0));
        assert!(!reserves(&shop, 9, T0).await);
        assert!(reserves(&shop, 8, T0).await);
        assert!(reserves(&shop, 25, after(DAY)).await);
        assert_books(&shop).await;
    }

    async fn what_a_talk_cost_beyond_midnight_and_did_not_hold_counts_for_the_day_after(store: Store) {
        let shop = furnished(&store, Some(25)).await;
        let late = Settlement { at: after(DAY), ..settlement(CallState::Completed, 30) };
        spoken(&shop, late).await;
        assert!(!reserves(&shop, 6, after(DAY)).await);
        assert!(reserves(&shop, 5, after(DAY)).await);
        assert_books(&shop).await;
    }
}
