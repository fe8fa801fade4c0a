//! Dropped callers, panicking work, writes that share a commit, and lost databases.

use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::join_all;
use offhook_storage::{AgentChange, ConversationFilter, Placed, Store, StoreError};
use offhook_testkit::{TestDatabase, contract};

use crate::it::raw::Raw;
use crate::it::shop::{Shop, T0, after, entry, new_key};

/// Polls until `done`, with a time limit longer than any condition takes.
async fn until(mut done: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !done().await {
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "it never came about"
        );
        tokio::task::yield_now().await;
    }
}

/// A write that panics: the next version number overflows.
fn panicking() -> AgentChange {
    AgentChange {
        head_version: i32::MAX,
        name: None,
        language: None,
        status: None,
        config: Some("{}".to_owned()),
        settings: None,
        at: after(1),
    }
}

/// Suppresses the backtraces of overflow panics: resolving their lines takes seconds and blocks everything else.
fn overflow_in_silence() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.to_string().contains("with overflow") {
            usual(panic);
        }
    }));
}

contract! {
    async fn a_write_whose_caller_goes_away_reaches_its_end(store: Store) {
        let shop = Shop::new(&store).await;
        let mut ids = Vec::new();
        for _ in 0..20 {
            let call = shop.call(T0);
            ids.push(call.id);
            // One poll hands the work over; then the caller is dropped.
            let dropped = store.place_call(call).now_or_never();
            assert!(dropped.is_none() || matches!(dropped, Some(Ok(Placed::Accepted(_)))));
        }
        until(async || store.queue_length().await.unwrap() == 20).await;
        assert_eq!(shop.wallet().await, (1_000, 200));
        for id in ids {
            shop.conversation(id).await;
        }
    }

    async fn a_read_whose_caller_goes_away_leaves_the_connections_usable(store: Store) {
        let shop = Shop::new(&store).await;
        shop.place(T0).await;
        for _ in 0..100 {
            let filter = ConversationFilter::default();
            let _ = store.conversations(shop.account, filter, None, 20).now_or_never();
        }
        let everything = filter();
        let reads = (0..40).map(|_| shop.every(&everything, 20));
        for page in join_all(reads).await {
            assert_eq!(page.len(), 1);
        }
    }

    async fn work_that_panics_leaves_the_store_usable(store: Store) {
        // Overflow only panics in builds with debug assertions.
        if !cfg!(debug_assertions) {
            return;
        }
        overflow_in_silence();
        let shop = Shop::new(&store).await;
        for _ in 0..20 {
            let panicked = store.change_agent(shop.account, shop.agent, panicking());
            let read = store.conversations(shop.account, filter(), None, i64::MAX);
            let placed = store.place_call(shop.call(T0));
            let (panicked, read, placed) = tokio::join!(panicked, read, placed);
            assert!(matches!(panicked, Err(StoreError::Internal(_))), "{panicked:?}");
            assert!(matches!(read, Err(StoreError::Internal(_))), "{read:?}");
            assert_eq!(placed.unwrap(), Placed::Accepted(vec![]), "its neighbours go on");
        }
        assert_eq!(store.queue_length().await.unwrap(), 20);
        let agent = store.agent(shop.account, shop.agent).await.unwrap().unwrap();
        assert_eq!(agent.head_version, 1);
    }

    async fn a_refused_write_undoes_nothing_of_those_beside_it(store: Store) {
        let shop = Shop::with_credits(&store, 35).await;
        let racing = (0..24).map(|number| {
            let shop = shop.clone();
            tokio::spawn(async move {
                match number % 3 {
                    // Refused by a foreign key.
                    0 => {
                        let orphan = new_key(offhook_storage::mint(T0), offhook_storage::mint(T0));
                        assert!(shop.store.create_key(orphan).await.is_err());
                        false
                    }
                    // Accepted three times, then the wallet is too low.
                    1 => matches!(
                        shop.store.place_call(shop.call(T0)).await.unwrap(),
                        Placed::Accepted(_)
                    ),
                    _ => {
                        let other = offhook_storage::mint(T0);
                        shop.store.create_key(new_key(shop.account, other)).await.unwrap();
                        false
                    }
                }
            })
        });
        let accepted = join_all(racing).await.into_iter().filter(|a| *a.as_ref().unwrap()).count();
        assert_eq!(accepted, 3);
        assert_eq!(store.keys(shop.account).await.unwrap().len(), 1 + 8);
        assert_eq!(shop.wallet().await, (35, 30));
    }
}

const fn filter() -> ConversationFilter {
    ConversationFilter {
        voice_only: false,
        since: None,
        until: None,
        agent: None,
        status: None,
        outcome: None,
        channel: None,
        phone: None,
        tag: None,
    }
}

mod only_sqlite {
    use super::*;
    use crate::it::plans::Recorder;

    #[tokio::test(flavor = "multi_thread")]
    async fn writes_that_wait_together_share_a_commit() {
        let database = TestDatabase::sqlite();
        // Opened before recording begins: only the store's statements count.
        let mut other_process = Raw::open(&database).await;
        let recorder = Recorder::begin();
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        other_process.run("BEGIN IMMEDIATE").await;
        recorder.take();
        let waiting: Vec<_> = (0..20)
            .map(|_| {
                let (store, account) = (store.clone(), shop.account);
                let mut write =
                    Box::pin(
                        async move { store.change_wallet(account, entry("purchase", 1)).await },
                    );
                assert!(write.as_mut().now_or_never().is_none());
                write
            })
            .collect();
        other_process.run("COMMIT").await;
        for balance in join_all(waiting).await {
            balance.unwrap();
        }
        assert_eq!(shop.wallet().await, (1_020, 0));
        let commits = recorder
            .take()
            .iter()
            .filter(|sql| sql.starts_with("COMMIT"))
            .count();
        assert_eq!(commits, 1, "for 20 writes");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn another_process_that_holds_the_file_for_long_is_an_outage_that_passes() {
        let database = TestDatabase::sqlite();
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let mut other_process = Raw::open(&database).await;
        other_process.run("BEGIN IMMEDIATE").await;
        let refused = store.place_call(shop.call(T0)).await;
        assert!(
            matches!(refused, Err(StoreError::Unavailable(_))),
            "{refused:?}"
        );
        assert_eq!(shop.wallet().await, (1_000, 0), "reading goes on");
        other_process.run("ROLLBACK").await;
        shop.place(T0).await;
    }
}

mod only_postgres {
    use super::*;

    async fn terminate(maintenance: &mut Raw, url: &str) {
        let name = url.rsplit('/').next().unwrap();
        maintenance
            .run(&format!(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}' \
                 AND application_name = 'offhook'"
            ))
            .await;
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn connections_that_are_cut_are_an_outage_that_passes() {
        let database = TestDatabase::postgres().await;
        let store = database.open().await;
        let shop = Shop::with_credits(&store, 1_000_000).await;
        let offhook_storage::StoreConfig::Postgres { url, .. } = database.config() else {
            panic!("{database:?}");
        };
        let mut maintenance = Raw::postgres(database.maintenance().unwrap()).await;

        let working = (0..8).map(|_| {
            let shop = shop.clone();
            tokio::spawn(async move {
                let mut outages = 0;
                for _ in 0..60 {
                    match shop.store.place_call(shop.call(T0)).await {
                        Ok(placed) => assert_eq!(placed, Placed::Accepted(vec![])),
                        Err(StoreError::Unavailable(_) | StoreError::UnknownCommit(_)) => {
                            outages += 1
                        }
                        Err(other) => panic!("{other:?}"),
                    }
                    match shop
                        .store
                        .conversations(shop.account, filter(), None, 5)
                        .await
                    {
                        Ok(_) => {}
                        Err(StoreError::Unavailable(_)) => outages += 1,
                        Err(other) => panic!("{other:?}"),
                    }
                }
                outages
            })
        });
        let working: Vec<_> = working.collect();
        while working.iter().any(|task| !task.is_finished()) {
            terminate(&mut maintenance, url).await;
        }
        let outages: u32 = join_all(working)
            .await
            .into_iter()
            .map(Result::unwrap)
            .sum();
        assert!(outages > 0, "connections were cut while they worked");

        until(async || store.ping().await.is_ok()).await;
        // Every pooled connection works again, not only the first.
        let pings = join_all((0..16).map(|_| store.ping())).await;
        assert!(pings.iter().all(Result::is_ok), "{pings:?}");
        shop.place(T0).await;
        let (_, reserved) = shop.wallet().await;
        let mut raw = Raw::open(&database).await;
        assert_eq!(reserved, raw.count("reservations").await * 10);
        assert_eq!(reserved, raw.count("conversations").await * 10);
        assert_eq!(reserved, raw.count("events").await * 10);
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn a_query_that_is_cut_is_an_outage() {
        let database = TestDatabase::postgres().await;
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let mut raw = Raw::open(&database).await;
        raw.run(
            "CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(1); RETURN NEW; \
             END $$; CREATE TRIGGER cut BEFORE INSERT ON conversations \
             FOR EACH ROW EXECUTE FUNCTION cut()",
        )
        .await;
        let cut = shop.store.place_call(shop.call(T0)).await;
        // A server that is slow for others meanwhile counts as silent.
        let is_outage = matches!(
            cut,
            Err(StoreError::Unavailable(_) | StoreError::UnknownCommit(_))
        );
        assert!(is_outage, "{cut:?}");
        raw.run("DROP TRIGGER cut ON conversations").await;
        until(async || store.ping().await.is_ok()).await;
        assert_eq!(shop.wallet().await, (1_000, 0));
    }
}
