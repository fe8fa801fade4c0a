//! Every filter of every list is a column at the start of an index, so that a page of a rare value costs no more than
//! any page. The tests check the statements that the store sends. Text search in names (`q`) uses an n-gram index
//! (`names.rs`).

use offhook_domain::{
    AgentStatus, BatchStatus, DocumentStatus, EventType, Runtime, TransactionType,
};
use offhook_storage::{
    AgentFilter, BatchFilter, DeliveryFilter, DeliveryState, DocumentFilter, LedgerFilter,
    LogFilter, StatusFilter, mint,
};
use offhook_testkit::TestDatabase;

use crate::it::plans::Recorder;
use crate::it::raw::Raw;
use crate::it::shop::{Shop, T0, after};

/// The first page and a later one, with each filter alone, combined if a reader can combine them, and within a period
/// if there is one.
pub(crate) async fn read_with_every_filter(shop: &Shop) {
    let (store, account) = (&shop.store, shop.account);
    for runtime in [None, Some(Runtime::Legacy)] {
        for status in [None, Some(AgentStatus::Paused)] {
            let filter = AgentFilter {
                runtime,
                status,
                q: None,
            };
            for place in [None, Some((after(50), mint(after(50))))] {
                let read = store.agents(account, filter.clone(), place, 20);
                read.await.unwrap();
            }
        }
    }
    for folder in [None, Some(None), Some(Some(mint(T0)))] {
        for status in [None, Some(DocumentStatus::Failed)] {
            let filter = DocumentFilter {
                folder,
                status,
                q: None,
            };
            for place in [None, Some((after(50), mint(after(50))))] {
                let read = store.documents(account, filter.clone(), place, 20);
                read.await.unwrap();
            }
        }
    }
    for place in [None, Some((after(50), mint(after(50))))] {
        for agent in [None, Some(shop.agent)] {
            store.numbers(account, agent, place, 20).await.unwrap();
        }
    }
    for place in [None, Some((after(50), mint(after(50))))] {
        for agent in [None, Some(shop.agent)] {
            for status in [None, Some(BatchStatus::Failed)] {
                let filter = BatchFilter { status, agent };
                store.batches(account, filter, place, 20).await.unwrap();
            }
        }
    }
    for place in [None, Some((after(50), mint(after(50))))] {
        store.tools(account, place, 20).await.unwrap();
    }
    for place in [None, Some((after(50), mint(after(50))))] {
        store.folders(account, place, 20).await.unwrap();
    }
    for period in [None, Some((after(10), after(9_000)))] {
        let (since, until) = period.unzip();
        for place in [None, Some((after(50), mint(after(50))))] {
            for (state, kind) in [
                (None, None),
                (Some(DeliveryState::Exhausted), None),
                (None, Some(EventType::CallFailed)),
                (Some(DeliveryState::Exhausted), Some(EventType::CallFailed)),
            ] {
                let filter = DeliveryFilter {
                    state,
                    kind,
                    endpoint: None,
                    since,
                    until,
                };
                store.deliveries(account, filter, place, 20).await.unwrap();
            }
        }
        for place in [None, Some(7)] {
            for kind in [None, Some(TransactionType::Refund)] {
                let filter = LedgerFilter { kind, since, until };
                store.ledger(account, filter, place, 20).await.unwrap();
            }
        }
        for filter in log_filters(shop) {
            let filter = LogFilter {
                since,
                until,
                ..filter
            };
            for place in [None, Some((after(50), mint(after(50))))] {
                let read = store.log_entries(account, filter.clone(), place, 20);
                read.await.unwrap();
            }
        }
    }
    for place in [None, Some(7)] {
        store.invoices(account, place, 20).await.unwrap();
        let versions = store.agent_versions(account, shop.agent, place, 20);
        versions.await.unwrap();
    }
}

fn log_filters(shop: &Shop) -> Vec<LogFilter> {
    let none = LogFilter::default;
    vec![
        none(),
        LogFilter {
            status: Some(StatusFilter::Code(404)),
            ..none()
        },
        LogFilter {
            status: Some(StatusFilter::Class(4)),
            ..none()
        },
        LogFilter {
            method: Some("POST".to_owned()),
            ..none()
        },
        LogFilter {
            path: Some("/v1/calls".to_owned()),
            ..none()
        },
        LogFilter {
            key: Some(shop.key),
            ..none()
        },
        LogFilter {
            request: Some(mint(T0)),
            ..none()
        },
    ]
}

/// The columns that a statement compares with a value, with the operator.
fn compared(statement: &str) -> Vec<(String, &str)> {
    let condition = statement.split(" WHERE ").nth(1).unwrap_or("");
    let ends = condition.find(" ORDER BY ").unwrap_or(condition.len());
    let mut found = Vec::new();
    let mut words = condition[..ends].split_whitespace().peekable();
    while let Some(word) = words.next() {
        if let Some(how @ ("=" | "<=" | ">=")) = words.peek().copied() {
            let column = word.rsplit('.').next().unwrap_or(word);
            found.push((column.trim_matches(['"', '(', ')']).to_owned(), how));
        }
    }
    found
}

mod only_sqlite {
    use super::*;
    use crate::it::plans::only_sqlite::plan;

    #[tokio::test(flavor = "multi_thread")]
    async fn every_filter_is_what_an_index_is_entered_by() {
        let database = TestDatabase::sqlite();
        let recorder = Recorder::begin();
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let mut raw = Raw::open(&database).await;
        recorder.take();
        read_with_every_filter(&shop).await;
        let statements = recorder.take();
        assert!(statements.len() > 80, "{}", statements.len());
        let mut seen = 0;
        for statement in statements {
            let sql = statement.split(" -- binds").next().unwrap();
            if !sql.contains(" ORDER BY ") {
                continue;
            }
            let plan = plan(&mut raw, &statement).join("\n");
            assert!(!plan.contains("TEMP B-TREE"), "{plan}\n{statement}");
            for (column, how) in compared(sql) {
                // SQLite prints the bounds of a range without the equality.
                let entered = match how {
                    // An id holds the millisecond of its request.
                    "=" if column == "request_id" => "created_at>? AND created_at<?".to_owned(),
                    "=" => format!("{column}=?"),
                    range => format!("{column}{}?", &range[..1]),
                };
                assert!(plan.contains(&entered), "{entered}: {plan}\n{statement}");
                seen += 1;
            }
        }
        assert!(seen > 200, "{seen}");
    }
}
