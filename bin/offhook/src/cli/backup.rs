//! `offhook backup` and `offhook restore`

use offhook_storage::Store;

use super::JsonArgs;
use crate::data_dir;
use crate::prelude::*;

#[derive(Debug, Args)]
pub(super) struct BackupArgs {
    /// The file to write; it must not exist.
    file: PathBuf,
    #[command(flatten)]
    print: JsonArgs,
}

#[derive(Debug, Args)]
pub(super) struct RestoreArgs {
    /// The backup of an embedded database; omit it after pg_restore.
    file: Option<PathBuf>,
    #[command(flatten)]
    print: JsonArgs,
}

/// Copies the embedded database as of one moment, while it is in use.
///
/// # Errors
/// The database is PostgreSQL, or the file cannot be written.
pub(super) async fn backup(settings: &Settings, args: BackupArgs) -> anyhow::Result<()> {
    if settings.is_shared() {
        bail!("this is for the embedded database: with PostgreSQL use pg_dump --format=custom");
    }
    let into = std::path::absolute(&args.file)?;
    if into.exists() {
        bail!("{} is there already: name another file", into.display());
    }
    Store::backup(&parts::store_config(settings)?, &into)
        .await
        .context("no backup was made")?;
    let words = format!(
        "{} is the database as of now: keep it with the master key, and the files beside it",
        into.display()
    );
    let bytes = std::fs::metadata(&into)?.len();
    let value = json!({ "file": into.display().to_string(), "bytes": bytes });
    output::print(args.print.json, &value, &words)
}

/// Makes a restored database fit to be served: nobody in it is called who may have been called since the backup.
///
/// # Errors
/// A process serves from the data directory, there is a database or no master key, or the database is out of reach.
pub(super) async fn restore(settings: &Settings, args: RestoreArgs) -> anyhow::Result<()> {
    data_dir::create(&settings.data_dir)?;
    let _lock = data_dir::lock(&settings.data_dir)?;
    match (&args.file, settings.is_shared()) {
        (Some(_), true) => bail!(
            "with PostgreSQL give no file: restore the dump with pg_restore into an empty database, then run this"
        ),
        (None, false) if !settings.database_file().exists() => {
            bail!("give the file of the backup: there is no database in the data directory yet")
        }
        (None, _) => {}
        (Some(file), false) => {
            if data_dir::known_master_key(settings).is_none() {
                bail!(
                    "there is no master key: put the one of the backup at {} first",
                    settings.data_dir.join("master.key").display()
                );
            }
            data_dir::place_database(file, &settings.database_file())?;
        }
    }
    let held = parts::administration(settings)
        .await?
        .restored()
        .hold()
        .await?;
    let words = format!(
        "restored: {} queued calls ended as expired, {} batches are paused until somebody resumes them",
        held.expired_calls, held.paused_batches
    );
    let value = json!({
        "expired_calls": held.expired_calls,
        "paused_batches": held.paused_batches,
    });
    output::print(args.print.json, &value, &words)
}
