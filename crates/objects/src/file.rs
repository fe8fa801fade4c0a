//! Files that are too large to be held in memory, sent part by part.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStoreExt as _, PutPayload};
use tokio::time::timeout;

use crate::{ANSWER_LIMIT, CONTENT_LIMIT, ObjectError, Objects, within};

/// What is in memory of a file, and goes in one request: the least that S3 takes for a part, as a slow line must send it
/// before the connection counts as silent.
const PART: usize = 5 * 1_024 * 1_024;

/// How long a store may take to make one object of the parts.
const JOIN_LIMIT: Duration = Duration::from_secs(60);

impl Objects {
    /// Keeps a file of this machine as an object, whole or not at all, also through a loss of power. However long it is,
    /// no more than 5 MiB of it are in memory. The file is not to change meanwhile.
    ///
    /// What a process leaves in a bucket that dies while it sends is for the bucket's own rules to clear away.
    ///
    /// # Errors
    /// [`ObjectError`] if the file cannot be read, or if the store is out of reach or refuses.
    pub async fn put_file(&self, key: &str, path: PathBuf) -> Result<(), ObjectError> {
        let opened = blocking(move || File::open(path)).await?;
        let (file, first) = read_part(opened).await?;
        if first.len() < PART {
            return self.put(key, first).await;
        }
        let key = Path::from(key);
        let mut upload = within(ANSWER_LIMIT, self.store.put_multipart(&key)).await?;
        let sent = match send(&mut *upload, file, first).await {
            Ok(()) => within(JOIN_LIMIT, upload.complete()).await.map(drop),
            Err(error) => Err(error),
        };
        if sent.is_err() {
            // As well as it goes: the store may be away.
            let _ = timeout(ANSWER_LIMIT, upload.abort()).await;
        }
        sent
    }
}

async fn send(
    upload: &mut dyn MultipartUpload,
    mut file: File,
    mut part: Bytes,
) -> Result<(), ObjectError> {
    while !part.is_empty() {
        let is_last = part.len() < PART;
        within(CONTENT_LIMIT, upload.put_part(PutPayload::from_bytes(part))).await?;
        if is_last {
            break;
        }
        (file, part) = read_part(file).await?;
    }
    Ok(())
}

/// The next part; a shorter one is the last.
async fn read_part(mut file: File) -> Result<(File, Bytes), ObjectError> {
    blocking(move || {
        let mut part = Vec::new();
        (&mut file).take(PART as u64).read_to_end(&mut part)?;
        Ok((file, Bytes::from(part)))
    })
    .await
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, ObjectError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(ObjectError::of)?.map_err(ObjectError::of)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// A file of this length, each of whose bytes depends on its place.
    fn file(directory: &std::path::Path, length: usize) -> (PathBuf, Vec<u8>) {
        let content: Vec<u8> = (0..length).map(|at| (at / 7 + at / 4_099) as u8).collect();
        let path = directory.join("file");
        let mut file = File::create(&path).unwrap();
        file.write_all(&content).unwrap();
        (path, content)
    }

    #[tokio::test]
    async fn a_file_of_any_length_is_kept_whole() {
        let directory = tempfile::tempdir().unwrap();
        let objects = Objects::directory(&directory.path().join("objects"), false).unwrap();
        for length in [0, 1, PART - 1, PART, PART + 1, 2 * PART, 2 * PART + 17] {
            let (path, content) = file(directory.path(), length);
            objects.put_file("recordings/a/b.wav", path).await.unwrap();
            let kept = objects.get("recordings/a/b.wav").await.unwrap().unwrap();
            assert!(kept == content, "{length} bytes");
        }
        let listed = objects.list("recordings", None, 10).await.unwrap();
        assert_eq!(listed.len(), 1, "nothing half written is left");
    }

    #[tokio::test]
    async fn a_file_that_is_not_there_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let objects = Objects::directory(directory.path(), false).unwrap();
        let path = directory.path().join("none");
        assert!(objects.put_file("recordings/none", path).await.is_err());
        assert_eq!(objects.size("recordings/none").await.unwrap(), None);
    }
}
