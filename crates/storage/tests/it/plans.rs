//! Pages come in order from an index, and workers never scan the tables. The tests check the statements that the
//! store sends.

use std::time::Duration;

use std::cell::RefCell;
use std::sync::{Arc, Mutex};

use diesel::connection::{Instrumentation, InstrumentationEvent, set_default_instrumentation};
use diesel::prelude::*;
use offhook_domain::{CallState, Channel, ConversationStatus, Outcome};
use offhook_storage::{ClaimSlots, ClaimedWork, ConversationFilter, DELIVERIES_KEPT, mint};
use offhook_testkit::TestDatabase;

use crate::it::filters::read_with_every_filter;
use crate::it::raw::Raw;
use crate::it::shop::{CANCELLED, CUSTOMER, Shop, T0, after, node, phone, settlement};

/// Records the statements of connections opened on the thread that began it.
#[derive(Clone, Default)]
pub(crate) struct Recorder(Arc<Mutex<Vec<String>>>);

thread_local! {
    static RECORDER: RefCell<Option<Recorder>> = const { RefCell::new(None) };
}

impl Recorder {
    pub(crate) fn begin() -> Self {
        let recorder = Self::default();
        RECORDER.set(Some(recorder.clone()));
        set_default_instrumentation(|| {
            let recorder = RECORDER.with_borrow(Clone::clone)?;
            Some(Box::new(recorder))
        })
        .unwrap();
        recorder
    }

    /// The statements since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Instrumentation for Recorder {
    fn on_connection_event(&mut self, event: InstrumentationEvent<'_>) {
        if let InstrumentationEvent::StartQuery { query, .. } = event {
            let statement = query.to_string();
            // Probes of PostgreSQL run all the time, outside transactions.
            if statement != "SELECT 1" {
                self.0.lock().unwrap().push(statement);
            }
        }
    }
}

/// Runs every form of a list's query, first page and a later one.
async fn read_every_list(shop: &Shop) {
    let store = &shop.store;
    let none = ConversationFilter::default();
    let mut filters = vec![
        none.clone(),
        ConversationFilter {
            agent: Some(shop.agent),
            ..none.clone()
        },
        ConversationFilter {
            phone: Some(phone(CUSTOMER)),
            ..none.clone()
        },
        ConversationFilter {
            agent: Some(shop.agent),
            status: Some(ConversationStatus::Failed),
            ..none.clone()
        },
    ];
    for status in [ConversationStatus::Completed, ConversationStatus::Failed] {
        filters.push(ConversationFilter {
            status: Some(status),
            ..none.clone()
        });
    }
    for outcome in [Outcome::Silent, Outcome::Failed] {
        filters.push(ConversationFilter {
            outcome: Some(outcome),
            ..none.clone()
        });
    }
    for channel in [
        Channel::Phone,
        Channel::Chat,
        Channel::Whatsapp,
        Channel::Unknown,
    ] {
        filters.push(ConversationFilter {
            channel: Some(channel),
            ..none.clone()
        });
    }
    for filter in filters.clone() {
        filters.push(ConversationFilter {
            voice_only: true,
            ..filter
        });
    }
    for filter in filters.clone() {
        filters.push(ConversationFilter {
            since: Some(after(10)),
            until: Some(after(9_000)),
            ..filter
        });
    }
    for filter in filters {
        for place in [None, Some((after(5_000), mint(after(5_000))))] {
            store
                .conversations(shop.account, filter.clone(), place, 20)
                .await
                .unwrap();
        }
    }
    for place in [None, Some((after(5_000), mint(after(5_000))))] {
        let now = after(5_000);
        store.team(shop.account, place, 20, now).await.unwrap();
    }
    store.connections(shop.account).await.unwrap();
    read_with_every_filter(shop).await;
    for place in [None, Some((after(5_000), mint(after(5_000))))] {
        store.endpoints(shop.account, place, 20).await.unwrap();
    }
    let placing = store.placing_request(shop.account, mint(T0));
    assert_eq!(placing.await.unwrap(), None);
}

/// Whether the statement looks up the request that placed a call.
fn is_placing(statement: &str) -> bool {
    statement.contains("request_logs.method = 'POST'")
}

/// The work of the workers every second, and of every call.
async fn work(shop: &Shop) {
    let store = &shop.store;
    let endpoint = shop.endpoint().await;
    let queued = shop.place(T0).await;
    let ended = settlement(CallState::Failed, 0);
    store
        .end_queued_call((shop.account, queued), CANCELLED, ended)
        .await
        .unwrap();
    store.waiting_accounts().await.unwrap();
    store.queue_length().await.unwrap();
    store
        .overdue_calls(Duration::from_secs(120), after(1))
        .await
        .unwrap();
    store.live_calls(shop.account).await.unwrap();
    let me = node();
    store.hangups(me).await.unwrap();
    let (id, claim) = shop.closing(me).await;
    store.renew_claims(&[(id, claim)]).await.unwrap();
    let settled = settlement(CallState::Completed, 1);
    store
        .settle_call((shop.account, id, claim), settled)
        .await
        .unwrap();
    store.take_orphans(true, 10, node(), T0).await.unwrap();
    store.take_orphans(false, 10, node(), T0).await.unwrap();
    store.purge_keys(T0).await.unwrap();
    store
        .purge_log_entries(shop.account, T0, 500)
        .await
        .unwrap();
    store
        .ended_conversations_before(shop.account, (T0, Some((T0, mint(T0)))), 50)
        .await
        .unwrap();
    store
        .delete_conversations(shop.account, vec![(mint(T0), false)])
        .await
        .unwrap();
    store.retention_windows().await.unwrap();
    store.take_job("retention", node(), T0).await.unwrap();
    store.due_endpoints(T0).await.unwrap();
    store.due_resends().await.unwrap();
    store.delivery_backlog().await.unwrap();
    let slots = vec![ClaimSlots {
        endpoint,
        firsts: 8,
        retries: 8,
        resends: 8,
    }];
    let claimed = store
        .claim_deliveries(slots, vec![], (after(60), after(60)))
        .await
        .unwrap();
    let claimed: Vec<ClaimedWork> = claimed.iter().map(ClaimedWork::from).collect();
    assert!(!claimed.is_empty());
    store
        .recheck_claims(endpoint, claimed, after(60))
        .await
        .unwrap();
    let later = T0.plus(DELIVERIES_KEPT).plus(DELIVERIES_KEPT);
    store.delete_old_deliveries(later).await.unwrap();
    store.clear_old_bodies(later).await.unwrap();
    store.transcript(shop.account, id, None, 10).await.unwrap();
    let change = offhook_storage::EndpointChange {
        status: Some(offhook_storage::EndpointStatus::Disabled),
        ..Default::default()
    };
    store
        .change_endpoint(shop.account, endpoint, change, T0)
        .await
        .unwrap();
    store.endpoints_to_cancel().await.unwrap();
    store.cancel_open_deliveries(endpoint).await.unwrap();
}

pub(crate) mod only_sqlite {
    use super::*;

    #[derive(QueryableByName)]
    struct Step {
        #[diesel(sql_type = diesel::sql_types::Text)]
        detail: String,
    }

    pub(crate) fn plan(raw: &mut Raw, statement: &str) -> Vec<String> {
        let Raw::Sqlite(conn) = raw else {
            panic!("SQLite's plans");
        };
        let sql = statement.split(" -- binds").next().unwrap();
        let steps: Vec<Step> = diesel::sql_query(format!("EXPLAIN QUERY PLAN {sql}"))
            .load(conn)
            .unwrap();
        steps.into_iter().map(|step| step.detail).collect()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn every_page_comes_in_order_from_an_index() {
        let database = TestDatabase::sqlite();
        let recorder = Recorder::begin();
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        shop.endpoint().await;
        let mut raw = Raw::open(&database).await;
        recorder.take();
        read_every_list(&shop).await;
        let statements = recorder.take();
        assert!(statements.len() > 80, "{}", statements.len());
        for statement in statements {
            for step in plan(&mut raw, &statement) {
                let ordered = !step.contains("TEMP B-TREE");
                assert!(ordered && !step.starts_with("SCAN"), "{step}\n{statement}");
                let exact = step.contains("request_logs_resource") == is_placing(&statement);
                assert!(exact, "{step}\n{statement}");
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn workers_touch_only_rows_with_work() {
        let database = TestDatabase::sqlite();
        let recorder = Recorder::begin();
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let mut raw = Raw::open(&database).await;
        recorder.take();
        work(&shop).await;
        // Indexes that only hold rows with work, and tables with few rows.
        let small = [
            "conversations_queued",
            "conversations_claims",
            "deliveries_due",
            "resends",
            "accounts",
            "skip",
            "first",
            "CONSTANT ROW",
        ];
        for statement in recorder.take() {
            let verb = statement.split(' ').next().unwrap_or("");
            if !["SELECT", "UPDATE", "DELETE", "WITH"].contains(&verb) {
                continue;
            }
            for step in plan(&mut raw, &statement) {
                let walks = step.starts_with("SCAN") && !small.iter().any(|s| step.contains(s));
                assert!(!walks, "{step}\n{statement}");
            }
        }
    }
}

pub(crate) mod only_postgres {
    use super::*;

    /// The statement with its bound values filled in.
    pub(crate) fn with_values(statement: &str) -> String {
        let (sql, binds) = statement.split_once(" -- binds: [").unwrap();
        let binds: Vec<_> = binds.trim_end_matches(']').split(", ").collect();
        let mut sql = sql.to_owned();
        for (at, bind) in binds.iter().enumerate().rev() {
            sql = sql.replace(&format!("${}", at + 1), bind);
        }
        sql
    }

    async fn fill(raw: &mut Raw, shop: &Shop) {
        let endpoint = shop.endpoint().await;
        let (account, agent, at) = (
            raw.id(shop.account.uuid()),
            raw.id(shop.agent.uuid()),
            raw.at(T0),
        );
        let endpoint = raw.id(endpoint.uuid());
        raw.run(&format!(
            "INSERT INTO conversations (id, account_id, agent_id, agent_ref, agent_version, runtime, channel, voice, \
               state, status, to_number, customer_phone, metadata, price_millicredits, started_at, has_audio, \
               messages_count, last_seq, hangup_requested) \
             SELECT gen_random_uuid(), {account}, {agent}, '', 1, 'engine', \
               CASE WHEN n % 100 = 0 THEN NULL WHEN n % 10 = 0 THEN 'chat' ELSE 'phone' END, n % 10 <> 0, \
               'completed', CASE WHEN n % 100 = 1 THEN 'failed' ELSE 'completed' END, '+1500555' || (n % 1000), \
               CASE WHEN n % 1000 = 0 THEN '{CUSTOMER}' ELSE '+1500555' || (n % 1000) END, '{{}}', 0, \
               {at} + n * interval '1 second', false, 0, 0, false \
             FROM generate_series(1, 20000) n"
        ))
        .await;
        raw.run(&format!(
            "INSERT INTO events SELECT gen_random_uuid(), {account}, id, 'call.initiated', '', started_at \
             FROM conversations; \
             INSERT INTO deliveries (id, account_id, endpoint_id, event_id, event_type, state, attempts_count, \
               abandoned_count, created_at) \
             SELECT gen_random_uuid(), account_id, {endpoint}, id, \
               CASE WHEN random() < 0.01 THEN 'call.failed' ELSE 'call.completed' END, \
               CASE WHEN random() < 0.01 THEN 'exhausted' ELSE 'delivered' END, 1, 0, created_at FROM events; \
             INSERT INTO request_logs \
             SELECT gen_random_uuid(), {account}, gen_random_uuid(), \
               CASE WHEN n % 100 = 0 THEN {key} ELSE gen_random_uuid() END, 'service_live_01234567', \
               CASE WHEN n % 100 = 0 THEN 'POST' ELSE 'GET' END, '/v1/calls/' || n % 1000, \
               CASE WHEN n % 100 = 0 THEN 404 ELSE 200 END, CASE WHEN n % 100 = 0 THEN 4 ELSE 2 END, NULL, \
               '203.0.113.9', 1, {at} + n * interval '1 second', 'conversation', gen_random_uuid() \
             FROM generate_series(1, 20000) n; \
             ANALYZE",
            key = raw.id(shop.key.uuid()),
        ))
        .await;
    }

    /// Needs a single thread, so that the pool opens its connections where the recorder began.
    #[tokio::test]
    #[ignore = "needs PostgreSQL: just test"]
    async fn with_20000_rows_every_page_comes_in_order_from_an_index() {
        let database = TestDatabase::postgres().await;
        let recorder = Recorder::begin();
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let mut raw = Raw::open(&database).await;
        fill(&mut raw, &shop).await;
        recorder.take();
        read_every_list(&shop).await;
        let statements: Vec<_> = recorder
            .take()
            .into_iter()
            .filter(|statement| {
                statement.contains("FROM (\"conversations\"")
                    || statement.contains("FROM \"deliveries\"")
                    || statement.contains("FROM \"request_logs\"")
            })
            .collect();
        assert!(statements.len() > 80, "{}", statements.len());
        for statement in statements {
            let sql = with_values(&statement);
            let Raw::Postgres(client) = &raw else {
                panic!("PostgreSQL's plans");
            };
            let rows = client.query(&format!("EXPLAIN {sql}"), &[]).await.unwrap();
            let plan: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
            let plan = plan.join("\n");
            for step in [
                "Seq Scan on conversations",
                "Seq Scan on deliveries",
                "Seq Scan on request_logs",
                "Sort  (",
            ] {
                assert!(!plan.contains(step), "{plan}\n{sql}");
            }
            let exact = plan.contains("request_logs_resource") == is_placing(&sql);
            assert!(exact, "{plan}\n{sql}");
        }
    }
}
