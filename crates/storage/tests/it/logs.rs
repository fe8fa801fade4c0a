//! The request log.

use offhook_domain::{AccountId, ConversationId, LogEntryId, ResourceId, ResourceKind, Timestamp};
use offhook_storage::{LogEntry, LogFault, LogFilter, StatusFilter, Store, mint};
use offhook_testkit::{TestDatabase, contract};

use crate::it::shop::{Shop, T0, after, paged};

fn entry(account: AccountId, at: Timestamp) -> LogEntry {
    LogEntry {
        id: mint(at),
        account_id: account,
        request_id: mint(at),
        key_id: mint(at),
        key_prefix: "service_live_01234567".to_owned(),
        method: "GET".to_owned(),
        path: "/v1/calls".to_owned(),
        status: 200,
        error: None,
        ip: "203.0.113.9".to_owned(),
        duration_ms: 3,
        created_at: at,
        resource: None,
        resource_id: None,
    }
}

/// A log entry of a request that placed a call.
fn placing(account: AccountId, call: ConversationId, at: Timestamp) -> LogEntry {
    LogEntry {
        method: "POST".to_owned(),
        status: 201,
        resource: Some(ResourceKind::Conversation),
        resource_id: Some(ResourceId::from_uuid(call.uuid())),
        ..entry(account, at)
    }
}

async fn ids(store: &Store, account: AccountId, filter: LogFilter) -> Vec<LogEntryId> {
    let page = store.log_entries(account, filter, None, 100).await.unwrap();
    page.into_iter().map(|entry| entry.id).collect()
}

contract! {
    async fn entries_come_back_whole_and_to_their_account_alone(database: TestDatabase) {
        let store = database.open().await;
        let (mine, other): (AccountId, AccountId) = (mint(T0), mint(T0));
        let refused = LogEntry {
            status: 404,
            error: Some("not_found".to_owned()),
            ..entry(mine, after(1))
        };
        let entries = vec![placing(mine, mint(T0), T0), refused.clone(), entry(other, T0)];
        store.add_log_entries(entries.clone()).await.unwrap();
        // A batch with an unknown commit is sent again.
        store.add_log_entries(entries.clone()).await.unwrap();
        let read = store.log_entries(mine, LogFilter::default(), None, 10).await.unwrap();
        assert_eq!(read, [refused, entries[0].clone()]);
        assert_eq!(ids(&store, other, LogFilter::default()).await, [entries[2].id]);
        store.add_log_entries(Vec::new()).await.unwrap();
    }

    async fn a_call_leads_to_the_request_that_placed_it_and_to_no_other(database: TestDatabase) {
        let store = database.open().await;
        let (mine, other): (AccountId, AccountId) = (mint(T0), mint(T0));
        let call: ConversationId = mint(T0);
        let placed = placing(mine, call, after(2));
        let looked = LogEntry { method: "GET".to_owned(), ..placing(mine, call, T0) };
        let hang_up = |call: ConversationId| LogEntry {
            path: format!("/v1/calls/call_{call}/hangup"),
            ..placing(mine, call, after(4))
        };
        // Its own request was not logged.
        let untold: ConversationId = mint(T0);
        let retried = placing(mine, call, after(3));
        let another = placing(mine, mint(T0), T0);
        store
            .add_log_entries(vec![retried, looked, hang_up(call), hang_up(untold), another, placed.clone()])
            .await
            .unwrap();
        assert_eq!(store.placing_request(mine, call).await.unwrap(), Some(placed));
        assert_eq!(store.placing_request(other, call).await.unwrap(), None);
        assert_eq!(store.placing_request(mine, untold).await.unwrap(), None);
        assert_eq!(store.placing_request(mine, mint(T0)).await.unwrap(), None);
    }

    async fn each_filter_chooses_entries(database: TestDatabase) {
        let store = database.open().await;
        let account: AccountId = mint(T0);
        let plain = entry(account, T0);
        let other = LogEntry {
            method: "POST".to_owned(),
            path: "/v1/agents".to_owned(),
            status: 409,
            error: Some("conflict".to_owned()),
            ..entry(account, after(60))
        };
        let missing = LogEntry { status: 404, ..entry(account, after(120)) };
        store.add_log_entries(vec![plain.clone(), other.clone(), missing.clone()]).await.unwrap();
        let none = LogFilter::default;
        let cases = [
            (LogFilter { status: Some(StatusFilter::Code(409)), ..none() }, vec![other.id]),
            (LogFilter { status: Some(StatusFilter::Class(4)), ..none() }, vec![missing.id, other.id]),
            (LogFilter { status: Some(StatusFilter::Class(5)), ..none() }, vec![]),
            (LogFilter { method: Some("POST".to_owned()), ..none() }, vec![other.id]),
            (LogFilter { path: Some("/v1/calls".to_owned()), ..none() }, vec![missing.id, plain.id]),
            (LogFilter { path: Some("/v1/cal_s".to_owned()), ..none() }, vec![]),
            (LogFilter { key: Some(plain.key_id), ..none() }, vec![plain.id]),
            (LogFilter { request: Some(other.request_id), ..none() }, vec![other.id]),
            (LogFilter { since: Some(after(60)), ..none() }, vec![missing.id, other.id]),
            (LogFilter { until: Some(after(60)), ..none() }, vec![other.id, plain.id]),
            (
                LogFilter { since: Some(after(1)), status: Some(StatusFilter::Class(4)), method: Some("GET".to_owned()), ..none() },
                vec![missing.id],
            ),
        ];
        for (filter, expected) in cases {
            assert_eq!(ids(&store, account, filter.clone()).await, expected, "{filter:?}");
        }
    }

    async fn requests_are_counted_by_hour_and_class_of_status(database: TestDatabase) {
        let store = database.open().await;
        let (mine, other): (AccountId, AccountId) = (mint(T0), mint(T0));
        let hour = 3_600;
        let of = |status, seconds| LogEntry { status, ..entry(mine, after(seconds)) };
        let entries = vec![of(200, 0), of(201, 1), of(404, 2), of(500, hour), of(200, 2 * hour), entry(other, T0)];
        store.add_log_entries(entries).await.unwrap();
        let counted = async |since, most| {
            let counts = store.log_counts(mine, since, most).await.unwrap();
            let first = T0.micros() / 3_600_000_000;
            let counts = counts.into_iter().map(|count| (count.hour - first, count.status_class, count.requests));
            counts.collect::<Vec<_>>()
        };
        assert_eq!(counted(T0, 10).await, [(0, 2, 2), (0, 4, 1), (1, 5, 1), (2, 2, 1)]);
        assert_eq!(counted(after(1), 3).await, [(0, 4, 1), (1, 5, 1), (2, 2, 1)]);
    }

    async fn entries_of_one_instant_page_exactly_once(database: TestDatabase) {
        let store = database.open().await;
        let account: AccountId = mint(T0);
        let entries: Vec<_> = (0..7).map(|n| entry(account, after(n / 3))).collect();
        store.add_log_entries(entries).await.unwrap();
        let all = ids(&store, account, LogFilter::default()).await;
        let key = |entry: &LogEntry| (entry.created_at, entry.id);
        let seen = paged(2, key, async |place| {
            let page = store.log_entries(account, LogFilter::default(), place, 2).await;
            store.add_log_entries(vec![entry(account, after(9))]).await.unwrap();
            page
        });
        assert_eq!(seen.await.iter().map(|entry| entry.id).collect::<Vec<_>>(), all);
    }

    async fn a_refused_request_keeps_its_message_and_its_body_where_the_account_asks_for_it(store: Store) {
        let (asking, silent) = (Shop::new(&store).await.account, Shop::new(&store).await.account);
        store.set_keeps_error_bodies(asking, true).await.unwrap();
        let fault = |account| {
            let entry = entry(account, after(1));
            let fault = LogFault {
                account_id: account,
                created_at: entry.created_at,
                id: entry.id,
                message: "`to`: is required".to_owned(),
                body: Some("{}".to_owned()),
            };
            (entry, fault)
        };
        let ((asked, mine), (unasked, other)) = (fault(asking), fault(silent));
        store.add_log_entries(vec![asked.clone(), unasked]).await.unwrap();
        // A batch with an unknown commit is sent again.
        for _ in 0..2 {
            store.add_log_faults(vec![mine.clone(), other.clone()]).await.unwrap();
        }
        let read = async |of: &LogFault| store.log_fault(of.account_id, (of.created_at, of.id)).await.unwrap();
        let told = |of: &LogFault| Some(LogFault { body: None, ..of.clone() });
        assert_eq!(read(&mine).await, Some(mine.clone()));
        assert_eq!(read(&other).await, told(&other));
        assert_eq!(store.log_fault(silent, (mine.created_at, mine.id)).await.unwrap(), None);
        store.purge_log_bodies(asking, after(1)).await.unwrap();
        assert_eq!(read(&mine).await, Some(mine.clone()));
        store.purge_log_bodies(asking, after(2)).await.unwrap();
        assert_eq!(read(&mine).await, told(&mine));
        store.add_log_faults(vec![mine.clone()]).await.unwrap();
        assert_eq!(read(&mine).await, Some(mine.clone()));
        store.set_keeps_error_bodies(asking, false).await.unwrap();
        assert_eq!(read(&mine).await, told(&mine), "it no longer wants them");
        assert_eq!(store.purge_log_entries(asking, after(2), 10).await.unwrap(), 1);
        assert_eq!(read(&mine).await, None);
    }

    async fn the_oldest_entries_are_deleted_a_batch_at_a_time(database: TestDatabase) {
        let store = database.open().await;
        let account: AccountId = mint(T0);
        let other: AccountId = mint(T0);
        store.add_log_entries(vec![entry(other, T0)]).await.unwrap();
        let entries: Vec<_> = (0..5).map(|n| entry(account, after(n))).collect();
        let kept: Vec<_> = entries[3..].iter().rev().map(|entry| entry.id).collect();
        store.add_log_entries(entries).await.unwrap();
        assert_eq!(store.purge_log_entries(account, after(3), 2).await.unwrap(), 2);
        assert_eq!(store.purge_log_entries(account, after(3), 2).await.unwrap(), 1);
        assert_eq!(store.purge_log_entries(account, after(3), 2).await.unwrap(), 0);
        assert_eq!(ids(&store, account, LogFilter::default()).await, kept);
        assert_eq!(ids(&store, other, LogFilter::default()).await.len(), 1);
    }
}
