//! A database that was restored from a backup: holds work that would be done twice.

use super::{batches, campaigns, nodes, people::audit, whatsapp::has_not_left};
use crate::migrate;
use crate::prelude::*;
use std::path::Path;

#[boxed]
impl Store {
    /// Copies the embedded database into a new file, completely and as of one moment, while it is in use.
    /// [`StoreError::Internal`] for PostgreSQL, which has its own tools; [`StoreError::Unavailable`] if the file cannot
    /// be written or exists already.
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

    /// Pauses every batch and every campaign that would place calls, as their customers would. Drops the unanswered and unsent messages on
    /// WhatsApp, and the processes that ran when the backup was made. Returns how many of both were paused.
    pub fn hold_restored(&self, at: Timestamp) -> Answer<'_, usize> {
        keep!(self, |conn| {
            nodes::forget_all(conn).await?;
            let paused = batches::pause_all(conn).await? + campaigns::pause_all(conn).await?;
            // What waited may have been answered and sent after the backup.
            diesel::update(received::table)
                .filter(received::is_waiting)
                .set(row! { received: is_waiting = false, content = NULL })
                .execute(conn)
                .await?;
            diesel::update(sent::table)
                .filter(has_not_left())
                .set(row! { sent: status = SentStatus::Unknown, content = NULL, updated_at = at })
                .execute(conn)
                .await?;
            diesel::update(threads::table)
                .set(row! {
                    threads: due_at = NULL, claim_id = NULL, node_id = NULL, lease_expires_at = NULL
                })
                .execute(conn)
                .await?;
            audit(conn, None, (Actor::Operator, "restore", ""), at).await?;
            Ok(paused)
        })
    }
}
