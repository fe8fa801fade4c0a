//! Phone numbers.

use std::collections::HashSet;

use offhook_domain::{AgentId, E164, NumberProvider, Timestamp};
use offhook_storage::{AgentRef, Lines, PhoneNumber, Store, mint};
use offhook_testkit::contract;

use crate::it::shop::{Shop, T0, add_number, after, new_agent, paged, phone};

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
    add_number(&shop.store, number(shop, text, at)).await
}

/// The number that the agent's calls are placed from.
pub(crate) async fn calls_from(shop: &Shop, agent: AgentId) -> Option<E164> {
    let found = shop
        .store
        .agent_to_call(shop.account, AgentRef::Id(agent), Lines::default());
    found.await.unwrap().unwrap().2
}

contract! {
    async fn a_number_that_was_deleted_is_gone(store: Store) {
        let shop = Shop::new(&store).await;
        let number = added(&shop, "+15005550123", T0).await;
        assert_eq!(store.number(shop.account, number.id).await.unwrap(), Some(number.clone()));
        assert!(store.delete_number(shop.account, number.id).await.unwrap());
        assert!(!store.delete_number(shop.account, number.id).await.unwrap());
        assert_eq!(calls_from(&shop, shop.agent).await, None);
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
            add_number(&store, number).await;
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
            add_number(&store, number).await;
        }
        for (agent, expected) in [(None, all), (Some(shop.agent), of_agent)] {
            let key = |number: &PhoneNumber| (number.created_at, number.id);
            let read = async |place| store.numbers(shop.account, agent, place, 2).await;
            let seen = paged(2, key, read).await;
            assert_eq!(seen.len(), expected.len());
            assert_eq!(seen.iter().map(|number| number.id).collect::<HashSet<_>>(), expected);
        }
    }
}
