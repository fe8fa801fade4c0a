//! Recordings: objects at `recordings/<account id>/<conversation id>.wav`. Recordings of calls under way, and those
//! that the object store does not have yet, are files on this machine.

mod fetched;
mod keeper;
mod kept;
mod spool;
mod tape;
mod waveform;

use std::path::PathBuf;
use std::sync::OnceLock;

use futures_util::{StreamExt as _, stream};
use offhook_objects::{Content, ObjectError, Objects};
use tokio::sync::Semaphore;

pub use keeper::RecordingKeeper;
pub use kept::KeepError;
pub(crate) use tape::recorder_for;
pub use waveform::Waveform;

pub(crate) use fetched::Wanted;
use kept::Busy;
use spool::Spool;

use crate::prelude::*;

/// Recordings uploaded at once; each needs 5 MiB of memory.
const SENT_AT_ONCE: usize = 4;

/// Recordings fetched at once; each may take 64 MiB in transit, and 346 MB as stored.
const FETCHED_AT_ONCE: usize = 4;

const DELETED_AT_ONCE: usize = 8;

/// A recording that can be read.
#[derive(Debug, Clone)]
pub struct Recording {
    objects: Objects,
    key: String,
    pub bytes: u64,
}

#[boxed]
impl Recording {
    /// The bytes from `first` to before `end`, as they arrive; `None` if the recording has been deleted meanwhile.
    pub async fn part(&self, first: u64, end: u64) -> Result<Option<Content>, ObjectError> {
        if first >= end {
            return Ok(Some(stream::empty().boxed()));
        }
        self.objects.part(&self.key, first..end).await
    }
}

/// The store of recordings.
pub(crate) struct Recordings {
    ctx: Arc<Context>,
    live: Arc<Live>,
    providers: Arc<Providers>,
    objects: Objects,
    /// Holds recordings that are not uploaded yet.
    spool: OnceLock<Spool>,
    /// Recordings that this process is making or uploading.
    busy: Busy,
    sending: Semaphore,
    fetching: Semaphore,
}

impl Recordings {
    pub(crate) fn new(
        ctx: Arc<Context>,
        live: Arc<Live>,
        providers: Arc<Providers>,
        objects: Objects,
    ) -> Self {
        Self {
            ctx,
            live,
            providers,
            objects,
            spool: OnceLock::new(),
            busy: Busy::default(),
            sending: Semaphore::new(SENT_AT_ONCE),
            fetching: Semaphore::new(FETCHED_AT_ONCE),
        }
    }

    /// The first call wins.
    pub(crate) fn spool_in(&self, directory: PathBuf) {
        let _ = self.spool.set(Spool::new(directory));
    }

    fn key(account: AccountId, id: ConversationId) -> String {
        format!("recordings/{account}/{id}.wav")
    }

    /// Deletes the recordings of conversations, also those whose process died before it updated the conversation's row.
    /// Returns those that could not be deleted, and why.
    pub(crate) async fn remove(
        &self,
        account: AccountId,
        ids: &[ConversationId],
    ) -> Vec<(ConversationId, ObjectError)> {
        let objects = self.objects.clone();
        stream::iter(ids.to_vec())
            .map(move |id| {
                let (objects, key) = (objects.clone(), Self::key(account, id));
                async move { objects.delete(&key).await.err().map(|error| (id, error)) }
            })
            .buffer_unordered(DELETED_AT_ONCE)
            .filter_map(async |failed| failed)
            .collect()
            .await
    }

    /// The recording of a conversation, if there is one.
    pub(crate) async fn find(
        &self,
        account: AccountId,
        id: ConversationId,
    ) -> Result<Option<Recording>, ObjectError> {
        let key = Self::key(account, id);
        let bytes = self.objects.size(&key).await?;
        Ok(bytes.map(|bytes| Recording {
            objects: self.objects.clone(),
            key,
            bytes,
        }))
    }
}
