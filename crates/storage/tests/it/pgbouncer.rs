//! Behind PgBouncer, on PostgreSQL only.

use std::os::unix::fs::MetadataExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use offhook_storage::{Store, StoreConfig, StoreError};
use offhook_testkit::{TestDatabase, free_port};
use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::it::raw::Raw;
use crate::it::shop::{Shop, T0};

fn url(config: &StoreConfig) -> &str {
    match config {
        StoreConfig::Postgres { url, .. } => url,
        StoreConfig::Sqlite { .. } => panic!("{config:?}"),
    }
}

/// A `pgbouncer` in front of the tests' PostgreSQL; dropping this kills it.
struct PgBouncer {
    port: u16,
    child: Child,
    _directory: TempDir,
}

impl PgBouncer {
    async fn start(database: &TestDatabase, pool_mode: &str) -> Self {
        let config: tokio_postgres::Config = url(database.config()).parse().unwrap();
        let (port, directory) = (free_port(), tempfile::tempdir().unwrap());
        let file = directory.path().join("pgbouncer.ini");
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={} user={} password={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = {pool_mode}\n",
            config.get_ports()[0],
            config.get_user().unwrap(),
            str::from_utf8(config.get_password().unwrap()).unwrap(),
        );
        std::fs::write(&file, settings).unwrap();
        let mut command = Command::new("pgbouncer");
        if directory.path().metadata().unwrap().uid() == 0 {
            // It refuses to run as root.
            command.args(["-u", "nobody"]);
        }
        let log = std::fs::File::create(directory.path().join("log")).unwrap();
        let mut started = Self {
            port,
            child: command
                .arg(&file)
                .stdin(Stdio::null())
                .stderr(log)
                .spawn()
                .unwrap(),
            _directory: directory,
        };
        while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            assert_eq!(started.child.try_wait().unwrap(), None, "pgbouncer ended");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        started
    }

    /// The same database, through the pooler.
    fn in_front_of(&self, database: &TestDatabase) -> StoreConfig {
        let name = url(database.config()).rsplit('/').next().unwrap();
        StoreConfig::from_url(&format!(
            "postgres://offhook@127.0.0.1:{}/{name}",
            self.port
        ))
        .unwrap()
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn open(config: &StoreConfig) -> Result<Store, StoreError> {
    Store::open(config, TestDatabase::master_key()).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: just test"]
async fn a_pooler_in_session_mode_keeps_settings_and_notifications() {
    let database = TestDatabase::postgres().await;
    let mut raw = Raw::open(&database).await;
    let name = raw.line("SELECT current_database()::text AS line").await;
    raw.run(&format!(
        "ALTER DATABASE \"{name}\" SET synchronous_commit = off"
    ))
    .await;
    let pooler = PgBouncer::start(&database, "session").await;
    let config = pooler.in_front_of(&database);
    let store = open(&config).await.unwrap();
    assert_eq!(store.durability().await.unwrap(), "on");
    let shop = Shop::new(&store).await;
    shop.place(T0).await;
    let mut listener = store.listen().await.unwrap().unwrap();
    let other = open(&config).await.unwrap();
    assert_eq!(other.queue_length().await.unwrap(), 1);
    other.tell("hello".to_owned()).await.unwrap();
    assert_eq!(listener.next().await.unwrap(), "hello");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: just test"]
async fn a_pooler_that_keeps_no_prepared_statements_between_transactions_is_refused() {
    let database = TestDatabase::postgres().await;
    let pooler = PgBouncer::start(&database, "transaction").await;
    let config = pooler.in_front_of(&database);
    // Again, because the first look may leave statements behind.
    for _ in 0..3 {
        let refused = open(&config).await.err();
        assert!(
            matches!(&refused, Some(StoreError::Url(why)) if why.contains("keeps no prepared statements: set PgBouncer's `pool_mode` to `session`")),
            "{refused:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: just test"]
async fn only_notifications_depend_on_the_direct_url_after_the_start() {
    let database = TestDatabase::postgres().await;
    let pooler = PgBouncer::start(&database, "session").await;
    let direct_url = url(&pooler.in_front_of(&database)).to_owned();
    let config = database.config().clone().with_direct_url(Some(direct_url));
    let store = open(&config).await.unwrap();
    let mut listener = store.listen().await.unwrap().unwrap();
    drop(pooler);
    assert!(matches!(
        listener.next().await,
        Err(StoreError::Unavailable(_))
    ));
    assert!(store.listen().await.is_err());
    store.ping().await.unwrap();
}
