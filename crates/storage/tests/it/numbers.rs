//! Phone numbers.

use std::collections::HashSet;

use offhook_domain::{AgentId, AgentStatus, E164, NumberProvider, Timestamp};
use offhook_storage::{
    AgentChange, AgentRef, Lines, NumberChange, NumberWrite, PhoneNumber, Store, mint,
};
use offhook_testkit::{TestDatabase, contract};

use crate::it::raw::Raw;
use crate::it::shop::{Shop, T0, after, new_agent, paged, phone, race};

fn number(shop: &Shop, text: &str, at: Timestamp) -> PhoneNumber {
    PhoneNumber {
        id: mint(at),
        account_id: shop.account,
        phone_number: phone(text),
        label: "Desk".to_owned(),
        provider: NumberProvider::Simulator,
        agent_id: None,
        created_at: at,
        updated_at: at,
        is_proven: true,
        at_legacy: false,
        by_credential: false,
    }
}

async fn added(shop: &Shop, text: &str, at: Timestamp) -> PhoneNumber {
    let number = number(shop, text, at);
    let write = shop.store.add_number(number.clone(), false).await.unwrap();
    assert_eq!(write, NumberWrite::Done(number.clone()));
    number
}

/// The number that the agent's calls are placed from.
pub(crate) async fn calls_from(shop: &Shop, agent: AgentId) -> Option<E164> {
    let found = shop
        .store
        .agent_to_call(shop.account, AgentRef::Id(agent), Lines::default());
    found.await.unwrap().unwrap().2
}

contract! {
    async fn a_number_belongs_to_one_account_also_when_they_race(store: Store) {
        let shops = [Shop::new(&store).await, Shop::new(&store).await];
        let writes = race(8, |at| {
            let (store, number) = (store.clone(), number(&shops[at % 2], "+15005550123", T0));
            async move { store.add_number(number, false).await.unwrap() }
        });
        let writes = writes.await;
        let done = writes.iter().filter(|write| matches!(write, NumberWrite::Done(_))).count();
        let ours = writes.iter().filter(|write| **write == NumberWrite::AlreadyOurs).count();
        let taken = writes.iter().filter(|write| **write == NumberWrite::Taken).count();
        assert_eq!((done, ours, taken), (1, 3, 4));
    }

    async fn a_number_that_was_deleted_is_gone(store: Store) {
        let shop = Shop::new(&store).await;
        let number = added(&shop, "+15005550123", T0).await;
        assert_eq!(store.number(shop.account, number.id).await.unwrap(), Some(number.clone()));
        assert!(store.delete_number(shop.account, number.id).await.unwrap());
        assert!(!store.delete_number(shop.account, number.id).await.unwrap());
        assert_eq!(calls_from(&shop, shop.agent).await, None);
    }

    async fn a_change_touches_only_what_it_names(store: Store) {
        let shop = Shop::new(&store).await;
        let number = added(&shop, "+15005550123", T0).await;
        let assign = NumberChange { label: None, agent: Some(Some(shop.agent)) };
        let changed = store.change_number(shop.account, number.id, assign, after(1)).await.unwrap();
        let assigned = PhoneNumber { agent_id: Some(shop.agent), updated_at: after(1), ..number.clone() };
        assert_eq!(changed, NumberWrite::Done(assigned.clone()));
        let rename = NumberChange { label: Some("Front".to_owned()), agent: None };
        let changed = store.change_number(shop.account, number.id, rename, after(2)).await.unwrap();
        let renamed = PhoneNumber { label: "Front".to_owned(), updated_at: after(2), ..assigned };
        assert_eq!(changed, NumberWrite::Done(renamed.clone()));
        let free = NumberChange { label: None, agent: Some(None) };
        let changed = store.change_number(shop.account, number.id, free, after(3)).await.unwrap();
        assert_eq!(changed, NumberWrite::Done(PhoneNumber { agent_id: None, updated_at: after(3), ..renamed }));
    }

    async fn archiving_an_agent_frees_its_numbers_and_it_gets_no_other(store: Store) {
        let shop = Shop::new(&store).await;
        let own = PhoneNumber { agent_id: Some(shop.agent), ..number(&shop, "+15005550124", T0) };
        store.add_number(own.clone(), false).await.unwrap();
        let number = added(&shop, "+15005550123", T0).await;
        let archive = AgentChange {
            head_version: 1,
            name: None,
            language: None,
            status: Some((AgentStatus::Active, AgentStatus::Archived)),
            config: None,
            at: after(1),
        };
        store.change_agent(shop.account, shop.agent, archive).await.unwrap().unwrap();
        let freed = PhoneNumber { agent_id: None, updated_at: after(1), ..own.clone() };
        assert_eq!(store.number(shop.account, own.id).await.unwrap(), Some(freed));
        let assign = NumberChange { label: None, agent: Some(Some(shop.agent)) };
        let changed = store.change_number(shop.account, number.id, assign, after(1)).await.unwrap();
        assert_eq!(changed, NumberWrite::AgentArchived);
    }

    async fn a_call_is_placed_from_the_agents_oldest_number_or_else_the_accounts(store: Store) {
        let shop = Shop::new(&store).await;
        let second = new_agent(shop.account, "Bea");
        let other = second.agent.id;
        store.create_agent(second).await.unwrap();
        let from = async |agent| calls_from(&shop, agent).await;
        assert_eq!(from(shop.agent).await, None);
        let oldest = added(&shop, "+15005550120", T0).await;
        for (text, at) in [("+15005550121", 1), ("+15005550122", 2)] {
            let number = PhoneNumber { agent_id: Some(shop.agent), ..number(&shop, text, after(at)) };
            store.add_number(number, false).await.unwrap();
        }
        assert_eq!(from(shop.agent).await, Some(phone("+15005550121")));
        assert_eq!(from(other).await, Some(oldest.phone_number));
    }

    async fn pages_of_numbers_show_each_once_also_of_one_agent(store: Store) {
        let shop = Shop::new(&store).await;
        let (mut all, mut of_agent) = (HashSet::new(), HashSet::new());
        for at in 0..9_u64 {
            let mut number = number(&shop, &format!("+1500555010{at}"), after(at / 3));
            if at % 2 == 0 {
                number.agent_id = Some(shop.agent);
                of_agent.insert(number.id);
            }
            all.insert(number.id);
            store.add_number(number, false).await.unwrap();
        }
        for (agent, expected) in [(None, all), (Some(shop.agent), of_agent)] {
            let key = |number: &PhoneNumber| (number.created_at, number.id);
            let read = async |place| store.numbers(shop.account, agent, place, 2).await;
            let seen = paged(2, key, read).await;
            assert_eq!(seen.len(), expected.len());
            assert_eq!(seen.iter().map(|number| number.id).collect::<HashSet<_>>(), expected);
        }
    }

    async fn the_operators_number_is_in_the_audit_log(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let number = number(&shop, "+15005550123", T0);
        store.add_number(number.clone(), true).await.unwrap();
        let mut raw = Raw::open(&database).await;
        let target = format!("audit_log WHERE action = 'number.add' AND target = '{}'", number.id);
        assert_eq!(raw.count(&target).await, 1);
    }
}
