//! Databases that are created for a measurement and dropped after it.

use std::path::PathBuf;

use anyhow::Context as _;
use diesel::connection::SimpleConnection as _;
use diesel::{Connection as _, SqliteConnection};
use offhook_storage::{MASTER_KEY_LEN, MasterKey, Store, StoreConfig};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

/// The SQLite file in its directory.
const FILE: &str = "offhook.db";

/// The location of a database.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Place {
    /// An SQLite file.
    Sqlite(PathBuf),
    /// A PostgreSQL URL.
    Postgres(String),
}

impl Place {
    /// Opens it as the service does.
    pub(crate) async fn open(&self) -> anyhow::Result<Store> {
        let config = match self {
            Self::Sqlite(file) => StoreConfig::sqlite(file),
            Self::Postgres(url) => StoreConfig::from_url(url).map_err(anyhow::Error::msg)?,
        };
        let key = MasterKey::from_bytes(&[7; MASTER_KEY_LEN]).context("the master key")?;
        Ok(Store::open(&config, key).await?)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
}

impl Kind {
    /// Its name in the table.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        }
    }
}

/// A separate, migrated database.
pub(crate) struct Database {
    pub(crate) place: Place,
    keep: Keep,
}

#[expect(clippy::large_enum_variant, reason = "a run has one of them")]
enum Keep {
    Directory(TempDir),
    Server {
        maintenance: Client,
        name: String,
        admin: Client,
    },
}

impl Database {
    pub(crate) async fn new(kind: Kind, server: &str, name: &str) -> anyhow::Result<Self> {
        let made = match kind {
            Kind::Sqlite => {
                let directory = tempfile::tempdir()?;
                Self {
                    place: Place::Sqlite(directory.path().join(FILE)),
                    keep: Keep::Directory(directory),
                }
            }
            Kind::Postgres => {
                let maintenance = connect(server).await?;
                let name = format!("offhook_bench_{name}");
                let drop = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
                maintenance.batch_execute(&drop).await?;
                maintenance
                    .batch_execute(&format!("CREATE DATABASE {name}"))
                    .await?;
                let url = with_database(server, &name);
                let admin = connect(&url).await?;
                let extension = "CREATE EXTENSION IF NOT EXISTS pg_stat_statements";
                admin.batch_execute(extension).await?;
                Self {
                    place: Place::Postgres(url),
                    keep: Keep::Server {
                        maintenance,
                        name,
                        admin,
                    },
                }
            }
        };
        made.place.open().await?;
        Ok(made)
    }

    /// Runs statements on a separate connection, to fill or query the database. On SQLite no service may be running.
    pub(crate) async fn execute(&self, sql: &str) -> anyhow::Result<()> {
        match &self.keep {
            Keep::Directory(directory) => {
                let file = directory.path().join(FILE);
                let mut connection = SqliteConnection::establish(&file.to_string_lossy())?;
                connection.batch_execute("PRAGMA cache_size = -262144")?;
                Ok(connection.batch_execute(sql)?)
            }
            Keep::Server { admin, .. } => Ok(admin.batch_execute(sql).await?),
        }
    }

    /// The connection for queries on a PostgreSQL database.
    pub(crate) fn admin(&self) -> Option<&Client> {
        match &self.keep {
            Keep::Directory(_) => None,
            Keep::Server { admin, .. } => Some(admin),
        }
    }

    pub(crate) async fn remove(self) -> anyhow::Result<()> {
        if let Keep::Server {
            maintenance, name, ..
        } = self.keep
        {
            maintenance
                .batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)"))
                .await?;
        }
        Ok(())
    }
}

async fn connect(url: &str) -> anyhow::Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// The URL with another database.
fn with_database(url: &str, name: &str) -> String {
    let server = url.rsplit_once('/').map_or(url, |(server, _)| server);
    format!("{server}/{name}")
}
