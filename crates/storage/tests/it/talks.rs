//! Spoken conversations of web pages: stored in one transaction, and counted by their widget.

use offhook_domain::{CallState, Channel, NodeId, Price};
use offhook_storage::{Fenced, NewTalk, Settlement, Store, TalkTaken, WidgetSettings, mint};
use offhook_testkit::contract;

use crate::it::billing::assert_books;
use crate::it::shop::{Shop, T0, after, end, node, settlement};

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

fn talk(shop: &Shop, node: NodeId) -> NewTalk {
    NewTalk {
        id: mint(T0),
        account_id: shop.account,
        agent_id: shop.agent,
        agent_version: 1,
        origin: ORIGIN.to_owned(),
        metadata: r#"{"name": "Ana"}"#.to_owned(),
        price: Price::from_millicredits_per_minute(10_000),
        reserve: 10,
        at: T0,
        steady: T0,
        node,
        live_calls: 5,
        of_pages: 5,
    }
}

async fn taken(shop: &Shop, talk: NewTalk) -> &'static str {
    match shop.store.take_talk(talk).await.unwrap() {
        TalkTaken::Claimed(_) => "claimed",
        TalkTaken::Refused => "refused",
        TalkTaken::TooMany => "too many",
        TalkTaken::CapReached => "cap",
        TalkTaken::LinesBusy => "busy",
        TalkTaken::AgentUnavailable => "unavailable",
        TalkTaken::WalletTooLow => "wallet",
    }
}

/// A conversation that began, was answered, ended and was settled like this.
async fn spoken(shop: &Shop, talk: NewTalk, settlement: Settlement) {
    let id = talk.id;
    let TalkTaken::Claimed(row) = shop.store.take_talk(talk).await.unwrap() else {
        panic!("{id} was not begun");
    };
    let claim = row.claim_id.unwrap();
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
        let new = talk(&shop, me);
        let id = new.id;
        let TalkTaken::Claimed(taken) = store.take_talk(new).await.unwrap() else { panic!() };
        let row = shop.conversation(id).await;
        assert_eq!(format!("{row:?}"), format!("{taken:?}"));
        assert_eq!(
            (row.state, row.channel, row.voice, row.key_id, row.node_id, row.metadata.as_str()),
            (CallState::Dialing, Some(Channel::WidgetVoice), true, None, Some(me), r#"{"name": "Ana"}"#)
        );
        assert_eq!((row.from_number.clone(), row.to_number.clone(), row.customer_phone.clone()), (None, None, None));
        assert!(row.is_inbound() && row.is_of_a_page());
        assert_eq!(shop.wallet().await, (1_000, 10));
        assert_eq!(store.live_calls(shop.account).await.unwrap(), 1);
        let orphans = store.take_orphans(true, 2, node(), T0).await.unwrap();
        assert_eq!(orphans.iter().map(|call| call.id).collect::<Vec<_>>(), [id]);
    }

    async fn nothing_is_written_of_a_talk_that_is_refused(store: Store) {
        let shop = furnished(&store, Some(20)).await;
        let new = || talk(&shop, node());
        assert_eq!(taken(&shop, NewTalk { origin: "https://evil.example".to_owned(), ..new() }).await, "refused");
        assert_eq!(taken(&shop, NewTalk { live_calls: 0, ..new() }).await, "busy");
        assert_eq!(taken(&shop, NewTalk { of_pages: 0, ..new() }).await, "busy");
        assert_eq!(taken(&shop, NewTalk { reserve: 21, ..new() }).await, "cap");
        assert_eq!(shop.wallet().await, (1_000, 0));
        assert_eq!(taken(&shop, new()).await, "claimed");
        assert_eq!(taken(&shop, NewTalk { reserve: 11, ..new() }).await, "cap");
        assert_eq!(taken(&shop, new()).await, "claimed");
        assert_eq!(taken(&shop, NewTalk { reserve: 0, ..new() }).await, "claimed");
        // Refused ones do not count; these three use up the minute.
        assert_eq!(taken(&shop, NewTalk { reserve: 0, ..new() }).await, "too many");
        assert_eq!(taken(&shop, NewTalk { reserve: 0, at: after(60), ..new() }).await, "claimed");

        let poor = Shop::with_credits(&store, 9).await;
        let settings = WidgetSettings {
            enabled: true,
            origins: vec![ORIGIN.to_owned()],
            max_sessions_per_minute: 3,
            daily_credit_cap: None,
        };
        store.set_widget(poor.account, poor.agent, settings.clone()).await.unwrap();
        assert_eq!(taken(&poor, talk(&poor, node())).await, "wallet");
        let off = WidgetSettings { enabled: false, ..settings };
        store.set_widget(poor.account, poor.agent, off).await.unwrap();
        assert_eq!(taken(&poor, NewTalk { reserve: 0, ..talk(&poor, node()) }).await, "refused");
    }

    async fn what_a_talk_held_and_did_not_cost_is_the_days_again(store: Store) {
        let shop = furnished(&store, Some(25)).await;
        let new = talk(&shop, node());
        let (id, agent) = (new.id, shop.agent);
        let TalkTaken::Claimed(row) = store.take_talk(new).await.unwrap() else { panic!() };
        let claim = row.claim_id.unwrap();
        assert_eq!(store.call_answered(id, claim, after(3), None).await.unwrap(), Fenced::Done);
        assert!(store.top_up_talk(id, agent, 10, after(40)).await.unwrap());
        assert!(!store.top_up_talk(id, agent, 6, after(100)).await.unwrap(), "beyond the day's cap");
        assert_eq!(shop.wallet().await, (1_000, 20));
        assert_eq!(taken(&shop, talk(&shop, node())).await, "cap");
        store.close_call(id, claim, end()).await.unwrap();
        let settled = store.settle_call((shop.account, id, claim), settlement(CallState::Completed, 7));
        settled.await.unwrap();
        assert_eq!(shop.wallet().await, (993, 0));
        // 7 of 25 are spent: 18 are left.
        assert_eq!(taken(&shop, NewTalk { reserve: 19, ..talk(&shop, node()) }).await, "cap");
        assert_eq!(taken(&shop, NewTalk { reserve: 18, ..talk(&shop, node()) }).await, "claimed");
        assert_eq!(taken(&shop, NewTalk { reserve: 25, at: after(DAY), ..talk(&shop, node()) }).await, "claimed");
        assert_books(&shop).await;
    }

    async fn what_a_talk_cost_and_did_not_hold_counts_for_the_day_as_well(store: Store) {
        let shop = furnished(&store, Some(25)).await;
        // 10 reserved, 17 spent: 8 of 25 are left.
        spoken(&shop, talk(&shop, node()), settlement(CallState::Completed, 17)).await;
        assert_eq!(shop.wallet().await, (983, 0));
        assert_eq!(taken(&shop, NewTalk { reserve: 9, ..talk(&shop, node()) }).await, "cap");
        assert_eq!(taken(&shop, NewTalk { reserve: 8, ..talk(&shop, node()) }).await, "claimed");
        assert_eq!(taken(&shop, NewTalk { reserve: 25, at: after(DAY), ..talk(&shop, node()) }).await, "claimed");
        assert_books(&shop).await;
    }

    async fn what_a_talk_cost_beyond_midnight_and_did_not_hold_counts_for_the_day_after(store: Store) {
        let shop = furnished(&store, Some(25)).await;
        let late = Settlement { at: after(DAY), ..settlement(CallState::Completed, 30) };
        spoken(&shop, talk(&shop, node()), late).await;
        assert_eq!(taken(&shop, NewTalk { reserve: 6, at: after(DAY), ..talk(&shop, node()) }).await, "cap");
        assert_eq!(taken(&shop, NewTalk { reserve: 5, at: after(DAY), ..talk(&shop, node()) }).await, "claimed");
        assert_books(&shop).await;
    }
}
