//! Opening a database: which one, how durable, migrated once.

use std::collections::HashSet;

use futures_util::future::join_all;
use offhook_storage::{Store, StoreConfig, StoreError};
use offhook_testkit::{TestDatabase, contract};

use crate::raw::Raw;

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

    async fn processes_that_start_together_migrate_once(database: TestDatabase) {
        if database.maintenance().is_some() {
            Raw::open(&database).await.run("DROP SCHEMA public CASCADE; CREATE SCHEMA public").await;
        }
        let racing = (0..4).map(|_| {
            let config = database.config().clone();
            tokio::spawn(async move { Store::migrate(&config).await.unwrap() })
        });
        let applied: Vec<String> = join_all(racing).await.into_iter().flat_map(Result::unwrap).collect();
        let once: HashSet<_> = applied.iter().collect();
        assert!(!applied.is_empty());
        assert_eq!(applied.len(), once.len(), "{applied:?}");
        database.open().await.ping().await.unwrap();
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
        // The URL's own options are kept beside the store's.
        let with_options = StoreConfig::Postgres {
            url: format!("{url}?options=-c%20search_path%3Dnowhere"),
            connections: 1,
        };
        let applied = Store::migrate(&with_options).await;
        assert!(
            applied.is_err(),
            "no schema `nowhere` to make tables in: {applied:?}"
        );
    }
}
