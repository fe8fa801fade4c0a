//! Incoming calls: stored in one transaction, and ended by other processes if their owner died.

use offhook_domain::{CallState, Channel, E164, NumberProvider};
use offhook_storage::{
    AgentRef, ConversationFilter, Fenced, Lines, NewConversation, PhoneNumber, Store, mint,
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

fn call(shop: &Shop, from: Option<E164>) -> NewConversation {
    NewConversation {
        from,
        to: Some(phone(OURS)),
        dialog: Some(DIALOG.to_owned()),
        ..shop.beginning(Channel::Phone, T0)
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
        let new = call(&shop, Some(phone(CUSTOMER)));
        let id = new.id;
        let taken = shop.begin_spoken(new, (5, me)).await.unwrap();
        let row = shop.conversation(id).await;
        assert_eq!(format!("{row:?}"), format!("{taken:?}"));
        assert_eq!(
            (row.state, row.channel, row.key_id, row.node_id, row.metadata.as_str()),
            (CallState::Dialing, Some(Channel::Phone), None, Some(me), r#"{"page": 1.50}"#)
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
        assert!(shop.begin_spoken(call(&shop, None), (5, node())).await.is_some());
        assert!(shop.begin_spoken(call(&shop, None), (5, node())).await.is_none(), "the wallet");
        assert_eq!(shop.every(&ConversationFilter::default(), 10).await.len(), 1);
        assert_eq!(shop.wallet().await, (15, 10));
    }

    async fn calls_that_come_together_are_counted_one_after_the_other(store: Store) {
        let shop = Shop::new(&store).await;
        let taken = race(8, |_| {
            let (shop, call) = (shop.clone(), call(&shop, None));
            async move { shop.begin_spoken(call, (3, node())).await }
        });
        assert_eq!(taken.await.into_iter().flatten().count(), 3);
        assert_eq!(store.live_calls(shop.account).await.unwrap(), 3);
    }

    async fn calls_that_came_in_are_found_by_either_number(store: Store) {
        let shop = Shop::new(&store).await;
        let known = call(&shop, Some(phone(CUSTOMER)));
        let withheld = call(&shop, None);
        let (known_id, withheld_id) = (known.id, withheld.id);
        for call in [known, withheld] {
            shop.begin_spoken(call, (5, node())).await.unwrap();
        }
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
