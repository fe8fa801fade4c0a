//! A database that was restored from a backup: what would be done twice is held.

use async_recursion::async_recursion as boxed;
use std::path::Path;

use offhook_domain::{EventId, Timestamp};

use super::{Answer, keep, mint};
use crate::queries;
use crate::{Result, Store, StoreConfig, StoreError, migrate};

impl Store {
    /// Copies the embedded database into a new file, whole and as of one moment, while it is in use.
    ///
    /// # Errors
    /// [`StoreError::Internal`] for PostgreSQL, which has tools of its own, [`StoreError::Unavailable`] if the file
    /// cannot be written or is there already.
    #[boxed]
    pub async fn backup(config: &StoreConfig, into: &Path) -> Result<()> {
        let StoreConfig::Sqlite { file, .. } = config else {
            return Err(StoreError::Internal(
                "PostgreSQL is backed up by pg_dump".to_owned(),
            ));
        };
        let (file, into) = (file.clone(), into.to_owned());
        tokio::task::spawn_blocking(move || migrate::backup(&file, &into))
            .await
            .map_err(|error| StoreError::Internal(error.to_string()))?
    }

    /// Pauses every batch that would call somebody, as its customer would, leaves unanswered and unsent what waited on
    /// WhatsApp, and forgets the processes that served when the backup was made. Returns how many batches were paused.
    pub fn hold_restored(&self, at: Timestamp) -> Answer<'_, usize> {
        keep!(self, |conn| {
            queries::nodes::forget_all(conn).await?;
            let paused = queries::batches::pause_all(conn).await?;
            queries::whatsapp::hold_restored(conn, at).await?;
            let id: EventId = mint(at);
            let words = ("cli", "restore", "");
            queries::accounts::audit(conn, id.uuid(), None, words, at).await?;
            Ok(paused)
        })
    }
}
