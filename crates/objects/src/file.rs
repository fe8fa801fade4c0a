//! Files that are too large for memory, sent part by part.

use offhook_boxed::boxed;
use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;

use crate::directory::{Directory, Unfinished};
use crate::s3::Bucket;
use crate::{ANSWER_LIMIT, CONTENT_LIMIT, Objects, Result, Store, blocking, within};

/// The part size, which is also the memory per file. It is S3's minimum, because a slow line must send a part before
/// the connection counts as silent.
const PART: usize = 5 * 1_024 * 1_024;

/// Limit for joining the parts.
const JOIN_LIMIT: Duration = Duration::from_secs(60);

#[boxed]
impl Objects {
    /// Stores a local file as an object, completely or not at all, durable across a power loss. At most 5 MiB of it are
    /// in memory. The file must not change meanwhile.
    ///
    /// If the process dies during the upload, the bucket's own rules must remove the parts. Fails if the file cannot be
    /// read, or if the store is unreachable or refuses.
    pub async fn put_file(&self, key: &str, path: PathBuf) -> Result<()> {
        let file = blocking(move || File::open(path)).await?;
        let (file, first) = read_part(file).await?;
        if first.len() < PART {
            return self.put(key, first).await;
        }
        match &*self.store {
            Store::Directory(directory) => copy(directory, key, file, first).await,
            Store::Bucket(bucket) => send(bucket, key, file, first).await,
        }
    }
}

async fn copy(directory: &Directory, key: &str, mut file: File, mut part: Bytes) -> Result<()> {
    let mut copy = within(ANSWER_LIMIT, directory.begin(key)).await?;
    while !part.is_empty() {
        let write = move |mut copy: Unfinished| copy.write(&part).map(|()| copy);
        copy = within(CONTENT_LIMIT, blocking(move || write(copy))).await?;
        (file, part) = read_part(file).await?;
    }
    within(JOIN_LIMIT, blocking(|| copy.finish())).await
}

async fn send(bucket: &Bucket, key: &str, file: File, first: Bytes) -> Result<()> {
    let upload = within(ANSWER_LIMIT, bucket.begin(key)).await?;
    let sent = async {
        let marks = send_parts(bucket, key, &upload, file, first).await?;
        within(JOIN_LIMIT, bucket.join(key, &upload, &marks)).await
    };
    let sent = sent.await;
    if sent.is_err() {
        // Best effort: the store may be unreachable.
        let _ = timeout(ANSWER_LIMIT, bucket.abandon(key, &upload)).await;
    }
    sent
}

async fn send_parts(
    bucket: &Bucket,
    key: &str,
    upload: &str,
    mut file: File,
    mut part: Bytes,
) -> Result<Vec<String>> {
    let mut marks = Vec::new();
    while !part.is_empty() {
        let sent = bucket.send(key, upload, marks.len() + 1, part);
        marks.push(within(CONTENT_LIMIT, sent).await?);
        (file, part) = read_part(file).await?;
    }
    Ok(marks)
}

/// The next part; a shorter one is the last.
async fn read_part(mut file: File) -> Result<(File, Bytes)> {
    blocking(move || {
        let mut part = Vec::new();
        (&mut file).take(PART as u64).read_to_end(&mut part)?;
        Ok((file, Bytes::from(part)))
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use futures_util::TryStreamExt as _;

    use super::*;

    /// A file of this length, in which each byte depends on its position.
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
            let most = length as u64;
            for (start, end) in [(0, most), (1, most), (most / 2, most.saturating_sub(1))] {
                let range = start.min(end)..end;
                let part = objects.part("recordings/a/b.wav", range.clone()).await;
                let part: Vec<Bytes> = part.unwrap().unwrap().try_collect().await.unwrap();
                let place = usize::try_from(range.start).unwrap()..usize::try_from(end).unwrap();
                assert!(part.concat() == content[place], "{range:?} of {length}");
            }
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
