//! Migrates a database to this version's schema.

use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::migration::{Migration, MigrationSource};
use diesel::result::Error::DatabaseError;
use diesel::sql_types::Bool;
use diesel::{Connection, RunQueryDsl as _, SqliteConnection};
use diesel_async::{AsyncMigrationHarness, AsyncPgConnection, SimpleAsyncConnection};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use tokio::runtime::Handle;

use crate::connect::NoSession;
use crate::postgres::lasting_session;
use crate::{Result, StoreError};

const SQLITE: EmbeddedMigrations = embed_migrations!("../../migrations/sqlite");
const POSTGRES: EmbeddedMigrations = embed_migrations!("../../migrations/postgres");

/// The advisory lock under which one process at a time migrates: "offhook" in ASCII.
const LOCK: i64 = 0x6f_66_66_68_6f_6f_6b;

/// How long a process waits for another one's first step on a new file.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often a process asks whether another one's migration is done.
const AGAIN: Duration = Duration::from_millis(100);

/// How long to retry for the lock of a table that others use.
const TABLES_BUSY: Duration = Duration::from_secs(300);

/// Applies the pending migrations to the embedded database. Returns their names.
pub(crate) fn sqlite(file: &std::path::Path) -> Result<Vec<String>> {
    let path = file.to_string_lossy();
    let mut conn = SqliteConnection::establish(&path)
        .map_err(|error| StoreError::Unavailable(format!("{path}: {error}")))?;
    conn.batch_execute("PRAGMA busy_timeout = 10000")?;
    write_ahead(&mut conn)?;
    // Reading the pending migrations and applying them is one transaction, so that only one of two processes migrates.
    conn.immediate_transaction(|conn| run(conn, SQLITE))
}

/// Copies the embedded database as of one moment; writers continue meanwhile.
pub(crate) fn backup(file: &std::path::Path, into: &std::path::Path) -> Result<()> {
    let failed = |error: &dyn std::fmt::Display| {
        StoreError::Unavailable(format!("{}: {error}", into.display()))
    };
    if !file.exists() {
        return Err(StoreError::Unavailable(format!(
            "{}: there is no such database",
            file.display()
        )));
    }
    // Create the file first, so that only its owner can read it before it has content.
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let made = options.open(into).map_err(|error| failed(&error))?;
    let copied = (|| {
        let mut conn = SqliteConnection::establish(&file.to_string_lossy())
            .map_err(|error| StoreError::Unavailable(format!("{}: {error}", file.display())))?;
        conn.batch_execute("PRAGMA busy_timeout = 10000")?;
        // SQLite treats an empty file as a new database.
        diesel::sql_query("VACUUM INTO ?")
            .bind::<diesel::sql_types::Text, _>(into.to_string_lossy().into_owned())
            .execute(&mut conn)?;
        made.sync_all().map_err(|error| failed(&error))
    })();
    if copied.is_err() {
        let _ = std::fs::remove_file(into);
    }
    copied
}

/// Puts a new file into write-ahead mode. SQLite does not wait for another process that does the same, so this loop
/// does.
fn write_ahead(conn: &mut SqliteConnection) -> Result<()> {
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

/// Drops indexes whose concurrent creation was interrupted: PostgreSQL keeps them, and uses them for nothing.
const UNFINISHED: &str = "DO $$ DECLARE unfinished regclass; BEGIN \
     FOR unfinished IN SELECT indexrelid FROM pg_index JOIN pg_class ON oid = indexrelid \
       WHERE NOT indisvalid AND relnamespace = current_schema()::regnamespace \
     LOOP EXECUTE format('DROP INDEX %s', unfinished); END LOOP; END $$";

/// Applies the pending migrations to PostgreSQL, one process at a time.
pub(crate) async fn postgres(url: &str, direct_url: Option<&str>) -> Result<Vec<String>> {
    let session = AsyncPgConnection::try_from(lasting_session(url, direct_url).await?).await;
    let mut conn = session.map_err(NoSession::broken)?;
    // Making an index may take longer than the role's usual limit.
    conn.batch_execute(
        "SET client_min_messages = warning; SET statement_timeout = 0; SET lock_timeout = '2s'",
    )
    .await?;
    // Not `pg_advisory_lock`: an index that is made concurrently waits for every session that waits within a statement.
    let lock = format!("pg_try_advisory_lock({LOCK})");
    loop {
        let lock = diesel::select(sql::<Bool>(&lock));
        if diesel_async::RunQueryDsl::get_result(lock, &mut conn).await? {
            break;
        }
        tokio::time::sleep(AGAIN).await;
    }
    let runtime = Handle::current();
    tokio::task::spawn_blocking(move || {
        let began = Instant::now();
        // A session that waits for a table's lock blocks all that queue behind it. So let go, and retry.
        loop {
            let mut harness = AsyncMigrationHarness::new(conn);
            let is_pending = harness.has_pending_migration(POSTGRES).map_err(failed);
            conn = harness.into_inner();
            // Only then: somebody else may be making an index.
            let cleared = match is_pending {
                Ok(true) => runtime
                    .block_on(conn.batch_execute(UNFINISHED))
                    .map_err(StoreError::from),
                done => done.map(drop),
            };
            let mut harness = AsyncMigrationHarness::new(conn);
            let done = cleared.and_then(|()| run(&mut harness, POSTGRES));
            conn = harness.into_inner();
            match done {
                Err(StoreError::Locked) if began.elapsed() < TABLES_BUSY => {
                    std::thread::sleep(Duration::from_secs(1));
                }
                // The lock ends with the session.
                done => return done,
            }
        }
    })
    .await
    .map_err(|error| StoreError::Internal(error.to_string()))?
}

/// The newest migration that this version knows, as the database stores it: the same on both.
pub(crate) fn newest() -> String {
    let known: Vec<Box<dyn Migration<diesel::pg::Pg>>> =
        MigrationSource::<diesel::pg::Pg>::migrations(&POSTGRES).unwrap_or_default();
    let versions = known.iter().map(|one| one.name().version().to_string());
    versions.max().unwrap_or_default()
}

fn failed(error: Box<dyn std::error::Error + Send + Sync>) -> StoreError {
    let error = error.to_string();
    match error.contains("lock timeout") {
        true => StoreError::Locked,
        false => StoreError::Internal(format!("migration failed: {error}")),
    }
}

fn run<DB: diesel::backend::Backend>(
    harness: &mut impl MigrationHarness<DB>,
    migrations: EmbeddedMigrations,
) -> Result<Vec<String>>
where
    EmbeddedMigrations: MigrationSource<DB>,
{
    let applied = harness.applied_migrations().map_err(failed)?;
    let known = migrations.migrations().map_err(failed)?;
    let first = known.iter().map(|one| one.name().version()).min();
    // A migration older than the first known one comes from a time before the first release.
    if applied.iter().any(|one| Some(one) < first.as_ref()) {
        return Err(StoreError::Internal(
            "this database was made by a checkout of before the first release, and is not converted: start with an empty \
             one (another data_dir or database_url)"
                .to_owned(),
        ));
    }
    let done = harness.run_pending_migrations(migrations).map_err(failed)?;
    Ok(done.iter().map(ToString::to_string).collect())
}
