//! Credentials, and legacy agents as their provider lists them.

use std::time::Duration;

use offhook_domain::{AgentStatus, CredentialProvider, NumberProvider, Runtime};
use offhook_storage::{
    Agent, AgentChange, AgentFilter, AgentRef, Lines, ListedAgent, ListedNumber, NumberChange,
    PhoneNumber, Store, Synced, mint,
};
use offhook_testkit::{TestDatabase, contract};

use crate::it::numbers::calls_from;
use crate::it::raw::Raw;
use crate::it::shop::{Shop, T0, add_number, after, phone, race, within};

const LEGACY: CredentialProvider = CredentialProvider::Legacy;
const HOUR: Duration = Duration::from_secs(3_600);

fn listed(id: &str, name: &str) -> ListedAgent {
    ListedAgent {
        provider_agent_id: format!("agent_{id}"),
        name: name.to_owned(),
        name_folded: name.to_lowercase(),
        language: "en".to_owned(),
        config: format!(r#"{{"first_message": "{name} here"}}"#),
        numbers: vec![ListedNumber {
            number: phone(&format!("+150055600{id}")),
            label: "Desk".to_owned(),
            provider: NumberProvider::Simulator,
        }],
    }
}

async fn sync(shop: &Shop, agents: &[(&str, &str)], at: u64) -> Synced {
    let agents = agents.iter().map(|(id, name)| listed(id, name)).collect();
    let times = (after(at), after(at), after(at).plus(HOUR));
    shop.store
        .sync_legacy_agents(shop.account, agents, times)
        .await
        .unwrap()
}

/// The account's legacy agents by their provider's ids.
async fn legacy(shop: &Shop) -> Vec<Agent> {
    let filter = AgentFilter {
        runtime: Some(Runtime::Legacy),
        ..AgentFilter::default()
    };
    let mut agents = shop
        .store
        .agents(shop.account, filter, None, 100)
        .await
        .unwrap();
    agents.sort_by_key(|agent| agent.provider_agent_id.clone());
    agents
}

contract! {
    async fn a_number_that_its_provider_lists_is_shown_to_be_nobodys_by_that(store: Store) {
        let (tenant, owner) = (Shop::new(&store).await, Shop::new(&store).await);
        sync(&tenant, &[("01", "Ana"), ("02", "Bea")], 1).await;
        let agents: Vec<_> = legacy(&tenant).await.iter().map(|agent| agent.id).collect();
        let mut theirs = store.numbers_of_agents(tenant.account, agents.clone()).await.unwrap();
        theirs.sort_by_key(|number| number.phone_number.clone());
        let (account, id) = (tenant.account, theirs[0].id);
        let free = NumberChange { agent: Some(None), ..NumberChange::default() };
        let freed = within(&store, move |mut tx| {
            Box::pin(async move { tx.change_number(account, id, free, after(2)).await })
        });
        assert!(freed.await.is_some());
        assert_eq!(calls_from(&tenant, tenant.agent).await, None);
        for number in &theirs {
            assert!(store.called_number(number.phone_number.clone(), NumberProvider::Sip).await.unwrap().is_none());
        }
        // An account that proves ownership gets the number, wherever else it was listed.
        let shown = |shop: &Shop, number: &PhoneNumber| PhoneNumber {
            id: mint(after(3)),
            account_id: shop.account,
            provider: NumberProvider::Sip,
            agent_id: Some(shop.agent),
            is_proven: true,
            ..number.clone()
        };
        add_number(&store, shown(&owner, &theirs[0])).await;
        assert_eq!(store.number(tenant.account, theirs[0].id).await.unwrap(), None);
        let own = add_number(&store, shown(&tenant, &theirs[1])).await;
        assert_eq!((own.id, own.is_proven, own.agent_id), (theirs[1].id, true, Some(tenant.agent)));
        sync(&tenant, &[("01", "Ana"), ("02", "Bea")], 4).await;
        assert_eq!(store.number(tenant.account, own.id).await.unwrap(), Some(own));
        for (number, shop) in [(&theirs[0], &owner), (&theirs[1], &tenant)] {
            let called = store.called_number(number.phone_number.clone(), NumberProvider::Sip).await.unwrap();
            assert_eq!(called.map(|called| called.account.id), Some(shop.account));
        }
    }

    async fn a_credential_is_replaced_listed_and_removed_and_opens_for_its_account_alone(store: Store) {
        let (shop, stranger) = (Shop::new(&store).await, Shop::new(&store).await);
        let first = store.set_credential(shop.account, LEGACY, "sim_a", None, T0).await.unwrap();
        let second = store.set_credential(shop.account, LEGACY, "sim_b", None, after(1)).await.unwrap();
        assert_eq!((second.created_at, second.updated_at), (T0, after(1)));
        assert_ne!(first.id, second.id);
        assert_eq!(store.credentials(shop.account).await.unwrap(), [second]);
        let secret = async |account| store.credential_secret(account, LEGACY).await.unwrap();
        assert_eq!(secret(shop.account).await.as_deref(), Some("sim_b"));
        assert_eq!(secret(stranger.account).await, None);
        assert_eq!(store.credentials(stranger.account).await.unwrap(), []);
        let removed = store.remove_credential(stranger.account, LEGACY, after(2)).await.unwrap();
        assert_eq!(removed, None);
        assert!(store.remove_credential(shop.account, LEGACY, after(2)).await.unwrap().is_some());
        assert_eq!(secret(shop.account).await, None);
    }

    async fn own_keys_are_opened_for_their_account_alone_and_keep_their_ends(store: Store) {
        let (shop, stranger) = (Shop::new(&store).await, Shop::new(&store).await);
        let google = CredentialProvider::Google;
        store.set_credential(shop.account, LEGACY, "sim_a", None, T0).await.unwrap();
        store.set_credential(shop.account, google, "k-1234", Some("1234"), T0).await.unwrap();
        assert_eq!(store.own_keys(shop.account).await.unwrap(), [(google, "k-1234".to_owned())]);
        assert_eq!(store.own_keys(stranger.account).await.unwrap(), []);
        let listed = store.credentials(shop.account).await.unwrap();
        let ends: Vec<_> = listed.into_iter().map(|one| (one.provider, one.last_characters)).collect();
        assert_eq!(ends, [(google, Some("1234".to_owned())), (LEGACY, None)]);
        store.remove_credential(shop.account, google, T0).await.unwrap();
        assert_eq!(store.own_keys(shop.account).await.unwrap(), []);
    }

    async fn what_came_of_asking_is_said_of_the_credential_that_was_asked_with(store: Store) {
        let shop = Shop::new(&store).await;
        let set = async |at| store.set_credential(shop.account, LEGACY, "sim_a", None, at).await.unwrap();
        let told = async || {
            let listed = store.credentials(shop.account).await.unwrap();
            (listed[0].asked_at, listed[0].last_error.clone())
        };
        let fails = async |began| store.credential_unanswered(shop.account, LEGACY, began, "busy").await.unwrap();
        set(T0).await;
        assert_eq!(told().await, (None, None));
        fails(after(1)).await;
        assert_eq!(told().await, (Some(after(1)), Some("busy".to_owned())));
        // A late result of the previous credential does not affect the new one, nor delay it.
        set(after(3)).await;
        fails(after(2)).await;
        let times = (after(2), after(4), after(4).plus(HOUR));
        store.sync_legacy_agents(shop.account, Vec::new(), times).await.unwrap();
        assert_eq!(told().await, (None, None));
        assert!(store.has_due_syncs(after(4)).await.unwrap());
        fails(after(5)).await;
        sync(&shop, &[("10", "Ana")], 6).await;
        assert_eq!(told().await, (Some(after(6)), None));
        assert!(!store.has_due_syncs(after(7)).await.unwrap());
        // It does not affect other accounts or other providers.
        store.set_credential(shop.account, CredentialProvider::VoicesA, "key", None, T0).await.unwrap();
        store.credential_unanswered(shop.account, CredentialProvider::VoicesA, after(8), "busy").await.unwrap();
        let listed = store.credentials(shop.account).await.unwrap();
        let failed: Vec<_> = listed.iter().filter(|one| one.last_error.is_some()).map(|one| one.provider).collect();
        assert_eq!(failed, [CredentialProvider::VoicesA]);
    }

    async fn a_credential_is_sealed_and_its_changes_are_in_the_audit_log(database: TestDatabase) {
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        store.set_credential(shop.account, LEGACY, "sim_secret", None, T0).await.unwrap();
        store.remove_credential(shop.account, LEGACY, T0).await.unwrap();
        store.set_credential(shop.account, LEGACY, "sim_secret", None, T0).await.unwrap();
        let mut raw = Raw::open(&database).await;
        let sealed = match store.is_embedded() {
            true => raw.line("SELECT hex(sealed) AS line FROM provider_credentials").await,
            false => raw.line("SELECT upper(encode(sealed, 'hex')) AS line FROM provider_credentials").await,
        };
        let plain: String = b"sim_secret".iter().map(|byte| format!("{byte:02X}")).collect();
        assert!(!sealed.contains(&plain));
        assert_eq!(raw.count("audit_log WHERE action = 'account.credential.set'").await, 2);
        assert_eq!(raw.count("audit_log WHERE action = 'account.credential.remove'").await, 1);
    }

    async fn a_due_account_is_taken_by_one_node_and_is_due_again_after_its_time(store: Store) {
        let shop = Shop::new(&store).await;
        store.set_credential(shop.account, LEGACY, "sim_a", None, T0).await.unwrap();
        store.set_credential(shop.account, CredentialProvider::Simulator, "sim_a", None, T0).await.unwrap();
        let minute = Duration::from_secs(60);
        assert!(!store.has_due_syncs(T0.minus(Duration::from_secs(1))).await.unwrap());
        assert!(store.has_due_syncs(after(1)).await.unwrap());
        let taken = race(6, |_| {
            let store = store.clone();
            async move { store.take_due_syncs(8, minute, after(1)).await.unwrap() }
        });
        assert_eq!(taken.await.concat(), [shop.account]);
        assert!(!store.has_due_syncs(after(1)).await.unwrap());
        // Its owner is gone: after the lease it is due again.
        assert_eq!(store.take_due_syncs(8, minute, after(60)).await.unwrap(), []);
        assert_eq!(store.take_due_syncs(8, minute, after(61)).await.unwrap(), [shop.account]);
        sync(&shop, &[], 62).await;
        assert_eq!(store.take_due_syncs(8, minute, after(3_661)).await.unwrap(), []);
        assert_eq!(store.take_due_syncs(8, minute, after(3_662)).await.unwrap(), [shop.account]);
    }

    async fn agents_come_change_go_and_come_back_as_their_provider_lists_them(store: Store) {
        let shop = Shop::new(&store).await;
        let synced = sync(&shop, &[("10", "Ana"), ("11", "Bea")], 1).await;
        assert_eq!(synced, Synced { listed: 2, added: 2, archived: 0 });
        let agents = legacy(&shop).await;
        let [ana, bea] = [&agents[0], &agents[1]];
        assert_eq!((ana.name.as_str(), ana.status, ana.head_version), ("Ana", AgentStatus::Active, 0));
        assert_eq!(ana.legacy_config.as_deref(), Some(r#"{"first_message": "Ana here"}"#));
        let numbers = store.numbers_of_agents(shop.account, vec![ana.id, bea.id]).await.unwrap();
        assert_eq!(numbers.len(), 2);
        assert_eq!(calls_from(&shop, ana.id).await, Some(phone("+15005560010")));

        // The same list changes nothing.
        assert_eq!(sync(&shop, &[("10", "Ana"), ("11", "Bea")], 2).await.added, 0);
        assert!(legacy(&shop).await.iter().all(|agent| agent.updated_at == after(1)));

        // A local name stays until the provider's own name changes.
        let change = AgentChange {
            head_version: 0,
            name: Some(("Anna".to_owned(), "anna".to_owned())),
            language: None,
            status: None,
            config: None,
            settings: None,
            at: after(3),
        };
        store.change_agent(shop.account, ana.id, change).await.unwrap().unwrap();
        let gone = sync(&shop, &[("10", "Ana")], 4).await;
        assert_eq!(gone, Synced { listed: 1, added: 0, archived: 1 });
        let agents = legacy(&shop).await;
        assert_eq!((agents[0].name.as_str(), agents[0].status), ("Anna", AgentStatus::Active));
        assert_eq!(agents[1].status, AgentStatus::Archived);
        assert_eq!(store.numbers_of_agents(shop.account, vec![bea.id]).await.unwrap(), []);
        assert_eq!(sync(&shop, &[("10", "Ana")], 5).await.archived, 0);
        let back = sync(&shop, &[("10", "Zoe"), ("11", "Bea")], 6).await;
        assert_eq!(back, Synced { listed: 2, added: 0, archived: 0 });
        let agents = legacy(&shop).await;
        assert_eq!((agents[0].name.as_str(), agents[1].status), ("Zoe", AgentStatus::Active));
        for (q, found) in [("zoe", vec![ana.id]), ("ann", vec![]), ("bea", vec![bea.id])] {
            let filter = AgentFilter { q: Some(q.to_owned()), ..AgentFilter::default() };
            let named = store.agents(shop.account, filter, None, 10).await.unwrap();
            assert_eq!(named.iter().map(|agent| agent.id).collect::<Vec<_>>(), found, "{q}");
        }
        assert_eq!((agents[0].id, agents[1].id), (ana.id, bea.id));
        let numbers = store.numbers_of_agents(shop.account, vec![bea.id]).await.unwrap();
        let numbers: Vec<_> = numbers.into_iter().map(|number| number.phone_number).collect();
        assert_eq!(numbers, [phone("+15005560011")], "what it had is its own again");
    }

    async fn a_call_goes_out_from_a_number_that_its_runtime_has(store: Store) {
        let shop = Shop::new(&store).await;
        let mut agents = vec![listed("10", "Ana"), listed("11", "Bea")];
        agents[1].numbers.clear();
        let times = (after(1), after(1), after(1).plus(HOUR));
        store.sync_legacy_agents(shop.account, agents, times).await.unwrap();
        let agents = legacy(&shop).await;
        let (ana, bea) = (agents[0].id, agents[1].id);
        let trunk = Lines { carrier: Some(NumberProvider::Sip), legacy_any: false };
        let from = async |agent, lines| {
            let found = store.agent_to_call(shop.account, AgentRef::Id(agent), lines);
            found.await.unwrap().unwrap().2
        };
        // Whichever carrier calls use here, the provider's agents use the provider's numbers.
        let theirs = Some(phone("+15005560010"));
        for lines in [Lines::default(), trunk] {
            assert_eq!((from(ana, lines).await, from(bea, lines).await), (theirs.clone(), theirs.clone()));
            assert_eq!(from(shop.agent, lines).await, None);
        }
        let own = PhoneNumber {
            id: mint(after(2)),
            account_id: shop.account,
            phone_number: phone("+15005550120"),
            label: String::new(),
            provider: NumberProvider::Sip,
            agent_id: None,
            created_at: T0,
            updated_at: T0,
            is_proven: true,
            at_legacy: false,
            by_credential: false,
        };
        add_number(&store, own.clone()).await;
        let ours = Some(own.phone_number);
        for lines in [Lines::default(), trunk] {
            assert_eq!((from(ana, lines).await, from(bea, lines).await), (theirs.clone(), theirs.clone()));
            assert_eq!(from(shop.agent, lines).await, ours);
        }
        // A provider that calls from any number uses the account's oldest for an agent without one.
        let any = Lines { legacy_any: true, ..Lines::default() };
        assert_eq!((from(ana, any).await, from(bea, any).await), (theirs, ours.clone()));
        // Without an agent, it is the account's.
        let number = store.numbers_of_agents(shop.account, vec![ana]).await.unwrap().remove(0);
        let free = NumberChange { label: None, agent: Some(None) };
        let account = shop.account;
        let freed = within(&store, move |mut tx| {
            Box::pin(async move { tx.change_number(account, number.id, free, after(3)).await })
        });
        assert!(freed.await.is_some());
        assert_eq!((from(ana, trunk).await, from(shop.agent, trunk).await), (None, ours));
    }

    async fn two_accounts_may_list_the_same_agents_but_a_number_is_the_firsts(store: Store) {
        let (shop, second) = (Shop::new(&store).await, Shop::new(&store).await);
        sync(&shop, &[("10", "Ana")], 1).await;
        sync(&second, &[("10", "Ana")], 1).await;
        assert_eq!(legacy(&second).await.len(), 1);
        let own = legacy(&shop).await[0].id;
        assert_eq!(store.numbers_of_agents(shop.account, vec![own]).await.unwrap().len(), 1);
        let other = legacy(&second).await[0].id;
        assert_eq!(store.numbers_of_agents(second.account, vec![other]).await.unwrap().len(), 0);
    }
}
