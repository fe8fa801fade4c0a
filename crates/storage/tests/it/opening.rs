//! Opening a database: its kind, durability, and migration.

use std::collections::HashSet;
use std::time::Duration;

use offhook_storage::{Store, StoreConfig, StoreError};
use offhook_testkit::{TestDatabase, contract};

use crate::it::raw::Raw;
use crate::it::shop::{Shop, T0, race};

contract! {
    async fn a_commit_survives_power_loss(store: Store) {
        let expected = if store.is_embedded() { "FULL" } else { "on" };
        assert_eq!(store.durability().await.unwrap(), expected);
        store.ping().await.unwrap();
    }

    async fn migrating_again_applies_nothing(database: TestDatabase) {
        database.open().await;
        let applied = Store::migrate(database.config()).await.unwrap();
        assert!(applied.is_empty(), "{applied:?}");
    }

    async fn a_database_of_before_the_first_release_is_refused_and_left_as_it_is(database: TestDatabase) {
        drop(database.open().await);
        let mut raw = Raw::open(&database).await;
        let applied = "SELECT version AS line FROM __diesel_schema_migrations ORDER BY version";
        raw.run("DELETE FROM __diesel_schema_migrations WHERE version <> '00000000000101'").await;
        raw.run("UPDATE __diesel_schema_migrations SET version = '00000000000100'").await;
        let before = raw.lines(applied).await;
        let refused = Store::open(database.config(), TestDatabase::master_key()).await;
        let StoreError::Internal(error) = refused.err().unwrap() else { panic!("not refused") };
        assert!(error.contains("before the first release") && error.contains("start with an empty one"), "{error}");
        assert_eq!(raw.lines(applied).await, before);
    }

    async fn processes_that_start_together_migrate_once(database: TestDatabase) {
        if database.maintenance().is_some() {
            Raw::open(&database).await.run("DROP SCHEMA public CASCADE; CREATE SCHEMA public").await;
        }
        let applied = race(4, |_| {
            let config = database.config().clone();
            async move { Store::migrate(&config).await.unwrap() }
        });
        let applied: Vec<String> = applied.await.concat();
        let once: HashSet<_> = applied.iter().collect();
        assert!(!applied.is_empty());
        assert_eq!(applied.len(), once.len(), "{applied:?}");
        database.open().await.ping().await.unwrap();
    }

    async fn what_a_newer_version_added_does_an_older_one_no_harm(database: TestDatabase) {
        let running = database.open().await;
        let mut raw = Raw::open(&database).await;
        raw.run(
            "INSERT INTO __diesel_schema_migrations (version) VALUES ('99999999999999'); \
             CREATE TABLE newer (id INTEGER PRIMARY KEY); ALTER TABLE accounts ADD COLUMN newer INTEGER",
        )
        .await;
        running.ping().await.unwrap();
        let started = database.open().await;
        assert_eq!(started.outgrown().await.unwrap(), None);
        Shop::new(&started).await.place(T0).await;
    }

    async fn a_version_that_the_database_has_outgrown_does_not_start(database: TestDatabase) {
        let running = database.open().await;
        let mut raw = Raw::open(&database).await;
        raw.run("INSERT INTO service_settings (name, value) VALUES ('oldest_schema', '99999999999999')").await;
        let sentence = running.outgrown().await.unwrap().unwrap();
        let refused = Store::open(database.config(), TestDatabase::master_key()).await;
        let StoreError::Internal(error) = refused.err().unwrap() else { panic!("not refused") };
        assert_eq!(error, sentence);
        assert!(sentence.contains("99999999999999"), "{sentence}");
        raw.run("UPDATE service_settings SET value = '00000000000100'").await;
        assert_eq!(running.outgrown().await.unwrap(), None);
    }
}

#[test]
fn an_unknown_scheme_is_refused() {
    for url in [
        "postgre://localhost/offhook",
        "mysql://localhost/offhook",
        "data/offhook.db",
        "postgres:localhost",
        "sqlite://",
        "sqlite://:memory:",
        "",
    ] {
        let refused = StoreConfig::from_url(url);
        assert!(refused.is_err(), "{url}: {refused:?}");
    }
}

#[test]
fn known_schemes_choose_the_database() {
    for url in ["postgres://db/offhook", "postgresql://db/offhook"] {
        let config = StoreConfig::from_url(url);
        assert!(matches!(config, Ok(StoreConfig::Postgres { .. })), "{url}");
    }
    let config = StoreConfig::from_url("sqlite://data/offhook.db").unwrap();
    assert!(matches!(config, StoreConfig::Sqlite { file, .. } if file == *"data/offhook.db"));
}

mod only_sqlite {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn the_file_is_in_write_ahead_mode() {
        let database = TestDatabase::sqlite();
        let _store = database.open().await;
        let file = database.directory().unwrap().join("offhook.db");
        let header = std::fs::read(file).unwrap();
        // Read and write format versions of the SQLite file format: 2 is WAL.
        assert_eq!(header[18..20], [2, 2]);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn whoever_leaves_last_leaves_one_file() {
        let database = TestDatabase::sqlite();
        let files = || {
            let files = std::fs::read_dir(database.directory().unwrap()).unwrap();
            let mut names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
            names.sort();
            names
        };
        let store = database.open().await;
        let other = store.clone();
        store.ping().await.unwrap();
        drop(store);
        assert!(files().contains(&"offhook.db-wal".into()));
        other.ping().await.unwrap();
        drop(other);
        assert_eq!(files(), ["offhook.db"]);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_directory_that_is_not_there_is_an_outage() {
        let database = TestDatabase::sqlite();
        let file = database.directory().unwrap().join("missing/offhook.db");
        let config = StoreConfig::sqlite(file);
        let refused = Store::open(&config, TestDatabase::master_key()).await;
        assert!(matches!(refused, Err(StoreError::Unavailable(_))));
    }
}

mod only_postgres {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn a_session_with_a_server_that_became_read_only_leaves_the_pool() {
        let database = TestDatabase::postgres().await;
        let store = database.open().await;
        let shop = Shop::new(&store).await;
        let mut raw = Raw::open(&database).await;
        let name = raw.line("SELECT current_database()::text AS line").await;
        let set = |word| format!("ALTER DATABASE \"{name}\" {word}");
        raw.run(&set("SET default_transaction_read_only = on"))
            .await;
        raw.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        .await;
        let mut refusals = Vec::new();
        while refusals
            .last()
            .is_none_or(|last: &String| !last.contains("read-only"))
        {
            assert!(refusals.len() < 40, "{refusals:?}");
            let refused = store.place_call(shop.call(T0)).await;
            refusals.push(refused.unwrap_err().to_string());
        }
        raw.run(&set("RESET default_transaction_read_only")).await;
        shop.place(T0).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn a_migration_waits_for_a_table_without_keeping_others_from_it() {
        let database = TestDatabase::postgres().await;
        drop(database.open().await);
        let mut raw = Raw::open(&database).await;
        raw.run(
            "DELETE FROM __diesel_schema_migrations WHERE version = '00000000000103'; \
             ALTER TABLE conversations DROP COLUMN simulated",
        )
        .await;
        let mut busy = Raw::open(&database).await;
        busy.run("BEGIN; SELECT 1 FROM conversations").await;
        let config = database.config().clone();
        let opening =
            tokio::spawn(async move { Store::open(&config, TestDatabase::master_key()).await });
        // A lock request that waits for the table would make this statement wait too.
        for _ in 0..25 {
            raw.run("SET statement_timeout = '4s'; SELECT 1 FROM conversations")
                .await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert!(!opening.is_finished());
        busy.run("COMMIT").await;
        opening.await.unwrap().unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn an_index_whose_creation_was_interrupted_is_made_anew_by_one_of_several_processes() {
        let database = TestDatabase::postgres().await;
        drop(database.open().await);
        let mut raw = Raw::open(&database).await;
        let unfinished = "pg_index WHERE NOT indisvalid";
        raw.run(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'request_logs_by_status'::regclass; \
             DROP INDEX request_logs_by_class; CREATE INDEX request_logs_status ON request_logs (status); \
             CREATE INDEX request_logs_class ON request_logs (status); \
             CREATE INDEX request_logs_request ON request_logs (status); \
             CREATE INDEX request_logs_method ON request_logs (status); DROP INDEX request_logs_by_method; \
             DELETE FROM __diesel_schema_migrations WHERE version BETWEEN '00000000000106' AND '00000000000109'",
        )
        .await;
        assert_eq!(raw.count(unfinished).await, 1);
        let open = || Store::open(database.config(), TestDatabase::master_key());
        let opened = tokio::join!(open(), open(), open());
        assert!(opened.0.is_ok() && opened.1.is_ok() && opened.2.is_ok());
        assert_eq!(raw.count(unfinished).await, 0);
        assert_eq!(
            raw.count("pg_indexes WHERE indexname LIKE 'request_logs_by_%'")
                .await,
            3
        );
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_server_that_is_not_there_is_an_outage() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let config = StoreConfig::from_url(&format!("postgres://x@127.0.0.1:{port}/x")).unwrap();
        let refused = Store::open(&config, TestDatabase::master_key()).await;
        assert!(matches!(refused, Err(StoreError::Unavailable(_))));
    }

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn waiting_is_bounded_in_every_session() {
        let database = TestDatabase::postgres().await;
        let store = database.open().await;
        store.ping().await.unwrap();
        let StoreConfig::Postgres { url, .. } = database.config() else {
            panic!("{database:?}");
        };
        // The URL's own options are kept in addition to the store's.
        let with_options = StoreConfig::Postgres {
            url: format!("{url}?options=-c%20search_path%3Dnowhere"),
            direct_url: None,
            connections: 1,
            wait: StoreConfig::WAIT,
        };
        let applied = Store::migrate(&with_options).await;
        assert!(
            applied.is_err(),
            "no schema `nowhere` to make tables in: {applied:?}"
        );
    }
}
