//! Objects as files in a directory.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bytes::Bytes;
use futures_util::stream;

use crate::{Content, Listed, ObjectError, Result, blocking};

/// The size of a read.
const PIECE: u64 = 256 * 1_024;

/// How many temporary names are tried for an unfinished file.
const UNFINISHED: u32 = 1_000;

#[derive(Debug, Clone)]
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let failed = |error: io::Error| {
            ObjectError::of(io::Error::new(
                error.kind(),
                format!("the directory {} cannot be used: {error}", path.display()),
            ))
        };
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        // Only the service may read recordings.
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path).map_err(failed)?;
        Ok(Self(path.canonicalize().map_err(failed)?))
    }

    /// The path of a key. Keys cannot leave the directory.
    fn path(&self, key: &str) -> Result<PathBuf> {
        let is_plain =
            |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains('\\');
        match key.split('/').all(is_plain) {
            true => Ok(self.0.join(key)),
            false => Err(ObjectError::odd("a key that names no file")),
        }
    }

    /// Starts a file that is written part by part.
    pub(crate) async fn begin(&self, key: &str) -> Result<Unfinished> {
        let (path, root) = (self.path(key)?, self.0.clone());
        blocking(move || Unfinished::begin(path, root)).await
    }

    pub(crate) async fn put(&self, key: &str, content: Bytes) -> Result<()> {
        let (path, root) = (self.path(key)?, self.0.clone());
        blocking(move || {
            let mut file = Unfinished::begin(path, root)?;
            file.write(&content)?;
            file.finish()
        })
        .await
    }

    pub(crate) async fn get(&self, key: &str) -> Result<Bytes> {
        let path = self.path(key)?;
        blocking(move || fs::read(path)).await.map(Bytes::from)
    }

    pub(crate) async fn size(&self, key: &str) -> Result<u64> {
        let path = self.path(key)?;
        blocking(move || Ok(fs::metadata(path)?.len())).await
    }

    pub(crate) async fn part(&self, key: &str, range: Range<u64>) -> Result<Content> {
        let path = self.path(key)?;
        let start = range.start;
        let file = blocking(move || {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(start)).map(|_| file)
        });
        let rest = range.end.saturating_sub(start);
        let pieces = stream::try_unfold((file.await?, rest), |(mut file, rest)| async move {
            if rest == 0 {
                return Ok(None);
            }
            blocking(move || {
                let mut piece = Vec::new();
                (&mut file).take(rest.min(PIECE)).read_to_end(&mut piece)?;
                let read = piece.len() as u64;
                let left = if read == 0 { 0 } else { rest - read };
                Ok((read > 0).then(|| (Bytes::from(piece), (file, left))))
            })
            .await
        });
        Ok(Box::pin(pieces))
    }

    pub(crate) async fn delete(&self, key: &str) -> Result<()> {
        let path = self.path(key)?;
        blocking(move || fs::remove_file(path)).await
    }

    /// All objects of a folder after a key, in any order.
    pub(crate) async fn list(&self, folder: &str, after: Option<&str>) -> Result<Vec<Listed>> {
        let path = self.path(folder)?;
        let (folder, after) = (folder.to_owned(), after.unwrap_or_default().to_owned());
        blocking(move || {
            let mut listed = Vec::new();
            gather(&path, &folder, &mut listed)?;
            listed.retain(|one| one.key > after);
            Ok(listed)
        })
        .await
    }

    /// Deletes files that dead processes left unfinished before this time.
    pub(crate) async fn clear_unfinished(&self, before: SystemTime) -> Result<()> {
        let root = self.0.clone();
        blocking(move || clear_unfinished(&root, before)).await
    }
}

/// An incomplete file, named `<name>#<number>`, which is deleted on drop.
#[derive(Debug)]
pub(crate) struct Unfinished {
    file: File,
    path: PathBuf,
    whole: PathBuf,
    root: PathBuf,
    is_finished: bool,
}

impl Unfinished {
    fn begin(whole: PathBuf, root: PathBuf) -> io::Result<Self> {
        if let Some(folder) = whole.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut made = Err(io::Error::from(ErrorKind::AlreadyExists));
        for number in 1..UNFINISHED {
            let mut path = whole.clone().into_os_string();
            path.push(format!("#{number}"));
            made = File::create_new(&path).map(|file| (file, path.into()));
            match &made {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                _ => break,
            }
        }
        made.map(|(file, path)| Self {
            file,
            path,
            whole,
            root,
            is_finished: false,
        })
    }

    pub(crate) fn write(&mut self, content: &[u8]) -> io::Result<()> {
        self.file.write_all(content)
    }

    /// Gives the file its final name, and waits until it survives a power loss.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, &self.whole)?;
        self.is_finished = true;
        let folders = self.whole.ancestors().skip(1);
        for folder in folders.take_while(|folder| folder.starts_with(&self.root)) {
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.is_finished {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn gather(folder: &Path, key: &str, listed: &mut Vec<Listed>) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        // Nothing has been stored there yet.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let key = format!("{key}/{name}");
        if entry.file_type()?.is_dir() {
            gather(&entry.path(), &key, listed)?;
        } else if !is_unfinished(&name) {
            match entry.metadata().and_then(|about| about.modified()) {
                Ok(modified) => listed.push(Listed { key, modified }),
                // Another process deleted it.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

fn clear_unfinished(directory: &Path, before: SystemTime) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let cleared = if entry.file_type()?.is_dir() {
            clear_unfinished(&entry.path(), before)
        } else if is_unfinished(&entry.file_name().to_string_lossy())
            && entry.metadata()?.modified()? < before
        {
            fs::remove_file(entry.path())
        } else {
            Ok(())
        };
        match cleared {
            // Another process was faster.
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn is_unfinished(name: &str) -> bool {
    name.rsplit_once('#').is_some_and(|(_, number)| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}
