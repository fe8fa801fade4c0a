//! Where files are kept: a directory of this machine, or a bucket of an S3-compatible store that many nodes share.
//!
//! An object is written whole or not at all and never changed. Every operation ends within its limit.

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

/// How long an operation may take that moves no content: the store has answered then, or is out of reach.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// How long the writing or reading of a whole object may take.
const CONTENT_LIMIT: Duration = Duration::from_secs(15);

type Result<T, E = ObjectError> = std::result::Result<T, E>;

/// A part of an object, as it arrives.
pub type Content = BoxStream<'static, Result<Bytes>>;

/// An object that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub key: String,
    /// When it was written, by the store's clock.
    pub modified: SystemTime,
}

/// A place for objects, each under a key such as `uploads/<account>/<document>`. Cheap to clone.
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
    /// A directory, which is made when it is first needed. `is_shared` says that every node has the same one, as on a
    /// network file system.
    ///
    /// # Errors
    /// [`ObjectError`] if the directory cannot be made.
    pub fn directory(path: &std::path::Path, is_shared: bool) -> Result<Self> {
        Ok(Self {
            store: Arc::new(Store::Directory(Directory::open(path)?)),
            is_shared,
        })
    }

    /// A bucket, or what is behind a prefix in it.
    ///
    /// # Errors
    /// [`S3SettingsError`] if the settings are wrong.
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

    /// Keeps an object, whole or not at all, also through a loss of power.
    ///
    /// # Errors
    /// [`ObjectError`] if the store is out of reach or refuses.
    pub async fn put(&self, key: &str, content: Bytes) -> Result<()> {
        match &*self.store {
            Store::Directory(directory) => within(CONTENT_LIMIT, directory.put(key, content)).await,
            Store::Bucket(bucket) => within(CONTENT_LIMIT, bucket.put(key, content)).await,
        }
    }

    /// The whole of an object; `None` if there is none.
    ///
    /// # Errors
    /// [`ObjectError`] if the store is out of reach or refuses.
    pub async fn get(&self, key: &str) -> Result<Option<Bytes>> {
        found(match &*self.store {
            Store::Directory(directory) => within(CONTENT_LIMIT, directory.get(key)).await,
            Store::Bucket(bucket) => within(CONTENT_LIMIT, bucket.get(key)).await,
        })
    }

    /// The bytes of an object; `None` if there is none.
    ///
    /// # Errors
    /// [`ObjectError`] if the store is out of reach or refuses.
    pub async fn size(&self, key: &str) -> Result<Option<u64>> {
        found(match &*self.store {
            Store::Directory(directory) => within(ANSWER_LIMIT, directory.size(key)).await,
            Store::Bucket(bucket) => within(ANSWER_LIMIT, bucket.size(key)).await,
        })
    }

    /// Bytes of an object, from the first of `range` to before its end, as they arrive; `None` if there is no object.
    ///
    /// # Errors
    /// [`ObjectError`] if the store is out of reach or refuses. A connection that falls silent ends the stream with
    /// an error.
    pub async fn part(&self, key: &str, range: Range<u64>) -> Result<Option<Content>> {
        found(match &*self.store {
            Store::Directory(directory) => within(ANSWER_LIMIT, directory.part(key, range)).await,
            Store::Bucket(bucket) => within(ANSWER_LIMIT, bucket.part(key, range)).await,
        })
    }

    /// Deletes an object; one that is not there is deleted already.
    ///
    /// # Errors
    /// [`ObjectError`] if the store is out of reach or refuses.
    pub async fn delete(&self, key: &str) -> Result<()> {
        found(match &*self.store {
            Store::Directory(directory) => within(ANSWER_LIMIT, directory.delete(key)).await,
            Store::Bucket(bucket) => within(ANSWER_LIMIT, bucket.delete(key)).await,
        })
        .map(drop)
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
    ) -> Result<Vec<Listed>> {
        let mut listed = match &*self.store {
            // In any order, so that all must be seen.
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

    /// Deletes what processes left behind in a directory that died while they wrote, if that was before `before`. A
    /// bucket shows nothing of that kind.
    ///
    /// # Errors
    /// [`ObjectError`] if the directory cannot be read.
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
