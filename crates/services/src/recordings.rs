//! Recordings, kept as files: `<objects>/recordings/<conversation id>.wav`.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use offhook_domain::ConversationId;

/// The extension of a recording that is being written.
const PARTIAL: &str = "part";

/// A recording that can be read.
#[derive(Debug, Clone)]
pub struct Recording {
    /// The file.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: u64,
}

/// Where recordings are.
pub(crate) struct Recordings(PathBuf);

impl Recordings {
    pub(crate) fn in_directory(objects: &Path) -> Self {
        Self(objects.join("recordings"))
    }

    fn path(&self, id: ConversationId) -> PathBuf {
        self.0.join(format!("{id}.wav"))
    }

    /// Keeps a recording, whole or not at all, also through a loss of power.
    pub(crate) async fn keep(&self, id: ConversationId, bytes: Vec<u8>) -> std::io::Result<()> {
        let (directory, path) = (self.0.clone(), self.path(id));
        let write = move || {
            std::fs::create_dir_all(&directory)?;
            let partial = path.with_extension(PARTIAL);
            let mut file = std::fs::File::create(&partial)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            std::fs::rename(&partial, &path)?;
            std::fs::File::open(&directory)?.sync_all()
        };
        tokio::task::spawn_blocking(write)
            .await
            .map_err(std::io::Error::other)?
    }

    /// Deletes what there is of a recording of a conversation, also what a process left behind that died before it
    /// could say so in the conversation's row.
    pub(crate) async fn remove(&self, id: ConversationId) -> std::io::Result<()> {
        let path = self.path(id);
        for file in [path.with_extension(PARTIAL), path] {
            match tokio::fs::remove_file(file).await {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// The recording of a conversation, if this node can reach it.
    pub(crate) async fn find(&self, id: ConversationId) -> Option<Recording> {
        let path = self.path(id);
        let bytes = tokio::fs::metadata(&path).await.ok()?.len();
        Some(Recording { path, bytes })
    }
}
