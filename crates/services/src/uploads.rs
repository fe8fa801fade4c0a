//! Uploaded documents until they have been read: objects at `uploads/<account id>/<document id>`.
//!
//! An object is written before the document's row, so no row waits for an object that never existed. It is deleted
//! after the document has been read or deleted. Objects left by a dead process are collected: one process at a time
//! lists the uploads and deletes those that no document waits for.

use std::collections::HashSet;
use std::time::SystemTime;

use bytes::Bytes;
use offhook_objects::{Listed, ObjectError, Objects};

use crate::error::Result;
use crate::prelude::*;
use crate::workers::Turns;

const FOLDER: &str = "uploads";

/// The job name under which processes take turns.
const JOB: &str = "uploads";

/// How often a process checks whether it is its turn.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// How often the uploads are checked, by the clock of the database.
const DUE_EVERY: Duration = Duration::from_secs(3_600);

/// The row of a younger object may still be being written. The age depends on two clocks, this process's and the object
/// store's; this is longer than they may differ.
const MIN_AGE: Duration = Duration::from_secs(86_400);

/// Objects checked together.
const BATCH: usize = 500;

/// The store of uploads.
pub(crate) struct Uploads(Objects);

impl Uploads {
    pub(crate) const fn new(objects: Objects) -> Self {
        Self(objects)
    }

    fn key(account: AccountId, id: DocumentId) -> String {
        format!("{FOLDER}/{account}/{id}")
    }

    pub(crate) async fn keep(
        &self,
        account: AccountId,
        id: DocumentId,
        content: Vec<u8>,
    ) -> Result<(), ObjectError> {
        let key = Self::key(account, id);
        self.0.put(&key, Bytes::from(content)).await
    }

    pub(crate) async fn read(
        &self,
        account: AccountId,
        id: DocumentId,
    ) -> Result<Option<Vec<u8>>, ObjectError> {
        let content = self.0.get(&Self::key(account, id)).await?;
        Ok(content.map(Vec::from))
    }

    /// Deletes an upload that is no longer needed. One that cannot be deleted now is collected later.
    pub(crate) async fn remove(&self, account: AccountId, id: DocumentId) {
        if let Err(error) = self.0.delete(&Self::key(account, id)).await {
            tracing::warn!(%error, document = %id, "an upload could not be deleted: it is tried again within a day");
        }
    }
}

/// Collects unused uploads.
#[derive(Clone)]
pub struct UploadCollector(pub(crate) Arc<Context>, pub(crate) Arc<Uploads>);

#[boxed]
impl UploadCollector {
    /// Takes turns with other processes until `stop`.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let mut turns = Turns::new(LOOK_EVERY, &stop);
        while turns.next().await {
            if let Err(error) = self.sweep(&stop).await {
                tracing::warn!(%error, "uploads that nobody waits for could not be collected");
            }
        }
    }

    /// Checks the uploads, if that is due and no other process is doing it; returns how many were collected. After an
    /// error, the next run collects the rest.
    pub async fn sweep(&self, stop: &CancellationToken) -> Result<Option<usize>> {
        if !self.0.take_job(JOB).await? {
            return Ok(None);
        }
        let collected = self.collect(stop).await;
        self.0.finish_job(JOB, DUE_EVERY).await?;
        collected.map(Some)
    }

    async fn collect(&self, stop: &CancellationToken) -> Result<usize> {
        let (Uploads(objects), store) = (&*self.1, &self.0.store);
        let now = u64::try_from(self.0.clock.now().micros()).unwrap_or(0);
        let before = SystemTime::UNIX_EPOCH + Duration::from_micros(now) - MIN_AGE;
        objects.clear_unfinished(before).await?;
        let (mut collected, mut after) = (0, None::<String>);
        loop {
            let listed = objects.list(FOLDER, after.as_deref(), BATCH).await?;
            let last = some_or!(listed.last(), collected);
            after = Some(last.key.clone());
            let old: Vec<(DocumentId, String)> = listed
                .into_iter()
                .filter(|listed| listed.modified < before)
                .filter_map(named)
                .collect();
            let ids = old.iter().map(|(id, _)| *id).collect();
            let waiting: HashSet<DocumentId> =
                store.documents_waiting(ids).await?.into_iter().collect();
            for (_, key) in old.iter().filter(|(id, _)| !waiting.contains(id)) {
                objects.delete(key).await?;
                collected += 1;
            }
            // A process that has lost its turn leaves the rest to the new holder.
            if stop.is_cancelled() || !self.0.take_job(JOB).await? {
                return Ok(collected);
            }
        }
    }
}

/// The document of an object; `None` for objects with other names.
fn named(listed: Listed) -> Option<(DocumentId, String)> {
    let id = listed.key.rsplit_once('/')?.1.parse().ok()?;
    Some((id, listed.key))
}
