//! Recordings: objects under `recordings/<account id>/<conversation id>.wav`.

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use offhook_domain::{AccountId, ConversationId};
use offhook_objects::{Content, ObjectError, Objects};

/// Recordings that are deleted at once.
const DELETED_AT_ONCE: usize = 8;

/// A recording that can be read.
#[derive(Debug, Clone)]
pub struct Recording {
    objects: Objects,
    key: String,
    /// Its bytes.
    pub bytes: u64,
}

impl Recording {
    /// The bytes from `first` to before `end`, as they arrive; `None` if the recording is gone meanwhile.
    ///
    /// # Errors
    /// [`ObjectError`] if the object store is out of reach.
    pub async fn part(&self, first: u64, end: u64) -> Result<Option<Content>, ObjectError> {
        if first >= end {
            return Ok(Some(stream::empty().boxed()));
        }
        self.objects.part(&self.key, first..end).await
    }
}

/// Where recordings are.
pub(crate) struct Recordings(Objects);

impl Recordings {
    pub(crate) const fn new(objects: Objects) -> Self {
        Self(objects)
    }

    fn key(account: AccountId, id: ConversationId) -> String {
        format!("recordings/{account}/{id}.wav")
    }

    /// Keeps a recording, whole or not at all.
    pub(crate) async fn keep(
        &self,
        account: AccountId,
        id: ConversationId,
        content: Vec<u8>,
    ) -> Result<(), ObjectError> {
        self.0
            .put(&Self::key(account, id), Bytes::from(content))
            .await
    }

    /// Deletes the recordings that there are of conversations, also what a process left behind that died before it
    /// could say so in the conversation's row.
    pub(crate) async fn remove(
        &self,
        account: AccountId,
        ids: &[ConversationId],
    ) -> Result<(), ObjectError> {
        let keys: Vec<String> = ids.iter().map(|id| Self::key(account, *id)).collect();
        let objects = self.0.clone();
        stream::iter(keys)
            .map(move |key| {
                let objects = objects.clone();
                async move { objects.delete(&key).await }
            })
            .buffer_unordered(DELETED_AT_ONCE)
            .try_collect()
            .await
    }

    /// The recording of a conversation, if there is one.
    pub(crate) async fn find(
        &self,
        account: AccountId,
        id: ConversationId,
    ) -> Result<Option<Recording>, ObjectError> {
        let key = Self::key(account, id);
        let bytes = self.0.size(&key).await?;
        Ok(bytes.map(|bytes| Recording {
            objects: self.0.clone(),
            key,
            bytes,
        }))
    }
}
