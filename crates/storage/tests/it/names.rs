//! Text search in names: pages match a full scan of all names, however names are added, changed and deleted.

use std::cmp::Reverse;

use offhook_domain::{AgentId, AgentStatus, DocumentId, Runtime, Timestamp};
use offhook_storage::{
    Agent, AgentChange, AgentFilter, Document, DocumentChange, DocumentFilter, NewDocument, Store,
};
use offhook_testkit::{TestDatabase, contract};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::it::documents::new_document;
use crate::it::raw::Raw;
use crate::it::shop::{Shop, after, new_agent, paged, within};

/// Few characters, so that every piece of a text is common and the text is rare.
const LETTERS: [char; 8] = ['a', 'a', 'a', 'b', 'b', '%', 'é', '😀'];

fn text(length: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    let letters = prop::collection::vec(prop::sample::select(&LETTERS[..]), length);
    letters.prop_map(String::from_iter)
}

/// A change to a list.
#[derive(Debug, Clone)]
enum Step {
    Make(String),
    Rename(usize, String),
    Delete(usize),
}

fn steps(count: usize, runner: &mut TestRunner) -> Vec<Step> {
    let one = prop_oneof![
        5 => text(1..9).prop_map(Step::Make),
        2 => (0..200_usize, text(0..9)).prop_map(|(which, name)| Step::Rename(which, name)),
        1 => (0..200_usize).prop_map(Step::Delete),
    ];
    let steps = prop::collection::vec(one, count).new_tree(runner);
    steps.unwrap().current()
}

fn texts(count: usize, runner: &mut TestRunner) -> Vec<String> {
    let texts = prop::collection::vec(text(0..6), count).new_tree(runner);
    texts.unwrap().current()
}

async fn agents(shop: &Shop, filter: &AgentFilter, limit: usize) -> Vec<AgentId> {
    let most = i64::try_from(limit).unwrap();
    let read = async |place| {
        let page = shop.store.agents(shop.account, filter.clone(), place, most);
        page.await
    };
    let found = paged(limit, |agent: &Agent| (agent.created_at, agent.id), read).await;
    found.iter().map(|agent| agent.id).collect()
}

async fn documents(shop: &Shop, filter: &DocumentFilter, limit: usize) -> Vec<DocumentId> {
    let most = i64::try_from(limit).unwrap();
    let key = |document: &Document| (document.created_at, document.id);
    let read = async |place| {
        let page = shop
            .store
            .documents(shop.account, filter.clone(), place, most);
        page.await
    };
    let found = paged(limit, key, read).await;
    found.iter().map(|document| document.id).collect()
}

fn renamed(agent: &Agent, name: &str, at: Timestamp) -> AgentChange {
    AgentChange {
        head_version: agent.head_version,
        name: Some((name.to_owned(), name.to_owned())),
        language: None,
        status: None,
        config: None,
        settings: None,
        at,
    }
}

/// The agents after these steps; every third one is a legacy agent.
async fn live_agents(shop: &Shop, steps: Vec<Step>) -> Vec<Agent> {
    let mut rows: Vec<Agent> = Vec::new();
    for (step, at) in steps.into_iter().zip(0_u64..) {
        match step {
            Step::Make(name) => {
                let mut new = new_agent(shop.account, &name);
                new.agent.created_at = after(at / 4);
                if rows.len().is_multiple_of(3) {
                    new.agent.runtime = Runtime::Legacy;
                }
                if rows.len() % 16 == 7 {
                    new.agent.status = AgentStatus::Paused;
                }
                rows.push(new.agent.clone());
                shop.store.create_agent(new).await.unwrap();
            }
            Step::Rename(which, name) if !rows.is_empty() => {
                let place = which % rows.len();
                let row = &mut rows[place];
                let change = renamed(row, &name, after(at));
                let changed = shop.store.change_agent(row.account_id, row.id, change);
                assert!(changed.await.unwrap().is_some());
                row.name = name;
            }
            // An archived agent is still in the list.
            Step::Delete(which) if !rows.is_empty() => {
                let place = which % rows.len();
                let row = &mut rows[place];
                if row.runtime == Runtime::Engine {
                    let archived = shop.store.archive_agent(shop.account, row.id, after(at));
                    archived.await.unwrap().unwrap();
                    row.status = AgentStatus::Archived;
                }
            }
            Step::Rename(..) | Step::Delete(_) => {}
        }
    }
    rows.sort_by_key(|row| Reverse((row.created_at, row.id)));
    rows
}

/// The documents after these steps.
async fn live_documents(shop: &Shop, steps: Vec<Step>) -> Vec<Document> {
    let mut rows: Vec<Document> = Vec::new();
    for (step, at) in steps.into_iter().zip(0_u64..) {
        match step {
            Step::Make(name) => {
                let new = NewDocument {
                    name_folded: name.clone(),
                    ..new_document(shop.account, &name, after(at / 4))
                };
                rows.push(new.document.clone());
                assert!(shop.store.create_document(new).await.unwrap());
            }
            Step::Rename(which, name) if !rows.is_empty() => {
                let place = which % rows.len();
                let row = &mut rows[place];
                let change = DocumentChange {
                    name: Some((name.clone(), name.clone())),
                    folder: None,
                };
                let (account, id) = (shop.account, row.id);
                let changed = within(&shop.store, move |mut tx| {
                    Box::pin(
                        async move { tx.change_document(account, id, change, after(at)).await },
                    )
                });
                assert!(changed.await.is_some());
                row.name = name;
            }
            Step::Delete(which) if !rows.is_empty() => {
                let row = rows.swap_remove(which % rows.len());
                let deleted = shop.store.delete_document(shop.account, row.id, after(at));
                assert!(deleted.await.unwrap().is_some());
            }
            Step::Rename(..) | Step::Delete(_) => {}
        }
    }
    rows.sort_by_key(|row| Reverse((row.created_at, row.id)));
    rows
}

contract! {
    async fn a_page_of_agents_with_a_text_is_what_a_look_at_every_name_finds(store: Store) {
        let mut runner = TestRunner::deterministic();
        let (shop, stranger) = (Shop::new(&store).await, Shop::new(&store).await);
        live_agents(&stranger, steps(40, &mut runner)).await;
        let mut all = live_agents(&shop, steps(200, &mut runner)).await;
        all.push(store.agent(shop.account, shop.agent).await.unwrap().unwrap());
        all.sort_by_key(|row| Reverse((row.created_at, row.id)));
        let mut shown = 0;
        for q in texts(60, &mut runner) {
            for (runtime, status) in [
                (None, None),
                (Some(Runtime::Legacy), None),
                (None, Some(AgentStatus::Paused)),
                (Some(Runtime::Engine), Some(AgentStatus::Archived)),
                (None, Some(AgentStatus::Draft)),
            ] {
                let expected: Vec<_> = all
                    .iter()
                    .filter(|row| row.name.to_lowercase().contains(&q))
                    .filter(|row| runtime.is_none_or(|runtime| row.runtime == runtime))
                    .filter(|row| status.is_none_or(|status| row.status == status))
                    .map(|row| row.id)
                    .collect();
                let filter = AgentFilter { runtime, status, q: Some(q.clone()) };
                for limit in [1, 4, 200] {
                    assert_eq!(agents(&shop, &filter, limit).await, expected, "{filter:?}, {limit} a page");
                }
                shown += expected.len();
            }
        }
        assert!(shown > 500, "{shown}");
    }

    async fn a_page_of_documents_with_a_text_is_what_a_look_at_every_name_finds(store: Store) {
        let mut runner = TestRunner::deterministic();
        let (shop, stranger) = (Shop::new(&store).await, Shop::new(&store).await);
        live_documents(&stranger, steps(40, &mut runner)).await;
        let all = live_documents(&shop, steps(200, &mut runner)).await;
        for q in texts(60, &mut runner) {
            for folder in [None, Some(None), Some(Some(offhook_storage::mint(after(1))))] {
                let is_there = !matches!(folder, Some(Some(_)));
                let expected: Vec<_> = all
                    .iter()
                    .filter(|row| is_there && row.name.contains(&q))
                    .map(|row| row.id)
                    .collect();
                let filter = DocumentFilter { folder, status: None, q: Some(q.clone()) };
                for limit in [1, 4, 200] {
                    assert_eq!(documents(&shop, &filter, limit).await, expected, "{filter:?}, {limit} a page");
                }
            }
        }
    }
}

mod only_sqlite {
    use diesel::prelude::*;

    use super::*;
    use crate::it::plans::Recorder;

    #[derive(QueryableByName)]
    struct Plan {
        #[diesel(sql_type = diesel::sql_types::Text)]
        detail: String,
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn names_are_looked_at_in_the_lists_order_and_along_its_filters() {
        let database = TestDatabase::sqlite();
        let recorder = Recorder::begin();
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        for number in 0..40 {
            let name = format!("row {number}");
            let agent = new_agent(shop.account, &name);
            store.create_agent(agent).await.unwrap();
            let document = new_document(shop.account, &name, after(number));
            assert!(store.create_document(document).await.unwrap());
        }
        recorder.take();
        for q in ["r", "row", "row 1", "none of them"] {
            let q = Some(q.to_owned());
            for status in [None, Some(AgentStatus::Draft)] {
                for runtime in [None, Some(Runtime::Engine)] {
                    let q = q.clone();
                    agents(&shop, &AgentFilter { runtime, status, q }, 3).await;
                }
            }
            for folder in [
                None,
                Some(None),
                Some(Some(offhook_storage::mint(after(1)))),
            ] {
                let q = q.clone();
                let status = None;
                documents(&shop, &DocumentFilter { folder, status, q }, 3).await;
            }
        }
        let statements = recorder.take();
        let Raw::Sqlite(mut conn) = Raw::open(&database).await else {
            panic!("SQLite's plans");
        };
        let mut lists = 0;
        // The store checkpoints its write-ahead log meanwhile; that is not a list.
        for statement in statements.iter().filter(|sql| sql.starts_with("SELECT")) {
            let sql = statement.split(" -- binds").next().unwrap();
            let plan: Vec<Plan> = diesel::sql_query(format!("EXPLAIN QUERY PLAN {sql}"))
                .load(&mut conn)
                .unwrap();
            let steps: Vec<String> = plan.into_iter().map(|step| step.detail).collect();
            for step in &steps {
                let walks = step.starts_with("SCAN") || step.contains("TEMP B-TREE");
                assert!(!walks, "{steps:?}\n{sql}");
            }
            lists += 1;
            let condition = sql.split(" WHERE ").nth(1).unwrap();
            for column in ["runtime", "status", "folder_id"] {
                let is_filter = condition.contains(&format!("`{column}`"));
                let entered = steps[0].contains(&format!("{column}=?"));
                assert!(entered || !is_filter, "{steps:?}\n{sql}");
            }
        }
        assert!(lists > 30, "{lists}");
    }
}
