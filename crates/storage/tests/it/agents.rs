//! Agents, their versions and their lists.

use std::collections::HashSet;

use offhook_domain::{AgentStatus, Runtime};
use offhook_storage::{AgentChange, AgentFilter, AgentRef, Lines, Publication, Store, StoreError};
use offhook_testkit::contract;

use crate::it::shop::{Shop, T0, after, new_agent, race};

fn change(head: i32, config: Option<&str>) -> AgentChange {
    AgentChange {
        head_version: head,
        name: None,
        language: None,
        status: None,
        config: config.map(str::to_owned),
        settings: None,
        at: after(1),
    }
}

async fn named(shop: &Shop, filter: AgentFilter) -> HashSet<String> {
    let page = shop
        .store
        .agents(shop.account, filter, None, 100)
        .await
        .unwrap();
    page.into_iter().map(|agent| agent.name).collect()
}

contract! {
    async fn a_new_agent_comes_back_as_it_was_made(store: Store) {
        let shop = Shop::new(&store).await;
        let (agent, config) = store
            .agent_with_config(shop.account, shop.agent, None)
            .await
            .unwrap()
            .unwrap();
        assert_eq!((agent.name.as_str(), agent.language.as_str()), ("Ana", "es-MX"));
        assert_eq!((agent.head_version, agent.published_version), (1, 1));
        assert_eq!((agent.created_at, agent.updated_at), (T0, T0));
        assert_eq!(config.as_deref(), Some(r#"{"version": 1}"#), "byte for byte");
        let stranger = Shop::new(&store).await;
        assert!(store.agent(stranger.account, shop.agent).await.unwrap().is_none());
    }

    async fn a_change_made_on_the_head_saves_the_next_version(store: Store) {
        let shop = Shop::new(&store).await;
        let mut next = change(1, Some("{}"));
        next.name = Some(("Bea".to_owned(), "bea".to_owned()));
        next.status = Some((AgentStatus::Active, AgentStatus::Paused));
        let (agent, config) = store.change_agent(shop.account, shop.agent, next).await.unwrap().unwrap();
        assert_eq!((agent.head_version, agent.published_version), (2, 1));
        assert_eq!((agent.name.as_str(), agent.status), ("Bea", AgentStatus::Paused));
        assert_eq!((agent.updated_at, config.as_deref()), (after(1), Some("{}")));
        let old = store.agent_with_config(shop.account, shop.agent, Some(1)).await.unwrap().unwrap();
        assert_eq!(old.1.as_deref(), Some(r#"{"version": 1}"#));
        let serving = store.agent_to_call(shop.account, AgentRef::Id(shop.agent), Lines::default()).await.unwrap().unwrap();
        assert_eq!(serving.1.as_deref(), Some(r#"{"version": 1}"#));
    }

    async fn a_change_without_a_config_saves_no_version(store: Store) {
        let shop = Shop::new(&store).await;
        let mut rename = change(1, None);
        rename.language = Some("pt-BR".to_owned());
        let (agent, _) = store.change_agent(shop.account, shop.agent, rename).await.unwrap().unwrap();
        assert_eq!((agent.head_version, agent.language.as_str()), (1, "pt-BR"));
        assert_eq!(agent.name, "Ana");
    }

    async fn a_change_made_on_an_older_head_or_status_is_refused(store: Store) {
        let shop = Shop::new(&store).await;
        let stranger = Shop::new(&store).await;
        for head in [0, 2] {
            let stale = store.change_agent(shop.account, shop.agent, change(head, Some("{}"))).await;
            assert!(stale.unwrap().is_none());
        }
        let mut stale = change(1, None);
        stale.status = Some((AgentStatus::Paused, AgentStatus::Active));
        assert!(store.change_agent(shop.account, shop.agent, stale).await.unwrap().is_none());
        let foreign = store.change_agent(stranger.account, shop.agent, change(1, Some("{}"))).await;
        assert!(foreign.unwrap().is_none());
        let (agent, _) = store.agent_with_config(shop.account, shop.agent, None).await.unwrap().unwrap();
        assert_eq!((agent.head_version, agent.updated_at), (1, T0));
    }

    async fn of_editors_that_race_exactly_one_wins(store: Store) {
        let shop = Shop::new(&store).await;
        for head in 1..=3 {
            let won = race(6, |editor| {
                let (shop, edit) = (shop.clone(), change(head, Some(&format!("{{\"editor\": {editor}}}"))));
                async move { shop.store.change_agent(shop.account, shop.agent, edit).await.unwrap() }
            });
            assert_eq!(won.await.iter().flatten().count(), 1);
        }
        let agent = store.agent(shop.account, shop.agent).await.unwrap().unwrap();
        assert_eq!(agent.head_version, 4);
    }

    async fn publishing_makes_a_version_serve_if_the_status_is_as_seen(store: Store) {
        let shop = Shop::new(&store).await;
        let mut draft = new_agent(shop.account, "Draft");
        (draft.agent.status, draft.agent.published_version) = (AgentStatus::Draft, 0);
        let id = draft.agent.id;
        store.create_agent(draft).await.unwrap();
        store.change_agent(shop.account, id, change(1, Some("{}"))).await.unwrap();
        let serving = store.agent_to_call(shop.account, AgentRef::Id(id), Lines::default()).await.unwrap().unwrap();
        assert_eq!(serving.1, None, "never published");

        let to = (AgentStatus::Draft, AgentStatus::Active);
        let publish = |version, statuses, note: Option<&str>| {
            let note = note.map(str::to_owned);
            let publication = Publication { version, statuses, note, tools: vec![], knowledge: Default::default(), at: after(2) };
            store.publish_agent(shop.account, id, publication)
        };
        let (agent, config) = publish(2, to, Some("first")).await.unwrap().unwrap();
        assert_eq!((agent.published_version, agent.status), (2, AgentStatus::Active));
        assert_eq!(config.as_deref(), Some("{}"));
        assert!(publish(1, to, None).await.unwrap().is_none(), "it is a draft no more");
        let stay = (AgentStatus::Active, AgentStatus::Active);
        assert!(publish(9, stay, None).await.unwrap().is_none(), "there is no such version");
        let (agent, _) = publish(1, stay, None).await.unwrap().unwrap();
        assert_eq!((agent.published_version, agent.head_version), (1, 2), "the rollback");
    }

    async fn versions_come_highest_first_and_page_by_number(store: Store) {
        let shop = Shop::new(&store).await;
        let stranger = Shop::new(&store).await;
        for head in 1..=4 {
            store.change_agent(shop.account, shop.agent, change(head, Some("{}"))).await.unwrap().unwrap();
        }
        let numbers = |before, limit| {
            let (store, shop) = (store.clone(), shop.clone());
            async move {
                let found = store.agent_versions(shop.account, shop.agent, before, limit).await.unwrap().unwrap();
                assert_eq!(found.0.id, shop.agent);
                found.1.iter().map(|version| version.version).collect::<Vec<_>>()
            }
        };
        assert_eq!(numbers(None, 2).await, [5, 4, 3], "one more than asked for says that there is a next page");
        assert_eq!(numbers(Some(4), 2).await, [3, 2, 1]);
        assert_eq!(numbers(Some(2), 2).await, [1]);
        assert!(store.agent_versions(stranger.account, shop.agent, None, 2).await.unwrap().is_none());
        let (_, found) = store.agent_version(shop.account, shop.agent, 1).await.unwrap().unwrap();
        let (first, config) = found.unwrap();
        assert_eq!((first.version, first.created_at, first.note), (1, T0, None));
        assert_eq!(config, r#"{"version": 1}"#);
        let (_, absent) = store.agent_version(shop.account, shop.agent, 6).await.unwrap().unwrap();
        assert!(absent.is_none());
        assert!(store.agent_version(stranger.account, shop.agent, 1).await.unwrap().is_none());
    }

    async fn an_archived_agent_stays_as_it_is(store: Store) {
        let shop = Shop::new(&store).await;
        let stranger = Shop::new(&store).await;
        assert!(store.archive_agent(stranger.account, shop.agent, after(1)).await.unwrap().is_none());
        let archived = store.archive_agent(shop.account, shop.agent, after(2)).await.unwrap().unwrap();
        assert_eq!((archived.status, archived.updated_at), (AgentStatus::Archived, after(2)));
        let again = store.archive_agent(shop.account, shop.agent, after(3)).await.unwrap().unwrap();
        assert_eq!((again.status, again.updated_at), (AgentStatus::Archived, after(2)));
        let mut legacy = new_agent(shop.account, "Legacy");
        legacy.agent.runtime = Runtime::Legacy;
        let id = legacy.agent.id;
        store.create_agent(legacy).await.unwrap();
        let untouched = store.archive_agent(shop.account, id, after(3)).await.unwrap().unwrap();
        assert_eq!(untouched.status, AgentStatus::Active);
    }

    async fn a_provider_id_names_one_agent_of_the_account(store: Store) {
        let (shop, other) = (Shop::new(&store).await, Shop::new(&store).await);
        let legacy = |account| {
            let mut agent = new_agent(account, "Legacy");
            agent.agent.runtime = Runtime::Legacy;
            agent.agent.provider_agent_id = Some("agent_9".to_owned());
            agent
        };
        let mine = legacy(shop.account);
        let id = mine.agent.id;
        store.create_agent(mine).await.unwrap();
        store.create_agent(legacy(other.account)).await.unwrap();
        let second = store.create_agent(legacy(shop.account)).await;
        assert!(matches!(second, Err(StoreError::Conflict(_))), "{second:?}");
        let found = store.agent_to_call(shop.account, AgentRef::Provider("agent_9".to_owned()), Lines::default()).await;
        assert_eq!(found.unwrap().unwrap().0.id, id);
        let absent = store.agent_to_call(shop.account, AgentRef::Provider("AGENT_9".to_owned()), Lines::default()).await;
        assert!(absent.unwrap().is_none());
    }

    async fn text_to_look_for_is_taken_as_it_stands(store: Store) {
        let shop = Shop::new(&store).await;
        for name in ["100% ok", "100 ok", "a_b", "axb", r"c\d", "cd", "ñandú"] {
            store.create_agent(new_agent(shop.account, name)).await.unwrap();
        }
        for (q, expected) in [
            ("0%", vec!["100% ok"]),
            ("a_", vec!["a_b"]),
            (r"\", vec![r"c\d"]),
            (r"c\d", vec![r"c\d"]),
            ("andú", vec!["ñandú"]),
            ("%", vec!["100% ok"]),
            ("zzz", vec![]),
        ] {
            let filter = AgentFilter { q: Some(q.to_owned()), ..Default::default() };
            let expected: HashSet<_> = expected.into_iter().map(str::to_owned).collect();
            assert_eq!(named(&shop, filter).await, expected, "{q}");
        }
    }

    async fn lists_filter_by_runtime_and_status_and_page_by_key(store: Store) {
        let shop = Shop::new(&store).await;
        let mut legacy = new_agent(shop.account, "Old");
        legacy.agent.runtime = Runtime::Legacy;
        store.create_agent(legacy).await.unwrap();
        let mut paused = new_agent(shop.account, "Idle");
        paused.agent.status = AgentStatus::Paused;
        store.create_agent(paused).await.unwrap();
        let only = |name: &str| HashSet::from([name.to_owned()]);
        let filter = AgentFilter { runtime: Some(Runtime::Legacy), ..Default::default() };
        assert_eq!(named(&shop, filter).await, only("Old"));
        let filter = AgentFilter { status: Some(AgentStatus::Paused), ..Default::default() };
        assert_eq!(named(&shop, filter).await, only("Idle"));

        let first = store.agents(shop.account, AgentFilter::default(), None, 2).await.unwrap();
        assert_eq!(first.len(), 3, "one more than asked for says that there is a next page");
        let key = (first[1].created_at, first[1].id);
        let rest = store.agents(shop.account, AgentFilter::default(), Some(key), 2).await.unwrap();
        assert_eq!(rest.iter().map(|a| a.id).collect::<Vec<_>>(), [first[2].id]);
    }
}
