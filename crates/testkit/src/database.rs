//! A separate database for each test, SQLite or PostgreSQL, and the macro that runs a test on both.

use std::fmt::Debug;
use std::hash::{BuildHasher as _, DefaultHasher, Hash, Hasher, RandomState};
use std::path::Path;
use std::sync::Arc;

use offhook_storage::{MASTER_KEY_LEN, MasterKey, Store, StoreConfig};
use tempfile::TempDir;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error, NoTls};

/// The variable with the URL of a maintenance database on the tests' PostgreSQL server, such as
/// `postgres://postgres@127.0.0.1:5432/postgres`. Its user must be able to create databases.
pub const POSTGRES_VARIABLE: &str = "OFFHOOK_TEST_POSTGRES";

/// Set if the server is removed after the tests. Then tests do not drop their databases, which would cost a
/// checkpoint each.
const THROWAWAY_VARIABLE: &str = "OFFHOOK_TEST_THROWAWAY";

/// The lock under which one process creates the template database.
const TEMPLATE_LOCK: i64 = 0x74_65_6d_70_6c;

/// A migrated database for one test. It is removed with its last clone.
#[derive(Debug, Clone)]
pub struct TestDatabase {
    config: StoreConfig,
    place: Arc<Place>,
}

#[derive(Debug)]
enum Place {
    Directory(TempDir),
    Server(Server),
}

/// A database on a PostgreSQL server.
#[derive(Debug)]
struct Server {
    maintenance: String,
    name: String,
    files: TempDir,
}

impl TestDatabase {
    /// An SQLite file in a temporary directory.
    ///
    /// # Panics
    /// If the temporary directory cannot be created.
    pub fn sqlite() -> Self {
        let directory = must("a temporary directory", tempfile::tempdir());
        Self {
            config: StoreConfig::sqlite(directory.path().join("offhook.db")),
            place: Arc::new(Place::Directory(directory)),
        }
    }

    /// A PostgreSQL database, copied from a migrated template on the server that [`POSTGRES_VARIABLE`] names.
    ///
    /// # Panics
    /// Without that variable, or if the server refuses.
    pub async fn postgres() -> Self {
        let Ok(maintenance) = std::env::var(POSTGRES_VARIABLE) else {
            panic!("{POSTGRES_VARIABLE} is not set: run `just test`, which starts a PostgreSQL");
        };
        let client = connect(&maintenance).await;
        let template = format!("offhook_template_{:016x}", migrations());
        let name = format!("offhook_test_{:016x}", RandomState::new().hash_one(()));
        if let Err(error) = copy(&client, &template, &name).await {
            assert_eq!(
                error.code(),
                Some(&SqlState::INVALID_CATALOG_NAME),
                "{error:?}"
            );
            make_template(&maintenance, &client, &template).await;
            must("a database", copy(&client, &template, &name).await);
        }
        Self {
            config: StoreConfig::Postgres {
                url: with_database(&maintenance, &name),
                direct_url: None,
                connections: 16,
                wait: StoreConfig::WAIT,
            },
            place: Arc::new(Place::Server(Server {
                maintenance,
                name,
                files: must("a temporary directory", tempfile::tempdir()),
            })),
        }
    }

    pub const fn config(&self) -> &StoreConfig {
        &self.config
    }

    /// The master key of [`TestDatabase::open`].
    pub fn master_key() -> MasterKey {
        must("a key", MasterKey::from_bytes(&[7; MASTER_KEY_LEN]))
    }

    /// Opens the database; several stores on one database are several nodes.
    ///
    /// # Panics
    /// If it does not open.
    pub async fn open(&self) -> Store {
        must(
            "the test database opens",
            Store::open(&self.config, Self::master_key()).await,
        )
    }

    /// Runs a test on this database.
    pub async fn test<G: Given, F: Future<Output = ()>>(&self, test: impl FnOnce(G) -> F) {
        test(G::given(self).await).await;
    }

    /// The URL of its PostgreSQL server's maintenance database; `None` on SQLite.
    pub fn maintenance(&self) -> Option<&str> {
        self.server().map(|server| server.maintenance.as_str())
    }

    fn server(&self) -> Option<&Server> {
        match &*self.place {
            Place::Directory(_) => None,
            Place::Server(server) => Some(server),
        }
    }

    /// Makes the database unreachable for good: ends its sessions and allows no others.
    ///
    /// # Panics
    /// On SQLite, whose file is always reachable, and if the server refuses.
    pub async fn cut_off(&self) {
        let Some(server) = self.server() else {
            panic!("only a server can be out of reach");
        };
        let close = format!("ALTER DATABASE {} ALLOW_CONNECTIONS false", server.name);
        run(&connect(&server.maintenance).await, &close).await;
        self.end_sessions().await;
    }

    /// Ends every session; new ones may begin.
    ///
    /// # Panics
    /// On SQLite, and if the server refuses.
    pub async fn end_sessions(&self) {
        let Some(server) = self.server() else {
            panic!("only a server has sessions");
        };
        let end = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}'",
            server.name
        );
        run(&connect(&server.maintenance).await, &end).await;
    }

    /// A directory that all users of this PostgreSQL database share; `None` on SQLite.
    pub fn files(&self) -> Option<&Path> {
        self.server().map(|server| server.files.path())
    }

    /// The directory of the SQLite file; `None` on PostgreSQL.
    pub fn directory(&self) -> Option<&Path> {
        match &*self.place {
            Place::Directory(directory) => Some(directory.path()),
            Place::Server(_) => None,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::env::var_os(THROWAWAY_VARIABLE).is_some() {
            return;
        }
        let maintenance = self.maintenance.clone();
        let drop = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        // Needs its own thread, because the test's runtime may be shutting down.
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            must("a runtime", runtime).block_on(async {
                run(&connect(&maintenance).await, &drop).await;
            });
        });
        // A failing test's own message matters more than this thread's.
        let _ = dropped.join();
    }
}

/// Copies files, which costs less than writing each page to the write-ahead log.
async fn copy(client: &Client, template: &str, name: &str) -> Result<(), Error> {
    let copy = format!("CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY");
    client.batch_execute(&copy).await
}

/// Creates the migrated template for the tests' databases, unless another process just did.
async fn make_template(maintenance: &str, client: &Client, name: &str) {
    run(client, &format!("SELECT pg_advisory_lock({TEMPLATE_LOCK})")).await;
    let known = client
        .query_opt("SELECT 1 FROM pg_database WHERE datname = $1", &[&name])
        .await;
    if must("the list of databases", known).is_none() {
        let raw = format!("{name}_raw");
        let anew = format!("DROP DATABASE IF EXISTS {raw} WITH (FORCE)");
        run(client, &anew).await;
        run(client, &format!("CREATE DATABASE {raw}")).await;
        let config = StoreConfig::Postgres {
            url: with_database(maintenance, &raw),
            direct_url: None,
            connections: 1,
            wait: StoreConfig::WAIT,
        };
        must("the template migrates", Store::migrate(&config).await);
        run(client, &format!("ALTER DATABASE {raw} RENAME TO {name}")).await;
    }
    let unlock = format!("SELECT pg_advisory_unlock({TEMPLATE_LOCK})");
    run(client, &unlock).await;
}

/// A hash of PostgreSQL's migrations.
fn migrations() -> u64 {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../migrations/postgres");
    let mut files: Vec<_> = must("the migrations", std::fs::read_dir(folder))
        .map(|entry| must("a migration", entry).path().join("up.sql"))
        .collect();
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        must("a migration", std::fs::read(file)).hash(&mut hasher);
    }
    hasher.finish()
}

async fn connect(url: &str) -> Client {
    let (client, connection) = must(POSTGRES_VARIABLE, tokio_postgres::connect(url, NoTls).await);
    tokio::spawn(connection);
    client
}

async fn run(client: &Client, sql: &str) {
    must(sql, client.batch_execute(sql).await);
}

/// The URL with another database.
fn with_database(url: &str, name: &str) -> String {
    let (address, query) = match url.split_once('?') {
        Some((address, query)) => (address, format!("?{query}")),
        None => (url, String::new()),
    };
    let server = address
        .rsplit_once('/')
        .map_or(address, |(server, _)| server);
    format!("{server}/{name}{query}")
}

fn must<T, E: Debug>(what: &str, result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| panic!("{what}: {error:?}"))
}

/// The argument of a [`contract!`](crate::contract) test.
pub trait Given: Sized {
    /// Makes it from the test's own database.
    fn given(database: &TestDatabase) -> impl Future<Output = Self> + Send;
}

impl Given for Store {
    async fn given(database: &TestDatabase) -> Self {
        database.open().await
    }
}

impl Given for TestDatabase {
    async fn given(database: &TestDatabase) -> Self {
        database.clone()
    }
}

/// Runs each test on both databases: `async fn NAME(store: Store)` becomes `sqlite::NAME` and `postgres::NAME`, each
/// with its own database. A test that opens several stores takes a `TestDatabase` instead. Use it once per module;
/// the calling crate has tokio with `macros` and `rt-multi-thread`.
#[macro_export]
macro_rules! contract {
    ($($(#[$attribute:meta])* async fn $name:ident($subject:ident: $given:ty) $body:block)*) => {
        $($(#[$attribute])* async fn $name($subject: $given) $body)*

        mod sqlite {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $name() {
                    $crate::TestDatabase::sqlite().test(super::$name).await;
                }
            )*
        }

        mod postgres {
            $(
                #[tokio::test(flavor = "multi_thread")]
                #[ignore = "needs PostgreSQL: just test"]
                async fn $name() {
                    $crate::TestDatabase::postgres().await.test(super::$name).await;
                }
            )*
        }
    };
}
