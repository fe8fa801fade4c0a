//! A database that was restored from a backup: what would be done twice is held.

use offhook_boxed::boxed;
use std::path::Path;

use diesel::prelude::*;
use offhook_domain::{ClaimId, NodeId, SentStatus, Timestamp};

use super::people::audit;
use super::whatsapp::has_not_left;
use super::{batches, nodes};
use crate::database::RunQueryDsl;
use crate::schema::{
    whatsapp_received as received, whatsapp_sent as sent, whatsapp_threads as threads,
};
use crate::sql::V;
use crate::store::{Answer, keep};
use crate::{Actor, Result, Store, StoreConfig, StoreError, migrate};

#[boxed]
impl Store {
    /// Copies the embedded database into a new file, whole and as of one moment, while it is in use.
    ///
    /// # Errors
    /// [`StoreError::Internal`] for PostgreSQL, which has tools of its own, [`StoreError::Unavailable`] if the file
    /// cannot be written or is there already.
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
            nodes::forget_all(conn).await?;
            let paused = batches::pause_all(conn).await?;
            // What waited may have been answered and sent after the backup.
            diesel::update(received::table)
                .filter(received::is_waiting)
                .set((
                    received::is_waiting.eq(false),
                    received::content.eq(None::<String>),
                ))
                .execute(conn)
                .await?;
            diesel::update(sent::table)
                .filter(has_not_left())
                .set((
                    sent::status.eq(V(SentStatus::Unknown)),
                    sent::content.eq(None::<String>),
                    sent::updated_at.eq(V(at)),
                ))
                .execute(conn)
                .await?;
            diesel::update(threads::table)
                .set((
                    threads::due_at.eq(None::<Timestamp>),
                    threads::claim_id.eq(None::<ClaimId>),
                    threads::node_id.eq(None::<NodeId>),
                    threads::lease_expires_at.eq(None::<Timestamp>),
                ))
                .execute(conn)
                .await?;
            audit(conn, None, (Actor::Operator, "restore", ""), at).await?;
            Ok(paused)
        })
    }
}
