//! Incoming calls: stored in one transaction, and ended by other processes if their owner died.

use offhook_domain::{AgentStatus, CallState, Channel, E164, NodeId, NumberProvider, Price};
use offhook_storage::{
    AgentChange, AgentRef, ConversationFilter, Fenced, Lines, NewInboundCall, PhoneNumber, Store,
    Taken, mint,
};
use offhook_testkit::contract;

use crate::it::shop::{
    CUSTOMER, OURS, Shop, T0, add_number, after, end, node, phone, race, settlement,
};

const DIALOG: &str = r#"{"call_id":"x@carrier"}"#;

async fn number(shop: &Shop, text: &str, provider: NumberProvider, assigned: bool) {
    let number = PhoneNumber {
        id: mint(T0),
        account_id: shop.account,
        phone_number: phone(text),
        label: String::new(),
        provider,
        agent_id: assigned.then_some(shop.agent),
        created_at: T0,
        updated_at: T0,
        is_proven: true,
        at_legacy: false,
        by_credential: false,
    };
    assert_eq!(add_number(&shop.store, number.clone()).await, number);
}

fn call(shop: &Shop, from: Option<E164>, node: NodeId) -> NewInboundCall {
    NewInboundCall {
        id: mint(T0),
        account_id: shop.account,
        agent_id: shop.agent,
        agent_version: 1,
        from,
        to: phone(OURS),
        price: Price::from_millicredits_per_minute(1_000),
        reserve: 10,
        dialog: Some(DIALOG.to_owned()),
        at: T0,
        steady: T0,
        node,
        live_calls: 5,
    }
}

contract! {
    async fn a_number_of_a_trunk_is_found_with_who_answers_it(store: Store) {
        let shop = Shop::new(&store).await;
        number(&shop, OURS, NumberProvider::Sip, true).await;
        number(&shop, "+15005550101", NumberProvider::Simulator, true).await;
        number(&shop, "+15005550102", NumberProvider::Sip, false).await;

        let found = store.called_number(phone(OURS), NumberProvider::Sip).await.unwrap().unwrap();
        assert_eq!(found.account.id, shop.account);
        assert_eq!(found.agent.unwrap().id, shop.agent);
        assert_eq!(found.config.as_deref(), Some(r#"{"version": 1}"#));
        assert!(store.called_number(phone("+15005550101"), NumberProvider::Sip).await.unwrap().is_none());
        let bare = store.called_number(phone("+15005550102"), NumberProvider::Sip).await.unwrap().unwrap();
        assert!(bare.agent.is_none() && bare.config.is_none());
        assert!(store.called_number(phone("+15005550103"), NumberProvider::Sip).await.unwrap().is_none());
    }

    async fn by_a_trunk_calls_are_placed_from_its_numbers_alone(store: Store) {
        let shop = Shop::new(&store).await;
        let from = async |carrier| {
            let lines = Lines { carrier, ..Lines::default() };
            let found = store.agent_to_call(shop.account, AgentRef::Id(shop.agent), lines);
            found.await.unwrap().unwrap().2
        };
        number(&shop, "+15005550101", NumberProvider::Simulator, true).await;
        assert_eq!(from(None).await, Some(phone("+15005550101")));
        assert_eq!(from(Some(NumberProvider::Sip)).await, None);
        number(&shop, OURS, NumberProvider::Sip, false).await;
        assert_eq!(from(None).await, Some(phone("+15005550101")), "its own comes first");
        assert_eq!(from(Some(NumberProvider::Twilio)).await, None);
        assert_eq!(from(Some(NumberProvider::Sip)).await, Some(phone(OURS)));
    }

    async fn a_call_is_written_claimed_and_held_credits_for(store: Store) {
        let shop = Shop::new(&store).await;
        let me = node();
        let new = call(&shop, Some(phone(CUSTOMER)), me);
        let id = new.id;
        let Taken::Claimed(taken) = store.take_call(new).await.unwrap() else { panic!() };
        let row = shop.conversation(id).await;
        assert_eq!(format!("{row:?}"), format!("{taken:?}"));
        assert_eq!(
            (row.state, row.channel, row.key_id, row.node_id, row.metadata.as_str()),
            (CallState::Dialing, Some(Channel::Phone), None, Some(me), "{}")
        );
        assert_eq!(row.agent_ref, shop.agent.to_string());
        assert_eq!(row.from_number.clone(), Some(phone(CUSTOMER)));
        assert_eq!(row.to_number.clone(), Some(phone(OURS)));
        assert_eq!(row.customer_phone.clone(), Some(phone(CUSTOMER)));
        assert!(row.is_inbound());
        assert_eq!(shop.wallet().await, (1_000, 10));
        assert_eq!(store.live_calls(shop.account).await.unwrap(), 1);

        let claim = row.claim_id.unwrap();
        let answered = store.call_answered(id, claim, after(3), None).await.unwrap();
        assert_eq!(answered, Fenced::Done);
        assert_eq!(shop.conversation(id).await.line.dialog.as_deref(), Some(DIALOG));
        store.close_call(id, claim, end()).await.unwrap();
        assert_eq!(shop.conversation(id).await.line.dialog, None, "the call is over");
        let settled = store.settle_call((shop.account, id, claim), settlement(CallState::Completed, 1));
        assert_eq!(settled.await.unwrap(), Some(vec![]));
        assert_eq!(shop.wallet().await, (999, 0));
    }

    async fn what_ends_a_placed_call_is_kept_from_its_answer_to_its_end(store: Store) {
        let shop = Shop::new(&store).await;
        let (id, claim) = shop.dialing(node()).await;
        assert_eq!(shop.conversation(id).await.line.dialog, None);
        assert!(!shop.conversation(id).await.is_inbound());
        store.call_answered(id, claim, after(3), Some(DIALOG.to_owned())).await.unwrap();
        assert_eq!(shop.conversation(id).await.line.dialog.as_deref(), Some(DIALOG));
        let orphan = store.take_orphans(true, 2, node(), T0).await.unwrap();
        assert_eq!(orphan[0].line.dialog.as_deref(), Some(DIALOG));
    }

    async fn nothing_is_written_of_a_call_that_is_not_taken(store: Store) {
        let shop = Shop::with_credits(&store, 15).await;
        let first = store.take_call(call(&shop, None, node())).await.unwrap();
        assert!(matches!(first, Taken::Claimed(_)), "{first:?}");
        let second = store.take_call(call(&shop, None, node())).await.unwrap();
        assert!(matches!(second, Taken::WalletTooLow), "{second:?}");
        let limited = NewInboundCall { live_calls: 1, reserve: 0, ..call(&shop, None, node()) };
        let third = store.take_call(limited).await.unwrap();
        assert!(matches!(third, Taken::LinesBusy), "{third:?}");
        let pause = AgentChange {
            head_version: 1,
            name: None,
            language: None,
            status: Some((AgentStatus::Active, AgentStatus::Paused)),
            config: None,
            at: after(1),
        };
        store.change_agent(shop.account, shop.agent, pause).await.unwrap().unwrap();
        let fourth = NewInboundCall { reserve: 0, ..call(&shop, None, node()) };
        let fourth = store.take_call(fourth).await.unwrap();
        assert!(matches!(fourth, Taken::AgentUnavailable), "{fourth:?}");
        assert_eq!(shop.every(&ConversationFilter::default(), 10).await.len(), 1);
        assert_eq!(shop.wallet().await, (15, 10));
    }

    async fn calls_that_come_together_are_counted_one_after_the_other(store: Store) {
        let shop = Shop::new(&store).await;
        let taken = race(8, |_| {
            let (store, call) = (store.clone(), call(&shop, None, node()));
            async move { store.take_call(NewInboundCall { live_calls: 3, ..call }).await.unwrap() }
        });
        let claimed = taken.await.into_iter().filter(|taken| matches!(taken, Taken::Claimed(_)));
        assert_eq!(claimed.count(), 3);
        assert_eq!(store.live_calls(shop.account).await.unwrap(), 3);
    }

    async fn calls_that_came_in_are_found_by_either_number(store: Store) {
        let shop = Shop::new(&store).await;
        let known = call(&shop, Some(phone(CUSTOMER)), node());
        let withheld = call(&shop, None, node());
        let (known_id, withheld_id) = (known.id, withheld.id);
        store.take_call(known).await.unwrap();
        store.take_call(withheld).await.unwrap();
        let placed = shop.place(T0).await;
        let by = async |number: &str| {
            let filter = ConversationFilter {
                phone: Some(phone(number)),
                ..ConversationFilter::default()
            };
            let mut ids = shop.every(&filter, 1).await;
            ids.sort_unstable();
            ids
        };
        let sorted = |mut ids: Vec<_>| { ids.sort_unstable(); ids };
        assert_eq!(by(CUSTOMER).await, sorted(vec![known_id, placed]));
        assert_eq!(by(OURS).await, sorted(vec![known_id, withheld_id]));
    }
}
