//! The database of a server, and the macro that runs a test on both.

use offhook_storage::StoreConfig;
use offhook_testkit::TestDatabase;

/// A database for one test.
#[derive(Debug, Clone)]
pub enum Database {
    /// The embedded one, in the server's data directory.
    Sqlite,
    /// One on the test PostgreSQL server.
    Postgres(TestDatabase),
}

impl Database {
    /// A fresh database on the test PostgreSQL server.
    pub async fn postgres() -> Self {
        Self::Postgres(TestDatabase::postgres().await)
    }

    /// Whether several processes may share it.
    #[must_use]
    pub const fn is_shared(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    /// Its `--database-url`; `None` for the embedded database.
    #[must_use]
    pub fn url(&self) -> Option<String> {
        let Self::Postgres(database) = self else {
            return None;
        };
        match database.config() {
            StoreConfig::Postgres { url, .. } => Some(url.clone()),
            StoreConfig::Sqlite { .. } => panic!("a PostgreSQL database in a file"),
        }
    }
}

/// Runs each test on both databases: `async fn NAME(database: Database)` becomes `sqlite::NAME` and `postgres::NAME`.
/// Use it once per module.
#[macro_export]
macro_rules! both {
    ($($(#[$attribute:meta])* async fn $name:ident($database:ident: Database $(,)?) $body:block)*) => {
        $($(#[$attribute])* async fn $name($database: $crate::Database) $body)*

        mod sqlite {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $name() {
                    super::$name($crate::Database::Sqlite).await;
                }
            )*
        }

        mod postgres {
            $(
                #[tokio::test(flavor = "multi_thread")]
                #[ignore = "needs PostgreSQL: just test"]
                async fn $name() {
                    super::$name($crate::Database::postgres().await).await;
                }
            )*
        }
    };
}
