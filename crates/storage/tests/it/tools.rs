//! Tools, and the tools that versions pin.

use std::collections::HashSet;

use offhook_domain::{AccountId, AgentStatus, Timestamp, ToolId};
use offhook_storage::{Publication, Store, StoreError, ToolChange, ToolRow, ToolToPin, mint};
use offhook_testkit::contract;

use crate::it::shop::{Shop, T0, after, paged, race};

fn new_tool(account_id: AccountId, name: &str, at: Timestamp) -> ToolRow {
    ToolRow {
        id: mint(at),
        account_id,
        name: name.to_owned(),
        definition: format!("{{\"name\": \"{name}\"}}"),
        revision: 1,
        created_at: at,
        updated_at: at,
    }
}

fn change(revision: i32, name: &str, headers: Option<&str>) -> ToolChange {
    ToolChange {
        revision,
        name: name.to_owned(),
        definition: format!("{{\"name\": \"{name}\"}}"),
        headers: headers.map(str::to_owned),
        at: after(5),
    }
}

/// A tool to pin with words of its server.
fn pin(id: ToolId) -> ToolToPin {
    ToolToPin {
        id,
        revision: 1,
        definition: format!("{{\"id\": \"{id}\"}}"),
    }
}

fn publication(version: i32, tools: Vec<ToolToPin>) -> Publication {
    Publication {
        version,
        statuses: (AgentStatus::Active, AgentStatus::Active),
        note: None,
        tools,
        knowledge: Default::default(),
        at: after(3),
    }
}

contract! {
    async fn a_tool_comes_back_with_the_values_of_its_headers(store: Store) {
        let (shop, stranger) = (Shop::new(&store).await, Shop::new(&store).await);
        let tool = new_tool(shop.account, "look", T0);
        let id = tool.id;
        assert!(store.create_tool(tool, Some("{\"A\":\"s3cret\"}"), 64).await.unwrap());
        let (row, headers) = store.tool_with_headers(shop.account, id).await.unwrap().unwrap();
        assert_eq!((row.name.as_str(), row.definition.as_str()), ("look", "{\"name\": \"look\"}"));
        assert_eq!((row.revision, row.created_at, row.updated_at), (1, T0, T0));
        assert_eq!(headers.as_deref(), Some("{\"A\":\"s3cret\"}"));
        assert!(store.tool(stranger.account, id).await.unwrap().is_none());
        assert!(!store.delete_tool(stranger.account, id).await.unwrap());
        assert!(store.change_tool(stranger.account, id, change(1, "x", None)).await.unwrap().is_none());
        assert!(store.delete_tool(shop.account, id).await.unwrap());
        assert!(store.tool(shop.account, id).await.unwrap().is_none());
        assert!(!store.delete_tool(shop.account, id).await.unwrap());
    }

    async fn a_name_is_one_tools_of_the_account(store: Store) {
        let (shop, other) = (Shop::new(&store).await, Shop::new(&store).await);
        assert!(store.create_tool(new_tool(shop.account, "look", T0), None, 64).await.unwrap());
        assert!(store.create_tool(new_tool(other.account, "look", T0), None, 64).await.unwrap());
        let second = store.create_tool(new_tool(shop.account, "look", T0), None, 64).await;
        assert!(matches!(second, Err(StoreError::Conflict(_))), "{second:?}");
        let ring = new_tool(shop.account, "ring", T0);
        let id = ring.id;
        assert!(store.create_tool(ring, None, 64).await.unwrap());
        let renamed = store.change_tool(shop.account, id, change(1, "look", None)).await;
        assert!(matches!(renamed, Err(StoreError::Conflict(_))), "{renamed:?}");
        let same = store.change_tool(shop.account, id, change(1, "ring", None)).await.unwrap().unwrap();
        assert_eq!((same.revision, same.updated_at), (2, after(5)));
        assert!(store.change_tool(shop.account, id, change(1, "bell", None)).await.unwrap().is_none(), "stale");
    }

    async fn an_account_has_at_most_so_many_tools_also_when_they_race(store: Store) {
        let shop = Shop::new(&store).await;
        let made = race(12, |number| {
            let (store, tool) = (store.clone(), new_tool(shop.account, &format!("t{number}"), T0));
            async move { store.create_tool(tool, None, 5).await.unwrap() }
        });
        assert_eq!(made.await.iter().filter(|made| **made).count(), 5);
    }

    async fn pages_of_tools_show_each_once(store: Store) {
        let shop = Shop::new(&store).await;
        let mut made = HashSet::new();
        for number in 0..7 {
            let tool = new_tool(shop.account, &format!("t{number}"), after(number / 3));
            made.insert(tool.id);
            store.create_tool(tool, None, 64).await.unwrap();
        }
        let key = |tool: &ToolRow| (tool.created_at, tool.id);
        let seen = paged(2, key, async |place| store.tools(shop.account, place, 2).await).await;
        assert_eq!(seen.len(), 7);
        assert_eq!(seen.iter().map(|tool| tool.id).collect::<HashSet<_>>(), made);
    }

    async fn what_a_version_pinned_stays_through_changes_deletion_and_a_second_publication(store: Store) {
        let (shop, stranger) = (Shop::new(&store).await, Shop::new(&store).await);
        let mut ids = Vec::new();
        for (name, headers) in [("b", Some("s3cret")), ("a", None)] {
            let tool = new_tool(shop.account, name, T0);
            ids.push(tool.id);
            store.create_tool(tool, headers, 64).await.unwrap();
        }
        let known = store.known_tools(shop.account, vec![ids[0], mint(T0)]).await.unwrap();
        assert_eq!(known, [(ids[0], "b".to_owned())]);
        assert!(store.known_tools(stranger.account, ids.clone()).await.unwrap().is_empty());

        let publish = |tools: Vec<ToolToPin>| store.publish_agent(shop.account, shop.agent, publication(1, tools));
        assert!(publish(vec![pin(ids[0]), pin(mint(T0))]).await.unwrap().is_none(), "one is gone");
        let stale = ToolToPin { revision: 0, ..pin(ids[0]) };
        assert!(publish(vec![stale]).await.unwrap().is_none(), "it has changed");
        assert!(store.pinned_tools(shop.account, shop.agent, 1).await.unwrap().is_empty());
        publish(ids.iter().copied().map(pin).collect()).await.unwrap().unwrap();
        let pinned = || async {
            let pinned = store.pinned_tools(shop.account, shop.agent, 1).await.unwrap();
            pinned.into_iter().map(|tool| (tool.id, tool.definition, tool.headers)).collect::<Vec<_>>()
        };
        let expected = [
            (ids[0], pin(ids[0]).definition, Some("s3cret".to_owned())),
            (ids[1], pin(ids[1]).definition, None),
        ];
        assert_eq!(pinned().await, expected);
        store.change_tool(shop.account, ids[0], change(1, "c", Some("other"))).await.unwrap().unwrap();
        assert!(store.delete_tool(shop.account, ids[1]).await.unwrap());
        assert_eq!(pinned().await, expected);
        publish(ids.iter().copied().map(pin).collect()).await.unwrap().unwrap();
        assert_eq!(pinned().await, expected, "a published version is immutable");
        let users = store.tool_users(shop.account).await.unwrap();
        let users: Vec<_> = users.into_iter().map(|(tool, agent)| (tool, agent.id)).collect();
        assert_eq!(users.len(), ids.len());
        assert!(ids.iter().all(|id| users.contains(&(*id, shop.agent))), "{users:?}");
        assert!(store.tool_users(stranger.account).await.unwrap().is_empty());
        assert!(store.pinned_tools(stranger.account, shop.agent, 1).await.unwrap().is_empty());
    }
}
