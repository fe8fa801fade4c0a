//! Bringing a database to this version's schema.

use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::result::Error::DatabaseError;
use diesel::{Connection, SqliteConnection};
use diesel_async::{AsyncMigrationHarness, SimpleAsyncConnection};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};

use crate::StoreError;

const SQLITE: EmbeddedMigrations = embed_migrations!("../../migrations/sqlite");
const POSTGRES: EmbeddedMigrations = embed_migrations!("../../migrations/postgres");

/// The advisory lock under which one process at a time migrates: "offhook" in ASCII.
const LOCK: i64 = 0x6f_66_66_68_6f_6f_6b;

/// How long one process waits for another one's first step on a new file.
const PATIENCE: Duration = Duration::from_secs(10);

/// Applies what is pending on the embedded database; returns the names of what was applied.
pub(crate) fn sqlite(file: &std::path::Path) -> Result<Vec<String>, StoreError> {
    let path = file.to_string_lossy();
    let mut conn = SqliteConnection::establish(&path)
        .map_err(|error| StoreError::Unavailable(format!("{path}: {error}")))?;
    conn.batch_execute("PRAGMA busy_timeout = 10000")?;
    write_ahead(&mut conn)?;
    // One transaction from the look at what is pending to its end, so that of two processes one migrates.
    conn.immediate_transaction(|conn| run(conn, SQLITE))
}

/// Puts a new file into write-ahead mode. SQLite does not wait for another process that is at it, so this does.
fn write_ahead(conn: &mut SqliteConnection) -> Result<(), StoreError> {
    let began = Instant::now();
    loop {
        match conn.batch_execute("PRAGMA journal_mode = WAL") {
            Err(DatabaseError(_, info))
                if info.message().contains("locked") && began.elapsed() < PATIENCE =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            done => return Ok(done?),
        }
    }
}

/// Applies what is pending on PostgreSQL, one process at a time.
pub(crate) async fn postgres(url: &str) -> Result<Vec<String>, StoreError> {
    // Waiting for another node's migration may take longer than a session's usual patience.
    let door = crate::connect::Door::of(url, "-c TimeZone=UTC")?;
    let mut conn = door.connect().await.map_err(StoreError::Unavailable)?;
    conn.batch_execute(&format!("SELECT pg_advisory_lock({LOCK})"))
        .await?;
    tokio::task::spawn_blocking(move || {
        let mut harness = AsyncMigrationHarness::new(conn);
        run(&mut harness, POSTGRES)
        // The lock ends with the session.
    })
    .await
    .map_err(|error| StoreError::Internal(error.to_string()))?
}

fn run<DB: diesel::backend::Backend>(
    harness: &mut impl MigrationHarness<DB>,
    migrations: EmbeddedMigrations,
) -> Result<Vec<String>, StoreError>
where
    EmbeddedMigrations: diesel::migration::MigrationSource<DB>,
{
    harness
        .run_pending_migrations(migrations)
        .map(|applied| applied.iter().map(ToString::to_string).collect())
        .map_err(|error| StoreError::Internal(format!("migration failed: {error}")))
}
