//! Phone numbers: which account has one, and which agent.

use offhook_domain::{AgentStatus, NumberProvider, Timestamp};
use offhook_storage::{AgentChange, AuditFilter, NumberChange, PhoneNumber, Store, mint};
use offhook_testkit::contract;

use super::shop::{Shop, T0, add_number, after, phone, race};
use crate::Refusal;
use crate::error::UseCaseError;
use crate::numbers::ownership::{change, give};

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

contract! {
    async fn a_number_belongs_to_one_account_also_when_they_race(store: Store) {
        let shops = [Shop::new(&store).await, Shop::new(&store).await];
        let writes = race(8, |at| {
            let (store, number) = (store.clone(), number(&shops[at % 2], "+15005550123", T0));
            async move { give(&store, number, false).await }
        });
        let writes = writes.await;
        let done = writes.iter().filter(|write| matches!(write, Ok(Some(_)))).count();
        let ours = writes.iter().filter(|write| matches!(write, Ok(None))).count();
        let taken = writes.iter().filter(|write| matches!(write, Err(UseCaseError::Conflict(Refusal::NumberOfAnother)))).count();
        assert_eq!((done, ours, taken), (1, 3, 4));
    }

    async fn a_change_touches_only_what_it_names(store: Store) {
        let shop = Shop::new(&store).await;
        let number = added(&shop, "+15005550123", T0).await;
        let assign = NumberChange { label: None, agent: Some(Some(shop.agent)) };
        let changed = change(&store, (shop.account, number.id), assign, after(1)).await;
        let assigned = PhoneNumber { agent_id: Some(shop.agent), updated_at: after(1), ..number.clone() };
        assert_eq!(changed.unwrap(), assigned.clone());
        let rename = NumberChange { label: Some("Front".to_owned()), agent: None };
        let changed = change(&store, (shop.account, number.id), rename, after(2)).await;
        let renamed = PhoneNumber { label: "Front".to_owned(), updated_at: after(2), ..assigned };
        assert_eq!(changed.unwrap(), renamed.clone());
        let free = NumberChange { label: None, agent: Some(None) };
        let changed = change(&store, (shop.account, number.id), free, after(3)).await;
        assert_eq!(changed.unwrap(), PhoneNumber { agent_id: None, updated_at: after(3), ..renamed });
    }

    async fn archiving_an_agent_frees_its_numbers_and_it_gets_no_other(store: Store) {
        let shop = Shop::new(&store).await;
        let own = PhoneNumber { agent_id: Some(shop.agent), ..number(&shop, "+15005550124", T0) };
        give(&store, own.clone(), false).await.unwrap();
        let number = added(&shop, "+15005550123", T0).await;
        let archive = AgentChange {
            head_version: 1,
            name: None,
            language: None,
            status: Some((AgentStatus::Active, AgentStatus::Archived)),
            config: None,
            settings: None,
            at: after(1),
        };
        store.change_agent(shop.account, shop.agent, archive).await.unwrap().unwrap();
        let freed = PhoneNumber { agent_id: None, updated_at: after(1), ..own.clone() };
        assert_eq!(store.number(shop.account, own.id).await.unwrap(), Some(freed));
        let assign = NumberChange { label: None, agent: Some(Some(shop.agent)) };
        let changed = change(&store, (shop.account, number.id), assign, after(1)).await;
        assert!(matches!(changed, Err(UseCaseError::Conflict(Refusal::NumberOfArchived))));
    }

    async fn an_engine_agent_gets_no_number_that_the_account_has_not_proved_to_own(store: Store) {
        let shop = Shop::new(&store).await;
        let listed = PhoneNumber { is_proven: false, ..number(&shop, "+15005550123", T0) };
        give(&store, listed.clone(), false).await.unwrap().unwrap();
        let to = |agent| NumberChange { label: None, agent: Some(agent) };
        let own = (shop.account, listed.id);
        let refused = change(&store, own, to(Some(shop.agent)), after(1)).await;
        assert!(matches!(refused, Err(UseCaseError::Conflict(Refusal::NumberUnproven))));
        change(&store, own, to(None), after(1)).await.unwrap();
        let nobody = change(&store, own, to(Some(mint(T0))), after(1)).await;
        assert!(matches!(nobody, Err(UseCaseError::Invalid(_))));
        // Whoever proves to own it gets it, wherever else it was listed.
        let owner = Shop::new(&store).await;
        let proven = PhoneNumber { agent_id: Some(owner.agent), ..number(&owner, "+15005550123", after(2)) };
        assert_eq!(give(&store, proven.clone(), false).await.unwrap(), Some(proven));
        assert_eq!(store.number(shop.account, listed.id).await.unwrap(), None);
    }

    async fn the_operators_number_is_in_the_audit_log(store: Store) {
        let shop = Shop::new(&store).await;
        let number = number(&shop, "+15005550123", T0);
        give(&store, number.clone(), true).await.unwrap();
        let lines = store.audit(shop.account, AuditFilter::default(), None, 100).await.unwrap();
        let shown = lines.iter().map(|line| (line.actor.as_str(), line.action.as_str(), line.target.clone()));
        assert_eq!(shown.filter(|line| *line == ("cli", "number.add", number.id.to_string())).count(), 1);
    }
}
