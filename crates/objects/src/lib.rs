//! Where files are kept: a directory of this machine, or a bucket of an S3-compatible store that many nodes share.
//!
//! An object is written whole or not at all and never changed. Every operation ends within its limit.

mod client;
mod directory;
mod error;
mod file;
mod s3;

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _, PutPayload};
use tokio::time::timeout;

pub use error::ObjectError;
pub use s3::{S3Settings, S3SettingsError};

/// How long an operation may take that moves no content: the store has answered then, or is out of reach.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// How long the writing or reading of a whole object may take.
const CONTENT_LIMIT: Duration = Duration::from_secs(15);

/// A part of an object, as it arrives.
pub type Content = BoxStream<'static, Result<Bytes, ObjectError>>;

/// An object that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its key.
    pub key: String,
    /// When it was written, by the store's clock.
    pub modified: SystemTime,
}

/// A place for objects, each under a key such as `uploads/<account>/<document>`. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Objects {
    store: Arc<dyn ObjectStore>,
    directory: Option<Arc<std::path::Path>>,
    is_shared: bool,
}

impl Objects {
    /// A directory, which is made when it is first needed. `is_shared` says that every node has the same one, as on a
    /// network file system.
    ///
    /// # Errors
    /// [`ObjectError`] if the directory cannot be made.
    pub fn directory(path: &std::path::Path, is_shared: bool) -> Result<Self, ObjectError> {
        Ok(Self {
            store: Arc::new(directory::open(path)?),
            directory: Some(path.into()),
            is_shared,
        })
    }

    /// A bucket, or what is behind a prefix in it.
    ///
    /// # Errors
    /// [`S3SettingsError`] if the settings are wrong.
    pub fn s3(settings: &S3Settings) -> Result<Self, S3SettingsError> {
        Ok(Self {
            store: s3::open(settings)?,
            directory: None,
            is_shared: true,
        })
    }

    /// Whether every node sees the same objects.
    #[must_use]
    pub const fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Keeps an object, whole or not at all, also through a loss of power.
    ///
    /// # Errors
    /// [`ObjectError`] if the store is out of reach or refuses.
    pub async fn put(&self, key: &str, content: Bytes) -> Result<(), ObjectError> {
        let key = Path::from(key);
        let put = self.store.put(&key, PutPayload::from_bytes(content));
        within(CONTENT_LIMIT, put).await.map(drop)
    }

    /// The whole of an object; `None` if there is none.
    ///
    /// # Errors
    /// [`ObjectError`] if the store is out of reach or refuses.
    pub async fn get(&self, key: &str) -> Result<Option<Bytes>, ObjectError> {
        let key = Path::from(key);
        let get = async { self.store.get(&key).await?.bytes().await };
        found(within(CONTENT_LIMIT, get).await)
    }

    /// The bytes of an object; `None` if there is none.
    ///
    /// # Errors
    /// [`ObjectError`] if the store is out of reach or refuses.
    pub async fn size(&self, key: &str) -> Result<Option<u64>, ObjectError> {
        let key = Path::from(key);
        let head = found(within(ANSWER_LIMIT, self.store.head(&key)).await)?;
        Ok(head.map(|meta| meta.size))
    }

    /// Bytes of an object, from the first of `range` to before its end, as they arrive; `None` if there is no object.
    ///
    /// # Errors
    /// [`ObjectError`] if the store is out of reach or refuses. A connection that falls silent ends the stream with
    /// an error.
    pub async fn part(&self, key: &str, range: Range<u64>) -> Result<Option<Content>, ObjectError> {
        let key = Path::from(key);
        let options = object_store::GetOptions {
            range: Some(range.into()),
            ..object_store::GetOptions::default()
        };
        let got = found(within(ANSWER_LIMIT, self.store.get_opts(&key, options)).await)?;
        Ok(got.map(|got| got.into_stream().map_err(ObjectError::from).boxed()))
    }

    /// Deletes an object; one that is not there is deleted already.
    ///
    /// # Errors
    /// [`ObjectError`] if the store is out of reach or refuses.
    pub async fn delete(&self, key: &str) -> Result<(), ObjectError> {
        let key = Path::from(key);
        found(within(ANSWER_LIMIT, self.store.delete(&key)).await).map(drop)
    }

    /// Up to `most` objects whose keys begin with the folder `prefix`, behind the key `after`, in the keys' order.
    ///
    /// # Errors
    /// [`ObjectError`] if the store is out of reach or refuses.
    pub async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<Listed>, ObjectError> {
        let prefix = Path::from(prefix);
        let listed = match after {
            Some(after) => self
                .store
                .list_with_offset(Some(&prefix), &Path::from(after)),
            None => self.store.list(Some(&prefix)),
        };
        let mut listed: Vec<Listed> = within(CONTENT_LIMIT, async {
            let all = self.directory.is_some();
            // A bucket lists in order; a directory in any, so there all must be seen.
            let most = if all { usize::MAX } else { most };
            listed.take(most).try_collect::<Vec<_>>().await
        })
        .await?
        .into_iter()
        .map(|meta| Listed {
            key: meta.location.into(),
            modified: meta.last_modified.into(),
        })
        .collect();
        listed.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        listed.truncate(most);
        Ok(listed)
    }

    /// Deletes what processes left behind in a directory that died while they wrote, if that was before `before`. A
    /// bucket shows nothing of that kind.
    ///
    /// # Errors
    /// [`ObjectError`] if the directory cannot be read.
    pub async fn clear_unfinished(&self, before: SystemTime) -> Result<(), ObjectError> {
        let Some(directory) = self.directory.clone() else {
            return Ok(());
        };
        let cleared =
            tokio::task::spawn_blocking(move || directory::clear_unfinished(&directory, before));
        let cleared = cleared.await.map_err(ObjectError::of)?;
        cleared.map_err(ObjectError::of)
    }
}

async fn within<T>(
    limit: Duration,
    operation: impl Future<Output = object_store::Result<T>>,
) -> Result<T, ObjectError> {
    match timeout(limit, operation).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(ObjectError::late(limit)),
    }
}

fn found<T>(result: Result<T, ObjectError>) -> Result<Option<T>, ObjectError> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_absent() => Ok(None),
        Err(error) => Err(error),
    }
}
