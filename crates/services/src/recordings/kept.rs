//! Uploads one recording from its file to the object store.

use std::io;

use offhook_metrics::metrics;
use offhook_objects::ObjectError;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::timeout;

use super::Recordings;
use super::spool::{Of, Spool};
use crate::prelude::*;

/// How long the report of a call waits for its recording, so that a recipient of the report finds the recording too.
const REPORT_WAITS: Duration = Duration::from_secs(5);

/// Why a recording was not stored.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    #[error("its file: {0}")]
    File(#[from] io::Error),
    #[error(transparent)]
    Objects(#[from] ObjectError),
    /// The store is unavailable.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The recordings being made or uploaded here.
#[derive(Clone, Default)]
pub(super) struct Busy(Arc<Mutex<HashMap<ConversationId, watch::Receiver<()>>>>);

/// Exclusive use of a recording's file, until dropped.
pub(super) struct Held {
    busy: Busy,
    id: ConversationId,
    _ends: watch::Sender<()>,
}

impl Busy {
    /// Locks a recording; `None` if it is in use here.
    pub(super) fn take(&self, id: ConversationId) -> Option<Held> {
        let mut all = self.0.lock();
        if all.contains_key(&id) {
            return None;
        }
        let (ends, end) = watch::channel(());
        all.insert(id, end);
        Some(Held {
            busy: self.clone(),
            id,
            _ends: ends,
        })
    }

    pub(super) fn has(&self, id: ConversationId) -> bool {
        self.0.lock().contains_key(&id)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.busy.0.lock().remove(&self.id);
    }
}

impl Recordings {
    /// Waits, but not for long, until the recording of an ended call is uploaded, or the first try has failed.
    pub(crate) async fn tried(&self, id: ConversationId) {
        let held = self.busy.0.lock().get(&id).cloned();
        if let Some(mut held) = held {
            // It ends when the sender is dropped, and sends nothing before.
            let _ = timeout(REPORT_WAITS, held.changed()).await;
        }
    }

    /// Uploads a finished recording, records it in its conversation, and deletes its file. Deletes a recording without
    /// sound, and one whose conversation was deleted.
    ///
    /// Each step can be repeated: a process that dies between two steps leaves the file, and the next one starts again.
    pub(super) async fn keep(&self, spool: &Spool, of: Of) -> Result<(), KeepError> {
        let _sending = self.sending.acquire().await;
        let completed = blocking(spool, move |spool| spool.complete(of)).await;
        let Some(path) = completed.inspect_err(|error| {
            if error.kind() == io::ErrorKind::InvalidData {
                metrics().recordings.failed();
            }
        })?
        else {
            return Ok(());
        };
        let key = Recordings::key(of.account, of.id);
        let view = self.ctx.store.conversation(of.account, of.id, None).await?;
        match view.map(|view| view.conversation.has_audio) {
            // A process that died before it could delete the file has recorded it.
            Some(true) => {}
            Some(false) => {
                self.objects.put_file(&key, path).await?;
                failpoints::hit(failpoints::RECORDING_AFTER_OBJECT);
                // From here on, deleting the conversation also deletes the recording, because its row says that there is
                // one.
                if self.ctx.store.recording_kept(of.account, of.id).await? {
                    metrics().recordings.kept();
                    self.live.touch(of.id);
                } else {
                    self.objects.delete(&key).await?;
                }
            }
            // It may have been uploaded before its conversation was deleted.
            None => self.objects.delete(&key).await?,
        }
        blocking(spool, move |spool| spool.remove(of)).await?;
        Ok(())
    }
}

/// Runs a file operation on a blocking thread.
pub(super) async fn blocking<T: Send + 'static>(
    spool: &Spool,
    work: impl FnOnce(&Spool) -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let spool = spool.clone();
    let done = tokio::task::spawn_blocking(move || work(&spool)).await;
    done.map_err(io::Error::other)?
}
