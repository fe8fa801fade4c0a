//! File storage: a local directory, or a bucket of an S3-compatible store that many nodes share.
//!
//! An object is written completely or not at all, and never changed. Every operation has a time limit.

mod directory;
mod error;
mod file;
mod s3;

use offhook_boxed::boxed;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::stream::BoxStream;
use tokio::time::timeout;

use directory::Directory;
use s3::Bucket;

pub use error::ObjectError;
pub use s3::{S3Settings, S3SettingsError};

/// Limit for an operation without content.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// Limit for writing or reading a whole object.
const CONTENT_LIMIT: Duration = Duration::from_secs(15);

type Result<T, E = ObjectError> = std::result::Result<T, E>;

/// A stream of an object's content.
pub type Content = BoxStream<'static, Result<Bytes>>;

/// A stored object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub key: String,
    /// When it was written, by the store's clock.
    pub modified: SystemTime,
}

/// A store of objects, each under a key such as `uploads/<account>/<document>`. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Objects {
    store: Arc<Store>,
    is_shared: bool,
}

#[derive(Debug)]
enum Store {
    Directory(Directory),
    Bucket(Box<Bucket>),
}

#[boxed]
impl Objects {
    /// A directory, created if necessary. `is_shared` means that all nodes have the same one, as on a network file
    /// system. Fails if the directory cannot be created.
    pub fn directory(path: &std::path::Path, is_shared: bool) -> Result<Self> {
        Ok(Self {
            store: Arc::new(Store::Directory(Directory::open(path)?)),
            is_shared,
        })
    }

    /// A bucket, or a prefix in it. Fails if the settings are invalid.
    pub fn s3(settings: &S3Settings) -> Result<Self, S3SettingsError> {
        Ok(Self {
            store: Arc::new(Store::Bucket(Box::new(Bucket::of(settings)?))),
            is_shared: true,
        })
    }

    /// Whether every node sees the same objects.
    pub const fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Stores an object, completely or not at all, durable across a power loss.
    pub async fn put(&self, key: &str, content: Bytes) -> Result<()> {
        match &*self.store {
            Store::Directory(directory) => within(CONTENT_LIMIT, directory.put(key, content)).await,
            Store::Bucket(bucket) => within(CONTENT_LIMIT, bucket.put(key, content)).await,
        }
    }

    /// The content of an object; `None` if it does not exist.
    pub async fn get(&self, key: &str) -> Result<Option<Bytes>> {
        found(match &*self.store {
            Store::Directory(directory) => within(CONTENT_LIMIT, directory.get(key)).await,
            Store::Bucket(bucket) => within(CONTENT_LIMIT, bucket.get(key)).await,
        })
    }

    /// The size of an object in bytes; `None` if it does not exist.
    pub async fn size(&self, key: &str) -> Result<Option<u64>> {
        found(match &*self.store {
            Store::Directory(directory) => within(ANSWER_LIMIT, directory.size(key)).await,
            Store::Bucket(bucket) => within(ANSWER_LIMIT, bucket.size(key)).await,
        })
    }

    /// Streams the bytes in `range` of an object; `None` if it does not exist. A connection that goes silent ends the
    /// stream with an error.
    pub async fn part(&self, key: &str, range: Range<u64>) -> Result<Option<Content>> {
        found(match &*self.store {
            Store::Directory(directory) => within(ANSWER_LIMIT, directory.part(key, range)).await,
            Store::Bucket(bucket) => within(ANSWER_LIMIT, bucket.part(key, range)).await,
        })
    }

    /// Deletes an object. Succeeds if it does not exist.
    pub async fn delete(&self, key: &str) -> Result<()> {
        found(match &*self.store {
            Store::Directory(directory) => within(ANSWER_LIMIT, directory.delete(key)).await,
            Store::Bucket(bucket) => within(ANSWER_LIMIT, bucket.delete(key)).await,
        })
        .map(drop)
    }

    /// Up to `most` objects whose keys are in the folder `prefix`, after the key `after`, in key order.
    pub async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<Listed>> {
        let mut listed = match &*self.store {
            // The list is unordered, so all objects must be read.
            Store::Directory(directory) => {
                within(CONTENT_LIMIT, directory.list(prefix, after)).await?
            }
            Store::Bucket(bucket) => {
                within(CONTENT_LIMIT, bucket.list(prefix, after, most)).await?
            }
        };
        listed.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        listed.truncate(most);
        Ok(listed)
    }

    /// Deletes files in a directory that dead processes left unfinished before `before`. Does nothing for a bucket,
    /// which does not list unfinished objects.
    pub async fn clear_unfinished(&self, before: SystemTime) -> Result<()> {
        match &*self.store {
            Store::Directory(directory) => directory.clear_unfinished(before).await,
            Store::Bucket(_) => Ok(()),
        }
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    Ok(done.map_err(ObjectError::of)??)
}

async fn within<T>(limit: Duration, operation: impl Future<Output = Result<T>>) -> Result<T> {
    let done = timeout(limit, operation).await;
    done.unwrap_or_else(|_| Err(ObjectError::late(limit)))
}

fn found<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_absent() => Ok(None),
        Err(error) => Err(error),
    }
}
