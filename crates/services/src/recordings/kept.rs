//! One recording on its way from its file to the object store.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use offhook_domain::ConversationId;
use offhook_failpoints as failpoints;
use offhook_metrics::metrics;
use offhook_objects::ObjectError;
use offhook_storage::StoreError;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::timeout;

use super::Recordings;
use super::spool::{Of, Spool};
use crate::Shared;

/// How long the report of a call waits for its recording, so that who is told of the end finds the recording, too.
const REPORT_WAITS: Duration = Duration::from_secs(5);

/// Why a recording is not where it is to be.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// Its file cannot be read or written.
    #[error("its file: {0}")]
    File(#[from] io::Error),
    /// The object store is out of reach.
    #[error(transparent)]
    Objects(#[from] ObjectError),
    /// The rows are out of reach.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The recordings that are being made or sent here.
#[derive(Clone, Default)]
pub(super) struct Busy(Arc<Mutex<HashMap<ConversationId, watch::Receiver<()>>>>);

/// The right to a recording's file, till it is dropped.
pub(super) struct Held {
    busy: Busy,
    id: ConversationId,
    _ends: watch::Sender<()>,
}

impl Busy {
    /// Takes a recording; `None` if somebody here has it.
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
    /// Waits until the recording of a call that is over is kept, or could not be at first, but not for long.
    pub(crate) async fn tried(&self, id: ConversationId) {
        let held = self.busy.0.lock().get(&id).cloned();
        if let Some(mut held) = held {
            // It ends by the drop of the other side, and says nothing before.
            let _ = timeout(REPORT_WAITS, held.changed()).await;
        }
    }
}

/// Brings a recording that is not written any more to the object store, tells its conversation of it, and deletes its
/// file. What has no sound is deleted, and so is the recording of a conversation that has been deleted.
///
/// Each step may be done again: a process that dies between two of them leaves the file, and the next one begins anew.
pub(super) async fn keep(shared: &Shared, spool: &Spool, of: Of) -> Result<(), KeepError> {
    let recordings = &shared.recordings;
    let _sending = recordings.sending.acquire().await;
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
    let view = shared.store.conversation(of.account, of.id, None).await?;
    match view.map(|view| view.conversation.has_audio) {
        // A process that died before it could delete the file has told of it.
        Some(true) => {}
        Some(false) => {
            recordings.objects.put_file(&key, path).await?;
            failpoints::hit(failpoints::RECORDING_AFTER_OBJECT);
            // Who deletes the conversation from here on sees that there is a recording, and deletes it as well.
            if shared.store.recording_kept(of.account, of.id).await? {
                metrics().recordings.kept();
                shared.touch(of.id);
            } else {
                recordings.objects.delete(&key).await?;
            }
        }
        // Perhaps it was in the store already when its conversation was deleted.
        None => recordings.objects.delete(&key).await?,
    }
    blocking(spool, move |spool| spool.remove(of)).await?;
    Ok(())
}

/// Does something to the files.
pub(super) async fn blocking<T: Send + 'static>(
    spool: &Spool,
    work: impl FnOnce(&Spool) -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let spool = spool.clone();
    let done = tokio::task::spawn_blocking(move || work(&spool)).await;
    done.map_err(io::Error::other)?
}
